//! Each change has its event, in the commit of the change.

use turnwise_core::batch::When;
use turnwise_core::event::{Cause, Cursor, Event};
use turnwise_core::ids::JobId;
use turnwise_core::job::State;
use turnwise_core::lane::{Lane, OnDead};
use turnwise_core::limits;
use turnwise_core::schedule::Target;
use turnwise_core::time::secs;

use super::dump::{events_after, events_of, replayed};
use super::world::{World, failed, name};
use crate::store::{
    Blob, Control, LaneChoice, NewJob, Progress, SessionUnit, Start, StepDone, Submission, Sweep, Unit,
    Verdict,
};

/// Reads on from where it was.
struct Reader(Cursor);

impl Reader {
    async fn at_the_end(world: &World) -> Reader {
        Reader(events_of(world.store()).await.last().map_or(Cursor::START, |event| event.0))
    }

    async fn fresh(&mut self, world: &World) -> Vec<Event> {
        let events = events_after(world.store(), self.0).await;
        self.0 = events.last().map_or(self.0, |event| event.0);
        assert!(events.iter().all(|(_, at, _)| *at == world.now()));
        events.into_iter().map(|(_, _, event)| event).collect()
    }

    /// The one thing that happened to a job.
    async fn happened(&mut self, world: &World, job: JobId) -> (State, Cause) {
        let mut events = self.fresh(world).await;
        assert_eq!(events.len(), 1, "{events:?}");
        match events.remove(0) {
            Event::Job { job: known, state, cause, .. } if known == job => (state, cause),
            other => panic!("{other:?}"),
        }
    }
}

pub async fn a_life_is_told(world: World) {
    world.kind("k").await;
    let session = world.session().await;
    let mut reader = Reader::at_the_end(&world).await;
    let job = world.submit_one(NewJob { start: Start::After(secs(5)), ..world.job("k") }).await;
    assert_eq!(reader.happened(&world, job).await, (State::Scheduled, Cause::Submitted));
    world.control(Control::RetryNow(job)).await;
    assert_eq!(reader.happened(&world, job).await, (State::Ready, Cause::Expedited));
    let claimed = world.claim_as(job, session).await;
    let claim = Cause::Claimed { session, fence: 1, attempt: 1 };
    assert_eq!(reader.happened(&world, job).await, (State::Running, claim));
    let output = Blob::default();
    let step = StepDone { job, fence: 1, name: name("s"), output, submission: Submission::default() };
    world.ok(Unit::Step(step)).await;
    assert_eq!(reader.happened(&world, job).await, (State::Running, Cause::Stepped { name: name("s") }));
    world.settle(&claimed, Verdict::Released).await;
    assert_eq!(reader.happened(&world, job).await, (State::Ready, Cause::Released));
    let claimed = world.claim_as(job, session).await;
    reader.fresh(&world).await;
    world.settle(&claimed, failed("no")).await;
    let due = world.now() + secs(10);
    let cause = Cause::Failed { attempt: 1, due: Some(due) };
    assert_eq!(reader.happened(&world, job).await, (State::Retrying, cause));
    world.advance(secs(10));
    world.sweep(Sweep::Ripen(vec![job])).await;
    assert_eq!(reader.happened(&world, job).await, (State::Ready, Cause::Ripened));
    let claimed = world.claim_as(job, session).await;
    reader.fresh(&world).await;
    world.settle(&claimed, Verdict::Snoozed(secs(1))).await;
    let cause = Cause::Snoozed { due: world.now() + secs(1) };
    assert_eq!(reader.happened(&world, job).await, (State::Scheduled, cause));
    world.control(Control::Cancel(job)).await;
    assert_eq!(reader.happened(&world, job).await, (State::Cancelled, Cause::Cancelled));
    world.control(Control::Replay(job)).await;
    assert_eq!(reader.happened(&world, job).await, (State::Ready, Cause::Replayed));
    let claimed = world.claim_as(job, session).await;
    reader.fresh(&world).await;
    world.done(&claimed).await;
    assert_eq!(reader.happened(&world, job).await, (State::Done, Cause::Completed));
}

pub async fn the_end_of_a_worker_is_told(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let mut reader = Reader::at_the_end(&world).await;
    let session = world.session_for(secs(5)).await;
    assert_eq!(reader.fresh(&world).await, [Event::SessionOpened(session)]);
    world.claim_as(job, session).await;
    reader.fresh(&world).await;
    world.ok(Unit::Session(SessionUnit::Beat { id: session, span: secs(5) })).await;
    let progress = Progress { fraction: 0.1, note: String::new(), at: world.now() };
    world.ok(Unit::Progress(job, 1, progress)).await;
    assert_eq!(reader.fresh(&world).await, [], "beats and progress are too many to be told");
    world.advance(secs(5));
    world.ok(Unit::Sweep(Sweep::Rescue(job, session))).await;
    assert_eq!(reader.happened(&world, job).await, (State::Ready, Cause::Rescued { session }));
    world.ok(Unit::Sweep(Sweep::Bury(session))).await;
    assert_eq!(reader.fresh(&world).await, [Event::SessionEnded { session, died: true }]);
}

pub async fn a_batch_is_told_in_order(world: World) {
    world.kind("k").await;
    let mut reader = Reader::at_the_end(&world).await;
    let (id, jobs, then) = world.batch_of("k", 1, Some(When::AllDone)).await;
    let events = reader.fresh(&world).await;
    assert_eq!((&events[0], &events[3]), (&Event::BatchOpened(id), &Event::BatchSealed(id)));
    let claimed = world.claim(jobs[0]).await;
    reader.fresh(&world).await;
    world.settle(&claimed, Verdict::Dead("no".into())).await;
    let events = reader.fresh(&world).await;
    assert!(matches!(&events[..], [Event::Job { state: State::Dead, cause: Cause::Stopped, .. }, parked]
        if *parked == Event::BatchParked(id)));
    world.control(Control::ReleaseBatch(id)).await;
    let events = reader.fresh(&world).await;
    assert!(
        matches!(&events[..], [released, Event::Job { job, state: State::Ready, cause: Cause::Promoted, .. }]
        if *released == Event::BatchReleased(id) && Some(*job) == then)
    );
}

pub async fn a_lane_is_told(world: World) {
    world.kind("k").await;
    let lane = LaneChoice { name: name("lane"), on_dead: OnDead::Halt };
    let strict = || NewJob { lane: Some(lane.clone()), ..world.job("k") };
    let jobs = world.submit([strict(), strict()]).await;
    let id = Lane::id_of(&name("lane"));
    let mut reader = Reader::at_the_end(&world).await;
    world.control(Control::PauseLane(name("lane"), true)).await;
    let events = reader.fresh(&world).await;
    assert!(
        matches!(&events[..], [paused, Event::Job { job, state: State::Waiting, cause: Cause::Held, .. }]
        if *paused == Event::LanePaused(id, true) && *job == jobs[0])
    );
    world.control(Control::PauseLane(name("lane"), false)).await;
    let events = reader.fresh(&world).await;
    assert!(matches!(&events[1], Event::Job { job, state: State::Ready, cause: Cause::Promoted, .. }
        if *job == jobs[0]));
    world.kill(jobs[0]).await;
    assert_eq!(reader.fresh(&world).await.last(), Some(&Event::LaneHalted(id)));
}

pub async fn settings_are_told_once(world: World) {
    let mut reader = Reader::at_the_end(&world).await;
    for _ in 0..2 {
        world.kind("k").await;
    }
    assert_eq!(reader.fresh(&world).await, [Event::KindDeclared(name("k"))]);
    for paused in [true, true, false, false] {
        world.control(Control::Pause(Target::Owner(name("acme")), paused)).await;
    }
    let told = [true, false].map(|paused| Event::Paused(Target::Owner(name("acme")), paused));
    assert_eq!(reader.fresh(&world).await, told);
    world.control(Control::SetOwner { owner: name("acme"), weight: Some(2), quota: None }).await;
    assert_eq!(reader.fresh(&world).await, [Event::OwnerChanged(name("acme"))]);
}

pub async fn what_somebody_did_is_told(mut world: World) {
    let by = name("first");
    let audit = |what: &str| Unit::Audit { by: name("first"), what: what.into() };
    let long = "é".repeat(limits::AUDIT_BYTES);
    let mut reader = Reader::at_the_end(&world).await;
    world.ok(audit("paused kind `mail`")).await;
    world.ok(audit(&format!("x{long}"))).await;
    world.reopen();
    let events = reader.fresh(&world).await;
    assert_eq!(events[0], Event::Audit { by: by.clone(), what: "paused kind `mail`".into() });
    let Event::Audit { what, .. } = &events[1] else { panic!("{events:?}") };
    assert_eq!(what.len(), limits::AUDIT_BYTES - 1, "whole characters");
    assert_eq!(events.len(), 2);
}

pub async fn hints_name_the_lines_that_may_have_work(world: World) {
    world.kind("k").await;
    let mut hints = world.store().watch();
    let jobs = world.submit([world.job("k"), NewJob { owner: name("bolt"), ..world.job("k") }]).await;
    let hint = hints.try_recv().unwrap();
    let mut lines = vec![world.header(jobs[0]).await.line, world.header(jobs[1]).await.line];
    lines.sort_unstable();
    assert_eq!(hint.ready.iter().map(|(line, _)| *line).collect::<Vec<_>>(), lines, "each once");
    assert!(hint.ready.iter().all(|(line, key)| key.id() == *line));
    assert_eq!((hint.at, hint.events.len()), (world.now(), 2));
    let claimed = world.claim(jobs[0]).await;
    while hints.try_recv().is_ok() {}
    world.settle(&claimed, Verdict::Released).await;
    let hint = hints.try_recv().unwrap();
    assert_eq!(hint.ready.len(), 1);
    assert_eq!(hint.cursor, events_of(world.store()).await.last().unwrap().0);
    // A commit that nothing happened in points to the same place.
    world.commit(vec![Unit::Control(Control::Replay(jobs[0]))]).await;
    let next = hints.try_recv().unwrap();
    assert_eq!((next.cursor, next.events.len(), next.ready.len()), (hint.cursor, 0, 0));
}

pub async fn a_hint_has_the_last_cursor_after_reopen_too(mut world: World) {
    world.kind("k").await;
    world.submit([world.job("k"), world.job("k"), world.job("k")]).await;
    let last = events_of(world.store()).await.last().unwrap().0;
    world.reopen();
    let mut hints = world.store().watch();
    world.commit(vec![Unit::Control(Control::Replay(JobId::from_u64(1)))]).await;
    assert_eq!(hints.try_recv().unwrap().cursor, last);
}

pub async fn states_in_events_replay_to_the_rows(world: World) {
    world.kind("k").await;
    let (_, jobs, _) = world.batch_of("k", 4, Some(When::Settled)).await;
    let lane = world.submit((0..3).map(|_| world.lane_job("k", "lane"))).await;
    world.kill(jobs[0]).await;
    world.claim(jobs[1]).await;
    world.fail(&world.claim(jobs[2]).await).await;
    world.control(Control::Cancel(lane[0])).await;
    world.control(Control::PauseLane(name("lane"), true)).await;
    world.control(Control::Replay(lane[0])).await;
    let events: Vec<Event> = events_of(world.store()).await.into_iter().map(|(_, _, event)| event).collect();
    let states = replayed(&events);
    let dump = world.dump().await;
    assert_eq!(states.len(), dump.jobs.len());
    for job in dump.jobs {
        assert_eq!(states[&job.row.header.id], job.row.header.state);
    }
}
