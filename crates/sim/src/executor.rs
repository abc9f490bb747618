//! One thread, many processes, and time that somebody owns.
//!
//! Every task belongs to a process. Which of the tasks that can go on is polled next is drawn from the seed, so
//! seeds explore interleavings; time moves only when no task can go on, to the next timer. A process that crashes
//! loses all its tasks where they stand; one that is stalled is not polled until it wakes, late.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use turnwise::runtime::{Runtime, Task};
use turnwise_core::time::Time;
use turnwise_drivers::clock::Clock;

use crate::chance::Chance;

/// The process that never crashes: the wires, the operator, the simulation itself.
pub const OUTSIDE: usize = 0;

/// Polls without time moving after which something must be spinning.
const SPINNING: u32 = 50_000;

/// When every simulated world begins: 2026-01-01.
pub const BEGINNING: Time = Time::from_millis(1_767_225_600_000);

/// A span that nobody waits for.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Locks without caring for panics elsewhere: there is one thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tasks that can go on, in the order of their numbers: who woke whom first makes no difference.
type Ready = Arc<Mutex<BTreeSet<u64>>>;

struct Bell {
    task: u64,
    ready: Ready,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        lock(&self.ready).insert(self.task);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        lock(&self.ready).insert(self.task);
    }
}

struct Entry {
    process: usize,
    waker: Waker,
    /// Taken out while it is polled.
    future: Option<Task>,
}

/// How a process's clock goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Skew {
    /// Ahead of the world's time by so many microseconds.
    pub offset: i64,
    /// Faster than the world's time by so many parts in a million.
    pub drift: i64,
}

impl Skew {
    fn local(self, time: Time) -> Time {
        let passed = time.as_micros() - BEGINNING.as_micros();
        Time::from_micros(time.as_micros() + self.offset + passed * self.drift / 1_000_000)
    }

    /// When the local clock will have reached a time; rounded up.
    fn global(self, local: Time) -> Time {
        let wanted =
            i128::from(local.as_micros()) - i128::from(self.offset) - i128::from(BEGINNING.as_micros());
        let passed = wanted * 1_000_000 / i128::from(1_000_000 + self.drift) + 1;
        Time::from_micros(i64::try_from(passed).unwrap_or(i64::MAX).saturating_add(BEGINNING.as_micros()))
    }
}

#[derive(Default)]
struct Process {
    life: u32,
    skew: Skew,
    stalled: bool,
    doomed: bool,
}

struct State {
    now: Time,
    chance: Chance,
    tasks: BTreeMap<u64, Entry>,
    processes: Vec<Process>,
    timers: BTreeMap<(Time, u64), Waker>,
    numbers: u64,
    polls: u64,
}

/// Runs everything.
pub struct Executor {
    state: Mutex<State>,
    ready: Ready,
}

/// Why the executor stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It was told to.
    Told,
    /// No task can go on and no timer runs.
    Dead,
    /// Tasks go on and on without time moving.
    Spinning,
}

impl Executor {
    /// An executor with so many processes beside the outside.
    pub fn new(seed: u64, processes: usize) -> Arc<Self> {
        let state = State {
            now: BEGINNING,
            chance: Chance::new(seed),
            tasks: BTreeMap::new(),
            processes: (0..=processes).map(|_| Process::default()).collect(),
            timers: BTreeMap::new(),
            numbers: 0,
            polls: 0,
        };
        Arc::new(Executor { state: Mutex::new(state), ready: Ready::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The world's time.
    pub fn now(&self) -> Time {
        self.lock().now
    }

    /// How often tasks were polled.
    pub fn polls(&self) -> u64 {
        self.lock().polls
    }

    /// Draws from the seed.
    pub fn draw<T>(&self, what: impl FnOnce(&mut Chance) -> T) -> T {
        what(&mut self.lock().chance)
    }

    /// Sets how a process's clock goes.
    pub fn set_skew(&self, process: usize, skew: Skew) {
        self.lock().processes[process].skew = skew;
    }

    /// Which life of a process this is.
    pub fn life(&self, process: usize) -> u32 {
        self.lock().processes[process].life
    }

    /// Runs a task in a process.
    pub fn spawn(&self, process: usize, task: Task) {
        let mut state = self.lock();
        state.numbers += 1;
        let number = state.numbers;
        let waker = Waker::from(Arc::new(Bell { task: number, ready: self.ready.clone() }));
        state.tasks.insert(number, Entry { process, waker, future: Some(task) });
        lock(&self.ready).insert(number);
    }

    /// Ends at a time of the world.
    pub fn sleep_until(self: &Arc<Self>, until: Time) -> Sleep {
        Sleep { executor: self.clone(), until, number: None }
    }

    /// Ends after a span.
    pub fn sleep(self: &Arc<Self>, span: Duration) -> Sleep {
        self.sleep_until(self.now() + span)
    }

    /// A process dies as soon as whatever runs now stands still.
    pub fn doom(&self, process: usize) {
        self.lock().processes[process].doomed = true;
    }

    /// A process stands still, or goes on.
    pub fn stall(&self, process: usize, stalled: bool) {
        self.lock().processes[process].stalled = stalled;
    }

    /// Whether a process stands still.
    pub fn is_stalled(&self, process: usize) -> bool {
        self.lock().processes[process].stalled
    }

    /// Runs until told to stop. `look` is asked after every poll whether to stop, and told who died.
    pub fn run(&self, mut look: impl FnMut(&[usize]) -> bool, mut passes: impl FnMut(Time, Time)) -> Stopped {
        let mut still = 0;
        loop {
            match self.next() {
                Some(number) => {
                    still += 1;
                    self.poll(number);
                }
                None => match self.advance() {
                    Some((before, now)) => {
                        passes(before, now);
                        still = 0;
                    }
                    None => return Stopped::Dead,
                },
            }
            let died = self.bury();
            if look(&died) {
                return Stopped::Told;
            }
            if still > SPINNING {
                return Stopped::Spinning;
            }
        }
    }

    /// Draws the next task among those that can go on.
    fn next(&self) -> Option<u64> {
        let mut state = self.lock();
        let mut ready = lock(&self.ready);
        ready.retain(|number| state.tasks.contains_key(number));
        let awake =
            |number: &u64| state.tasks.get(number).is_some_and(|task| !state.processes[task.process].stalled);
        let able: Vec<u64> = ready.iter().copied().filter(awake).collect();
        let number = *state.chance.pick(&able)?;
        ready.remove(&number);
        Some(number)
    }

    fn poll(&self, number: u64) {
        let taken = {
            let mut state = self.lock();
            state.polls += 1;
            state.tasks.get_mut(&number).and_then(|task| Some((task.future.take()?, task.waker.clone())))
        };
        let Some((mut future, waker)) = taken else { return };
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        let over = {
            let mut state = self.lock();
            match polled {
                Poll::Ready(()) => state.tasks.remove(&number).map(|_| future),
                Poll::Pending => match state.tasks.get_mut(&number) {
                    Some(task) => {
                        task.future = Some(future);
                        None
                    }
                    None => Some(future),
                },
            }
        };
        // Dropped without the lock: what is dropped may ask for it.
        drop(over);
    }

    /// Moves time to the next timer.
    fn advance(&self) -> Option<(Time, Time)> {
        let mut state = self.lock();
        let before = state.now;
        let (&(time, _), _) = state.timers.first_key_value()?;
        state.now = time.max(state.now);
        let now = state.now;
        while let Some(entry) = state.timers.first_entry().filter(|entry| entry.key().0 <= now) {
            entry.remove().wake();
        }
        Some((before, now))
    }

    /// Ends the processes that are doomed.
    fn bury(&self) -> Vec<usize> {
        let mut died = Vec::new();
        let mut dead = Vec::new();
        {
            let mut state = self.lock();
            for (number, process) in state.processes.iter_mut().enumerate() {
                if std::mem::take(&mut process.doomed) {
                    process.life += 1;
                    process.stalled = false;
                    died.push(number);
                }
            }
            if died.is_empty() {
                return died;
            }
            let numbers: Vec<u64> = state
                .tasks
                .iter()
                .filter(|(_, task)| died.contains(&task.process))
                .map(|(n, _)| *n)
                .collect();
            dead.extend(numbers.iter().filter_map(|number| state.tasks.remove(number)));
        }
        drop(dead);
        died
    }

    /// Drops every task: the world ends.
    pub fn clear(&self) {
        let tasks = std::mem::take(&mut self.lock().tasks);
        drop(tasks);
    }
}

impl Clock for Executor {
    fn now(&self) -> Time {
        self.lock().now
    }
}

/// Ends at a time.
pub struct Sleep {
    executor: Arc<Executor>,
    until: Time,
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let executor = self.executor.clone();
        let mut state = executor.lock();
        if self.until <= state.now {
            return Poll::Ready(());
        }
        if self.until < state.now + CENTURY {
            let number = *self.number.get_or_insert_with(|| {
                state.numbers += 1;
                state.numbers
            });
            state.timers.insert((self.until, number), context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.executor.lock().timers.remove(&(self.until, number));
        }
    }
}

/// What one process sees of the world.
pub struct ProcessRuntime {
    executor: Arc<Executor>,
    process: usize,
    skew: Skew,
}

impl ProcessRuntime {
    /// The runtime of a process.
    pub fn new(executor: Arc<Executor>, process: usize) -> Self {
        let skew = executor.lock().processes[process].skew;
        ProcessRuntime { executor, process, skew }
    }
}

impl Runtime for ProcessRuntime {
    fn now(&self) -> Time {
        self.skew.local(self.executor.now())
    }

    fn sleep_until(&self, time: Time) -> Task {
        Box::pin(self.executor.sleep_until(self.skew.global(time)))
    }

    fn spawn(&self, task: Task) {
        self.executor.spawn(self.process, task);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        let late = Duration::from_micros(self.executor.draw(|chance| chance.skewed(2_000_000)));
        let sleep = self.executor.sleep(late);
        self.executor.spawn(
            self.process,
            Box::pin(async move {
                sleep.await;
                work();
            }),
        );
    }

    fn random(&self) -> u64 {
        self.executor.draw(Chance::draw)
    }
}
