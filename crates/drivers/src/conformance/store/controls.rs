//! What an operator asks for, in every state a job can be in.

use turnwise_core::batch::When;
use turnwise_core::ids::JobId;
use turnwise_core::job::State;
use turnwise_core::kind::{Kind, LimitsChange};
use turnwise_core::rate::Rate;
use turnwise_core::refusal::Refusal;
use turnwise_core::retry::Retry;
use turnwise_core::time::secs;

use super::world::{World, moved, name};
use crate::store::{Control, Found, NewJob, QueueUnit, Read, Receipt, Start, Unit};

/// A job in this state.
async fn job_in(world: &World, state: State) -> JobId {
    let job = match state {
        State::Waiting => world.batch_of("k", 1, Some(When::Settled)).await.2.unwrap(),
        State::Scheduled => {
            world.submit_one(NewJob { start: Start::After(secs(60)), ..world.job("k") }).await
        }
        _ => world.submit_one(world.job("k")).await,
    };
    match state {
        State::Running => drop(world.claim(job).await),
        State::Retrying => drop(world.fail(&world.claim(job).await).await),
        State::Done => world.run(job).await,
        State::Dead => world.kill(job).await,
        State::Cancelled => drop(world.control(Control::Cancel(job)).await),
        State::Waiting | State::Scheduled | State::Ready => {}
    }
    assert_eq!(world.state(job).await, state);
    job
}

/// Asks for something in every state: what becomes of the job, or `None` if it is refused.
async fn in_every_state(world: &World, ask: impl Fn(JobId) -> Control) -> Vec<Option<State>> {
    world.kind("k").await;
    let mut answers = Vec::new();
    for state in State::ALL {
        let job = job_in(world, state).await;
        let unit = Unit::Control(ask(job));
        let outcome = world.commit(vec![unit.clone()]).await.remove(0);
        match outcome {
            Ok(receipt) => {
                answers.push(Some(moved(receipt)));
                assert_eq!(answers.last(), Some(&Some(world.state(job).await)));
            }
            Err(_) => {
                let refusal = world.refused(unit).await;
                assert!(matches!(refusal, Refusal::WrongState { state: said, .. } if said == state));
                answers.push(None);
            }
        }
        world.dump().await.check();
    }
    answers
}

pub async fn cancel_ends_what_has_not_ended(world: World) {
    let cancelled = Some(State::Cancelled);
    let expected = [cancelled, cancelled, cancelled, Some(State::Running), cancelled, None, None, None];
    assert_eq!(in_every_state(&world, Control::Cancel).await, expected);
}

pub async fn retry_now_hurries_what_is_due_later(world: World) {
    let ready = Some(State::Ready);
    let expected = [None, ready, None, None, ready, None, None, None];
    assert_eq!(in_every_state(&world, Control::RetryNow).await, expected);
}

pub async fn replay_revives_the_dead_and_the_cancelled(world: World) {
    let ready = Some(State::Ready);
    let expected = [None, None, None, None, None, None, ready, ready];
    assert_eq!(in_every_state(&world, Control::Replay).await, expected);
}

pub async fn cancelling_a_running_job_twice_is_cancelling_it_once(world: World) {
    world.kind("k").await;
    let job = job_in(&world, State::Running).await;
    world.control(Control::Cancel(job)).await;
    let before = world.dump().await;
    assert_eq!(moved(world.control(Control::Cancel(job)).await), State::Running);
    before.assert_same(&world.dump().await, "cancelling twice");
}

pub async fn a_replayed_job_has_all_its_attempts(world: World) {
    world.kind("k").await;
    let job = world.submit_one(NewJob { attempts: Some(2), ..world.job("k") }).await;
    for _ in 0..2 {
        for attempt in 1..=2 {
            let claimed = world.claim(job).await;
            assert_eq!(claimed.header.attempt, attempt);
            world.fail(&claimed).await;
            world.advance(secs(10));
        }
        assert_eq!(world.state(job).await, State::Dead);
        world.control(Control::Replay(job)).await;
    }
    let found = world.details(job).await.unwrap();
    assert_eq!((found.errors.len(), found.row.header.fence), (4, 4), "the history of both lives is kept");
}

pub async fn what_is_not_there_is_said_so(world: World) {
    let nobody = JobId::from_u64(8);
    for control in [Control::Cancel(nobody), Control::RetryNow(nobody), Control::Replay(nobody)] {
        assert_eq!(world.refused(Unit::Control(control)).await, Refusal::UnknownJob(nobody));
    }
    let unknown = Unit::Schedule(name("never"), None);
    assert_eq!(world.refused(unknown).await, Refusal::UnknownSchedule(name("never")));
}

pub async fn rules_that_make_no_sense_are_refused(world: World) {
    let with = |change: fn(&mut Kind)| {
        let mut kind = Kind::new(name("k"));
        change(&mut kind);
        Unit::Declare(kind)
    };
    let odd: [fn(&mut Kind); 5] = [
        |kind| kind.cap = Some(0),
        |kind| kind.key_cap = Some(0),
        |kind| kind.rate = Some(Rate::per_second(0)),
        |kind| kind.retry = Retry::fixed(secs(1)).attempts(0),
        |kind| kind.deadline = Some(std::time::Duration::ZERO),
    ];
    for change in odd {
        assert!(matches!(world.refused(with(change)).await, Refusal::Invalid(_)));
    }
    world.ok(with(|kind| kind.rescues = 9)).await;
    let Found::Kinds(kinds) = world.read(Read::Kinds).await else { panic!("kinds were asked for") };
    assert_eq!((kinds.len(), kinds[0].rescues), (1, 9));
}

pub async fn limits_change_and_nothing_else(mut world: World) {
    let (rate, other) = (Rate::per_second(5), Rate::per_second(7));
    world
        .kind_with("k", |kind| {
            (kind.cap, kind.key_cap, kind.rate, kind.key_rate) = (Some(3), Some(2), Some(rate), None);
            kind.rescues = 9;
        })
        .await;
    let set = |change| Unit::Control(Control::SetLimits(name("k"), change));
    let change =
        LimitsChange { cap: Some(Some(1)), key_cap: None, rate: Some(None), key_rate: Some(Some(other)) };
    world.ok(set(change)).await;
    world.reopen();
    let Found::Kinds(kinds) = world.read(Read::Kinds).await else { panic!("kinds were asked for") };
    let kind = &kinds[0];
    assert_eq!((kind.cap, kind.key_cap, kind.rate, kind.key_rate), (Some(1), Some(2), None, Some(other)));
    assert_eq!((kind.rescues, kind.retry.clone()), (9, Retry::fixed(secs(10)).attempts(3)));
    let jobs = world.submit([world.job("k"), world.job("k")]).await;
    world.claim(jobs[0]).await;
    assert_eq!(world.claim_refused(jobs[1]).await, Refusal::CapReached);
    world.ok(set(LimitsChange { cap: Some(None), ..LimitsChange::default() })).await;
    world.claim(jobs[1]).await;
    let never = LimitsChange { cap: Some(Some(0)), ..LimitsChange::default() };
    assert!(matches!(world.refused(set(never)).await, Refusal::Invalid(_)));
    let unknown = Unit::Control(Control::SetLimits(name("nobody"), change));
    assert_eq!(world.refused(unknown).await, Refusal::UnknownKind(name("nobody")));
}

pub async fn a_durable_queue_keeps_its_order(mut world: World) {
    let queue = name("q");
    let push = |text: &[u8]| Unit::Queue(QueueUnit::Push(name("q"), text.into()));
    for (number, text) in [b"one".as_slice(), b"two", b"three"].into_iter().enumerate() {
        let receipt = world.ok(push(text)).await;
        assert!(matches!(receipt, Receipt::Queued(said) if said == number as u64 + 1));
    }
    for _ in 0..2 {
        world.ok(Unit::Queue(QueueUnit::Remove(queue.clone(), 2))).await;
    }
    world.reopen();
    let read = Read::Messages { queue: queue.clone(), after: 0, limit: 10 };
    let Found::Messages(messages) = world.read(read).await else { panic!("messages were asked for") };
    let bodies: Vec<(u64, &[u8])> =
        messages.iter().map(|message| (message.number, &message.body[..])).collect();
    assert_eq!(bodies, [(1, b"one".as_slice()), (3, b"three")]);
    // Numbers are never used again, even when the queue is empty.
    for number in [1, 3] {
        world.ok(Unit::Queue(QueueUnit::Remove(queue.clone(), number))).await;
    }
    assert!(matches!(world.ok(push(b"four")).await, Receipt::Queued(4)));
}
