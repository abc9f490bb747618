//! What time alone brings about. Whoever sends these may be late, doubled or wrong.

use turnwise_core::batch::When;
use turnwise_core::event::Cursor;
use turnwise_core::ids::JobId;
use turnwise_core::job::State;
use turnwise_core::limits;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::{Time, millis, secs};
use turnwise_core::unique::{Unique, Window};

use super::dump::events_of;
use super::world::{World, jobs_of, name, settle};
use crate::store::{
    Blob, Control, Found, NewJob, Progress, Read, Secret, Start, StepDone, Submission, Sweep, Unit, Verdict,
};

async fn due(world: &World, by: Time, limit: usize) -> (Vec<JobId>, Option<Time>) {
    match world.read(Read::Agenda { by: Some(by), limit }).await {
        Found::Agenda(agenda) => (agenda.due, agenda.next_due),
        other => panic!("an agenda was asked for: {other:?}"),
    }
}

pub async fn only_what_is_due_ripens(world: World) {
    world.kind("k").await;
    let after = |seconds| NewJob { start: Start::After(secs(seconds)), ..world.job("k") };
    let jobs = world.submit([after(30), after(10), after(20), world.job("k")]).await;
    let start = world.now();
    assert_eq!(due(&world, start, 10).await, (vec![], Some(start + secs(10))));
    assert_eq!(due(&world, start + secs(20), 10).await, (vec![jobs[1], jobs[2]], Some(start + secs(30))));
    assert_eq!(due(&world, start + secs(30), 1).await, (vec![jobs[1]], Some(start + secs(20))));
    assert_eq!(due(&world, start + secs(30), usize::MAX).await.0.len(), 3);
    world.advance(secs(20) - millis(1));
    // Unknown, doubled, running and ripe ones are passed over.
    let running = world.claim(jobs[3]).await;
    let all = vec![jobs[0], jobs[1], jobs[1], jobs[2], jobs[3], JobId::from_u64(2)];
    assert_eq!(world.sweep(Sweep::Ripen(all.clone())).await, 1);
    use State::{Ready, Running, Scheduled};
    assert_eq!(world.states(&jobs).await, [Scheduled, Ready, Scheduled, Running]);
    world.advance(millis(1));
    assert_eq!(world.sweep(Sweep::Ripen(all)).await, 1);
    world.done(&running).await;
    world.dump().await.check();
}

pub async fn a_sweep_has_a_limit(world: World) {
    let many: Vec<JobId> = (0..=limits::JOBS_PER_SUBMIT as u64).map(JobId::from_u64).collect();
    for sweep in [Sweep::Ripen(many.clone()), Sweep::CancelJobs(many.clone()), Sweep::Forget(many)] {
        assert!(matches!(world.refused(Unit::Sweep(sweep)).await, Refusal::TooLarge { .. }));
    }
}

/// A job that ended with all that a job can have.
async fn rich_job(world: &World) -> NewJob {
    let new = NewJob { payload: vec![5; 4_000].into(), ..world.job("k") };
    let job = world.submit_one(new.clone()).await;
    world.fail(&world.claim(job).await).await;
    world.advance(secs(10));
    let claimed = world.claim(job).await;
    let fence = claimed.header.fence;
    let output: Blob = vec![6; 2_000].into();
    let step = StepDone { job, fence, name: name("s"), output, submission: Submission::default() };
    world.ok(Unit::Step(step)).await;
    world
        .ok(Unit::Progress(job, fence, Progress { fraction: 0.5, note: "on".into(), at: world.now() }))
        .await;
    world.settle(&claimed, Verdict::Done(Some(vec![7; 3_000].into()))).await;
    new
}

pub async fn what_is_forgotten_is_gone(mut world: World) {
    world.kind("k").await;
    let new = rich_job(&world).await;
    let found = world.details(new.id).await.unwrap();
    assert!(found.result.is_some() && !found.errors.is_empty() && !found.steps.is_empty());
    assert_eq!(world.sweep(Sweep::Forget(vec![new.id, new.id, JobId::from_u64(1)])).await, 1);
    assert!(world.details(new.id).await.is_none());
    assert!(matches!(world.read(Read::Steps(new.id)).await, Found::Steps(steps) if steps.is_empty()));
    let unknown = Refusal::UnknownJob(new.id);
    assert_eq!(world.refused(Unit::Control(Control::Replay(new.id))).await, unknown);
    world.reopen();
    // The same id again is a new job, with nothing of the old one.
    let again = NewJob { payload: vec![1; 10].into(), ..new.clone() };
    world.submit_one(again).await;
    let found = world.details(new.id).await.unwrap();
    assert_eq!((found.payload.len(), found.result, found.progress), (10, None, None));
    assert_eq!((found.errors.len(), found.steps.len()), (0, 0));
    world.dump().await.check();
}

pub async fn forgetting_in_the_commit_that_wrote_it_leaves_nothing(world: World) {
    world.kind("k").await;
    let new = NewJob { payload: vec![5; 4_000].into(), ..world.job("k") };
    let job = world.submit_one(new.clone()).await;
    let claimed = world.claim(job).await;
    let fence = claimed.header.fence;
    let output: Blob = vec![6; 2_000].into();
    let step = StepDone { job, fence, name: name("s"), output, submission: Submission::default() };
    let again = NewJob { payload: vec![1; 2_000].into(), owner: name("bolt"), ..new.clone() };
    let units = vec![
        Unit::Step(step),
        Unit::Progress(job, fence, Progress { fraction: 0.5, note: "on".into(), at: world.now() }),
        settle(&claimed, Verdict::Dead("no".into()), Submission::default()),
        Unit::Sweep(Sweep::Forget(vec![job])),
        Unit::Submit(jobs_of([again.clone()])),
    ];
    assert!(world.commit(units).await.iter().all(Result::is_ok));
    let found = world.details(job).await.unwrap();
    assert_eq!((found.payload, &found.row.line.owner), (again.payload, &again.owner));
    assert_eq!((found.steps.len(), found.errors.len(), found.progress), (0, 0, None));
    // Brought and forgotten at once.
    let short = world.job("k");
    let units = vec![
        Unit::Submit(jobs_of([short.clone()])),
        Unit::Control(Control::Cancel(short.id)),
        Unit::Sweep(Sweep::Forget(vec![short.id])),
    ];
    assert!(world.commit(units).await.iter().all(Result::is_ok));
    assert!(world.details(short.id).await.is_none());
    world.dump().await.check();
}

pub async fn what_has_not_ended_is_not_forgotten(world: World) {
    world.kind("k").await;
    let (_, jobs, then) = world.batch_of("k", 3, Some(When::Settled)).await;
    world.claim(jobs[0]).await;
    world.fail(&world.claim(jobs[1]).await).await;
    let alive: Vec<JobId> = jobs.iter().copied().chain(then).collect();
    let before = world.dump().await;
    assert_eq!(world.sweep(Sweep::Forget(alive)).await, 0);
    before.assert_same(&world.dump().await, "nothing could be forgotten");
}

pub async fn ended_jobs_are_found_by_age(world: World) {
    world.kind("k").await;
    let jobs = world.submit((0..6).map(|_| world.job("k"))).await;
    for job in [jobs[0], jobs[2], jobs[3], jobs[5]] {
        world.run(job).await;
    }
    let mut found = Vec::new();
    let mut after = JobId::from_u64(0);
    loop {
        let page = world.read(Read::Ended { after, below: jobs[5], limit: 2 }).await;
        let Found::Ids { ids, after: next, .. } = page else { panic!("ids were asked for") };
        found.extend(ids);
        match next {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(found, [jobs[0], jobs[2], jobs[3]]);
    let none = world.read(Read::Ended { after: jobs[3], below: jobs[1], limit: 2 }).await;
    assert!(matches!(none, Found::Ids { ids, .. } if ids.is_empty()));
}

pub async fn a_trim_forgets_events_and_nothing_else(world: World) {
    world.kind("k").await;
    for _ in 0..5 {
        let job = world.submit_one(world.job("k")).await;
        world.run(job).await;
    }
    let before = world.dump().await.lines_without_events();
    let events = events_of(world.store()).await;
    assert!(world.sweep(Sweep::Trim(events[8].0)).await > 0);
    assert_eq!(world.sweep(Sweep::Trim(events[8].0)).await, 0);
    assert_eq!(world.sweep(Sweep::Trim(Cursor::START)).await, 0);
    assert_eq!(world.dump().await.lines_without_events(), before);
    let kept = events_of(world.store()).await;
    assert!(kept.len() < events.len() && kept.len() >= events.len() - 9 && events.ends_with(&kept));
}

pub async fn what_has_ended_expires(world: World) {
    world.kind("k").await;
    let secret = |label: &str, seconds: u64| {
        let until = world.now() + secs(seconds);
        let secret = Secret { name: name(label), sealed: vec![1; 40], until };
        Unit::Secret(name(label), Some(secret))
    };
    let unique =
        |key: &str, window| NewJob { unique: vec![Unique { key: name(key), window }], ..world.job("k") };
    world.commit(vec![secret("short", 10), secret("long", 20)]).await;
    let kept = unique("settled", Window::UntilSettled);
    world
        .submit([unique("short", Window::For(secs(10))), unique("long", Window::For(secs(20))), kept.clone()])
        .await;
    assert_eq!(world.sweep(Sweep::Expire).await, 0);
    world.advance(secs(10));
    assert_eq!(world.sweep(Sweep::Expire).await, 2);
    let found = |label: &'static str| world.read(Read::Secret(name(label)));
    assert!(matches!(found("short").await, Found::Secret(None)));
    assert!(matches!(found("long").await, Found::Secret(Some(_))));
    world.advance(secs(1_000));
    // What expires in the commit that brings it is seen, too.
    let outcomes = world.commit(vec![secret("now", 0), Unit::Sweep(Sweep::Expire)]).await;
    assert!(matches!(outcomes[1], Ok(crate::store::Receipt::Changed(3))), "{outcomes:?}");
    let again = unique("settled", Window::UntilSettled);
    assert_eq!(world.submit_one(again).await, kept.id);
}
