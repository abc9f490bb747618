//! The rules that the contract itself names.

use turnwise_core::batch::When;
use turnwise_core::event::{Cause, Cursor, Event};
use turnwise_core::ids::JobId;
use turnwise_core::job::State;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::{millis, secs};
use turnwise_core::unique::{Unique, Window};

use super::dump::{Dump, events_after, events_of, replayed};
use super::world::{World, failed, jobs_of, name, settle};
use crate::store::{
    Blob, Claim, Control, NewJob, Progress, Read, Ready, ReadyAnswer, Receipt, Settle, Start, StepDone,
    Submission, Sweep, Tail, Unit, Verdict, Want,
};

pub async fn a_refused_unit_leaves_no_trace(world: World) {
    world.kind("k").await;
    let (batch, _) = world.new_batch("k", Some(When::Settled));
    let sealed = world.batch_of("k", 1, None).await.0;
    // Everything before the last job is fine; the last one is refused, so none of it happens.
    let lane = world.lane_job("k", "lane");
    let unique = Unique { key: name("key"), window: Window::UntilSettled };
    let good =
        NewJob { unique: vec![unique], batch: Some(batch.id), owner: name("new owner"), ..world.job("k") };
    let bad = NewJob { batch: Some(sealed), ..world.job("k") };
    let submission =
        Submission { seal: vec![batch.id], open: vec![batch.clone()], jobs: vec![lane, good.clone(), bad] };
    assert_eq!(world.refused(Unit::Submit(submission)).await, Refusal::Sealed(sealed));
    // Not even the key, the batch or the ids are taken.
    let again = Submission { open: vec![batch], ..jobs_of([good]) };
    assert!(world.send(again).await.iter().all(|submitted| !submitted.existing));
    world.dump().await.check();
}

pub async fn strangers_are_not_rolled_back(world: World) {
    world.kind("k").await;
    let head = world.submit_one(world.lane_job("k", "lane")).await;
    let next = world.submit_one(world.lane_job("k", "lane")).await;
    let claimed = world.claim(head).await;
    let stranger = world.job("k");
    let (unknown, double) = (world.job("nobody's kind"), world.job("k"));
    // The refused completion moves the lane on before it fails; the strangers around it must not notice.
    let outcomes = world
        .commit(vec![
            Unit::Submit(jobs_of([stranger.clone()])),
            settle(&claimed, Verdict::Done(None), jobs_of([double.clone(), unknown])),
            Unit::Control(Control::Cancel(next)),
            Unit::Submit(jobs_of([double.clone()])),
            Unit::Control(Control::Cancel(JobId::from_u64(1))),
        ])
        .await;
    let fine: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(fine, [true, false, true, true, false]);
    use State::{Cancelled, Ready, Running};
    let states = world.states(&[stranger.id, head, next, double.id]).await;
    assert_eq!(states, [Ready, Running, Cancelled, Ready]);
    world.dump().await.check();
}

pub async fn what_was_answered_is_there_after_reopen(mut world: World) {
    world.kind("k").await;
    let (_, jobs, _) = world.batch_of("k", 3, Some(When::AllDone)).await;
    world.run(jobs[0]).await;
    world.kill(jobs[1]).await;
    let lane = world.submit([world.lane_job("k", "lane"), world.lane_job("k", "lane")]).await;
    let running = world.claim(lane[0]).await;
    let (job, fence) = (lane[0], running.header.fence);
    let output: Blob = vec![1; 5_000].into();
    let step = StepDone { job, fence, name: name("s"), output, submission: Submission::default() };
    world.ok(Unit::Step(step)).await;
    world
        .ok(Unit::Progress(job, fence, Progress { fraction: 0.5, note: "half".into(), at: world.now() }))
        .await;
    let failing = world.submit_one(NewJob { start: Start::At(world.now()), ..world.job("k") }).await;
    world.fail(&world.claim(failing).await).await;
    world
        .submit_one(NewJob {
            start: Start::After(secs(60)),
            payload: vec![9; 9_000].into(),
            ..world.job("k")
        })
        .await;
    let before = world.dump().await;
    before.check();
    let Some(()) = world.reopen() else { return };
    before.assert_same(&world.dump().await, "the store was opened again");
    // And it goes on as if nothing had been.
    world.done(&running).await;
    world.advance(secs(10));
    world.run(failing).await;
    world.run(lane[1]).await;
    world.run(jobs[2]).await;
    let after = world.dump().await;
    after.check();
    let (before, after) = (events_only(&before), events_only(&after));
    assert_eq!(after[..before.len()], before, "what had happened stays");
}

fn events_only(dump: &Dump) -> Vec<(Cursor, Event)> {
    dump.events.iter().map(|(cursor, _, event)| (*cursor, event.clone())).collect()
}

pub async fn a_resent_submission_is_accepted_once(world: World) {
    world.kind("k").await;
    let (open, then) = world.new_batch("k", Some(When::Settled));
    let id = open.id;
    let unique = Unique { key: name("key"), window: Window::UntilSettled };
    let jobs = vec![
        NewJob { batch: Some(id), ..world.lane_job("k", "lane") },
        NewJob { batch: Some(id), unique: vec![unique], ..world.job("k") },
    ];
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id).chain(then).collect();
    let submission = Submission { open: vec![open], jobs, seal: vec![id] };
    // Twice in one commit, as after an unknown outcome: the group may hold both.
    let twice = vec![Unit::Submit(submission.clone()), Unit::Submit(submission.clone())];
    let outcomes = world.commit(twice).await;
    for (outcome, existing) in outcomes.into_iter().zip([false, true]) {
        let Ok(Receipt::Submitted(submitted)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(submitted.iter().map(|job| job.id).collect::<Vec<_>>(), ids);
        assert!(submitted.iter().all(|job| job.existing == existing), "{submitted:?}");
    }
    let before = world.dump().await;
    before.check();
    assert_eq!((before.jobs.len(), world.batch(id).await.total), (3, 2));
    assert!(world.send(submission).await.iter().all(|job| job.existing));
    before.assert_same(&world.dump().await, "the submission was sent again");
}

pub async fn one_live_claim(world: World) {
    world.kind("k").await;
    let [one, two] = [world.session().await, world.session().await];
    let job = world.submit_one(world.job("k")).await;
    let version = world.header(job).await.version;
    let claim = |session| Unit::Claim(Claim { job, version, session, term: None });
    let outcomes = world.commit(vec![claim(one), claim(two), claim(one)]).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let header = world.header(job).await;
    assert_eq!(
        (header.state, header.session, header.fence, header.attempt),
        (State::Running, Some(one), 1, 1)
    );
    assert!(matches!(world.refused(claim(two)).await, Refusal::WrongState { .. }));
    assert!(matches!(world.refused(world.claim_unit(job, two).await).await, Refusal::WrongState { .. }));
}

pub async fn an_older_fence_is_refused(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let old = world.claim(job).await;
    world.settle(&old, Verdict::Released).await;
    let verdicts = [
        Verdict::Done(None),
        failed("late"),
        Verdict::Snoozed(secs(1)),
        Verdict::Cancelled,
        Verdict::Dead("late".into()),
        Verdict::Released,
    ];
    // While nobody has it, while somebody else has it, and after its end.
    for round in 0..3 {
        for verdict in verdicts.clone() {
            let fan_out = jobs_of([world.job("k")]);
            let refusal = world.refused(settle(&old, verdict, fan_out)).await;
            assert!(matches!(refusal, Refusal::StaleFence { given: 1, .. }), "{refusal:?}");
        }
        let (fence, submission) = (old.header.fence, jobs_of([world.job("k")]));
        let step = StepDone { job, fence, name: name("s"), output: Blob::default(), submission };
        assert!(world.refused(Unit::Step(step)).await.is_stale());
        let progress = Progress { fraction: 0.5, note: String::new(), at: world.now() };
        assert!(world.refused(Unit::Progress(job, fence, progress)).await.is_stale());
        match round {
            0 => drop(world.claim(job).await),
            1 => {
                let now =
                    Settle { job, fence: 2, verdict: Verdict::Done(None), submission: Submission::default() };
                world.ok(Unit::Settle(now)).await;
            }
            _ => {}
        }
    }
}

async fn ready_in_line_of(world: &World, job: JobId, after: Option<JobId>, limit: usize) -> Vec<JobId> {
    let want = Want { line: world.header(job).await.line, after, limit };
    match world.store().ready(Ready::Jobs(vec![want])).await.unwrap() {
        ReadyAnswer::Jobs(mut jobs) => jobs.remove(0).into_iter().map(|(id, _)| id).collect(),
        other => panic!("jobs were asked for: {other:?}"),
    }
}

pub async fn ready_is_in_submit_order(world: World) {
    world.kind("k").await;
    let mut jobs = Vec::new();
    for _ in 0..4 {
        jobs.extend(world.submit((0..5).map(|_| world.job("k"))).await);
    }
    assert_eq!(ready_in_line_of(&world, jobs[0], None, 100).await, jobs);
    assert_eq!(ready_in_line_of(&world, jobs[0], Some(jobs[4]), 3).await, jobs[5..8]);
    // One that comes back keeps its place; one that ended is not there.
    let claimed = world.claim(jobs[1]).await;
    world.run(jobs[3]).await;
    assert_eq!(ready_in_line_of(&world, jobs[0], None, 3).await, [jobs[0], jobs[2], jobs[4]]);
    world.settle(&claimed, Verdict::Released).await;
    assert_eq!(ready_in_line_of(&world, jobs[0], None, 3).await, jobs[..3]);
}

pub async fn a_deep_line_hides_nobody(world: World) {
    world.kind("k").await;
    for _ in 0..3 {
        world.submit((0..2_000).map(|_| world.job("k"))).await;
    }
    let others = ["bolt", "crow", "dove", "elk"].map(name);
    world.submit(others.clone().map(|owner| NewJob { owner, ..world.job("k") })).await;
    let mut seen: Vec<Name> = Vec::new();
    let mut after = None;
    loop {
        let page = world.store().ready(Ready::Lines { after, limit: 2 }).await.unwrap();
        let ReadyAnswer::Lines(lines) = page else { panic!("lines were asked for") };
        let Some((last, _)) = lines.last() else { break };
        after = Some(*last);
        seen.extend(lines.iter().map(|(_, line)| line.owner.clone()));
    }
    seen.sort();
    assert_eq!(seen.len(), 5, "each line once: {seen:?}");
    assert_eq!(seen[1..], others);
}

pub async fn a_tail_misses_nothing(world: World) {
    world.kind("k").await;
    let mut hints = world.store().watch();
    let mut seen = Vec::new();
    let mut cursor = Cursor::START;
    for round in 0..30 {
        let jobs = world.submit((0..=round % 4).map(|_| world.job("k"))).await;
        world.run(jobs[0]).await;
        // A reader that reads little at a time, and a hint that nothing was lost between two looks.
        for limit in [1, 3] {
            let Tail::Page(page) = world.store().tail(cursor, limit).await.unwrap() else { panic!("gone") };
            assert!(page.events.len() <= limit && !page.events.is_empty());
            cursor = page.next;
            seen.extend(page.events);
        }
    }
    seen.extend(events_after(world.store(), cursor).await);
    assert_eq!(seen, events_of(world.store()).await);
    assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0), "cursors only grow");
    let mut hinted = Vec::new();
    while let Ok(hint) = hints.try_recv() {
        hinted.extend(hint.events.clone());
    }
    let all: Vec<Event> = seen.iter().map(|(_, _, event)| event.clone()).collect();
    assert_eq!(all[all.len() - hinted.len()..], hinted);
    let states = replayed(&all);
    for job in world.dump().await.jobs {
        assert_eq!(states[&job.row.header.id], job.row.header.state);
    }
    // A commit with more events than one block holds.
    let parts = limits::EVENTS_PER_BLOCK / limits::JOBS_PER_SUBMIT + 1;
    let part = || {
        jobs_of((0..limits::JOBS_PER_SUBMIT).map(|_| NewJob { payload: Blob::default(), ..world.job("k") }))
    };
    let last = seen.last().unwrap().0;
    let outcomes = world.commit((0..parts).map(|_| Unit::Submit(part())).collect()).await;
    assert!(outcomes.iter().all(Result::is_ok));
    let many = events_after(world.store(), last).await;
    assert_eq!(many.len(), parts * limits::JOBS_PER_SUBMIT);
    assert!(many.windows(2).all(|pair| pair[0].0 < pair[1].0), "cursors only grow");
}

pub async fn an_old_cursor_is_told(mut world: World) {
    world.kind("k").await;
    for _ in 0..10 {
        world.submit([world.job("k"), world.job("k"), world.job("k")]).await;
    }
    let events = events_of(world.store()).await;
    let [middle, before, last] = [events[14].0, events[2].0, events.last().unwrap().0];
    world.sweep(Sweep::Trim(middle)).await;
    for old in [Cursor::START, before] {
        assert!(matches!(world.store().tail(old, 10).await.unwrap(), Tail::Gone { .. }), "{old:?}");
    }
    // Whoever had read up to there misses nothing, and the way on is told.
    assert_eq!(events_after(world.store(), middle).await, events[15..]);
    let Tail::Gone { oldest } = world.store().tail(before, 10).await.unwrap() else { panic!("not told") };
    let kept = events_after(world.store(), oldest).await;
    assert!(kept.len() >= events.len() - 15 && events.ends_with(&kept));
    // Nothing is left, or the cursor lies in the future: old ones are still told, and numbers go on.
    world.sweep(Sweep::Trim(Cursor::new(last.block() + 1_000, 0))).await;
    world.reopen();
    assert!(matches!(world.store().tail(middle, 10).await.unwrap(), Tail::Gone { .. }));
    world.submit_one(world.job("k")).await;
    let fresh = events_after(world.store(), last).await;
    assert_eq!(fresh.len(), 1);
    assert!(fresh[0].0 > last);
}

pub async fn the_stores_clock_decides(world: World) {
    world.kind("k").await;
    let start = world.now();
    assert!(matches!(world.read(Read::Clock).await, crate::store::Found::Clock(now) if now == start));
    let session = world.session_for(secs(10)).await;
    let delayed = world.submit_one(NewJob { start: Start::After(secs(5)), ..world.job("k") }).await;
    assert_eq!(world.header(delayed).await.submitted, start);
    let early = world.claim_unit(delayed, session).await;
    world.advance(secs(5) - millis(1));
    assert_eq!(world.refused(early).await, Refusal::NotDue(start + secs(5)));
    assert_eq!(world.sweep(Sweep::Ripen(vec![delayed])).await, 0);
    world.advance(millis(1));
    let claimed = world.claim_as(delayed, session).await;
    assert_eq!(claimed.header.at, start + secs(5));
    // Whatever time the worker believes in, progress has the store's.
    let claim = (delayed, claimed.header.fence);
    let progress = Progress { fraction: 0.5, note: String::new(), at: start + secs(1_000) };
    world.ok(Unit::Progress(claim.0, claim.1, progress)).await;
    assert_eq!(world.details(delayed).await.unwrap().progress.unwrap().at, world.now());
    world.advance(secs(5));
    let job = world.submit_one(world.job("k")).await;
    assert_eq!(world.refused(world.claim_unit(job, session).await).await, Refusal::SessionEnded);
    assert_eq!(world.fail(&claimed).await, State::Retrying);
    let events = events_of(world.store()).await;
    let (_, at, event) = events.last().unwrap();
    assert_eq!(*at, world.now());
    let due = Some(world.now() + secs(10));
    assert!(
        matches!(event, Event::Job { cause: Cause::Failed { attempt: 1, due: said }, .. } if *said == due)
    );
}
