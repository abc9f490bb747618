//! Lanes never reorder.

use turnwise_core::batch::When;
use turnwise_core::ids::JobId;
use turnwise_core::job::State;
use turnwise_core::lane::OnDead;
use turnwise_core::priority::Priority;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::{Time, secs};

use super::world::{World, name};
use crate::store::{
    Control, Found, JobRow, LaneChoice, NewJob, Read, Start, Submission, Sweep, Unit, Verdict,
};

use State::{Cancelled, Ready, Retrying, Running, Scheduled, Waiting};

async fn lane_of(world: &World, count: usize) -> Vec<JobId> {
    world.kind("k").await;
    world.submit((0..count).map(|_| world.lane_job("k", "lane"))).await
}

pub async fn one_at_a_time_in_submit_order(world: World) {
    let mut jobs = lane_of(&world, 2).await;
    jobs.push(world.submit_one(NewJob { priority: Priority::MAX, ..world.lane_job("k", "lane") }).await);
    for (place, job) in jobs.iter().enumerate() {
        let mut expected = vec![Waiting; jobs.len()];
        expected[..place].fill(State::Done);
        expected[place] = Ready;
        assert_eq!(world.states(&jobs).await, expected, "priority means nothing inside a lane");
        world.dump().await.check();
        world.run(*job).await;
    }
    let lane = world.lane("lane").await;
    assert_eq!((lane.head, lane.waiting, lane.next), (None, 0, 4));
}

pub async fn a_retry_overtakes_nobody(world: World) {
    let jobs = lane_of(&world, 2).await;
    for _ in 0..2 {
        let claimed = world.claim(jobs[0]).await;
        assert_eq!(world.states(&jobs).await, [Running, Waiting]);
        world.fail(&claimed).await;
        assert_eq!(world.states(&jobs).await, [Retrying, Waiting]);
        world.sweep(Sweep::Ripen(jobs.clone())).await;
        world.advance(secs(10));
        world.sweep(Sweep::Ripen(jobs.clone())).await;
        assert_eq!(world.states(&jobs).await, [Ready, Waiting]);
    }
    // Dead after the last attempt: the lane goes on.
    let claimed = world.claim(jobs[0]).await;
    world.fail(&claimed).await;
    assert_eq!(world.states(&jobs).await, [State::Dead, Ready]);
    world.dump().await.check();
}

pub async fn a_head_that_is_not_due_holds_its_lane(world: World) {
    world.kind("k").await;
    let delayed = NewJob { start: Start::After(secs(60)), ..world.lane_job("k", "lane") };
    let later = NewJob { start: Start::After(secs(90)), ..world.lane_job("k", "lane") };
    let jobs = world.submit([delayed, world.lane_job("k", "lane"), later]).await;
    assert_eq!(world.states(&jobs).await, [Scheduled, Waiting, Waiting]);
    world.advance(secs(60));
    let claimed = world.claim(jobs[0]).await;
    world.settle(&claimed, Verdict::Snoozed(secs(10))).await;
    assert_eq!(world.states(&jobs).await, [Scheduled, Waiting, Waiting]);
    world.advance(secs(10));
    world.run(jobs[0]).await;
    world.run(jobs[1]).await;
    // Its own delay counts from its submission, and still holds.
    assert_eq!(world.states(&jobs[2..]).await, [Scheduled]);
    assert!(matches!(world.claim_refused(jobs[2]).await, Refusal::NotDue(_)));
    world.advance(secs(20));
    world.run(jobs[2]).await;
}

pub async fn cancelling_keeps_the_order(world: World) {
    let jobs = lane_of(&world, 5).await;
    world.control(Control::Cancel(jobs[1])).await;
    world.control(Control::Cancel(jobs[0])).await;
    assert_eq!(world.states(&jobs).await, [Cancelled, Cancelled, Ready, Waiting, Waiting]);
    // A running head is only told; its lane is free when its handler has ended.
    let claimed = world.claim(jobs[2]).await;
    world.control(Control::Cancel(jobs[2])).await;
    assert_eq!(world.states(&jobs[2..]).await, [Running, Waiting, Waiting]);
    assert!(world.header(jobs[2]).await.flags.cancel);
    world.settle(&claimed, Verdict::Released).await;
    assert_eq!(world.states(&jobs[2..]).await, [Cancelled, Ready, Waiting]);
    world.control(Control::Cancel(jobs[4])).await;
    assert_eq!(world.lane("lane").await.waiting, 0);
    world.dump().await.check();
}

pub async fn a_rescued_head_stays_the_head(world: World) {
    let jobs = lane_of(&world, 2).await;
    let session = world.session_for(secs(10)).await;
    world.claim_as(jobs[0], session).await;
    world.advance(secs(10));
    world.ok(Unit::Sweep(Sweep::Rescue(jobs[0], session))).await;
    assert_eq!(world.states(&jobs).await, [Ready, Waiting]);
}

pub async fn a_paused_lane_stands_still(world: World) {
    let jobs = lane_of(&world, 3).await;
    let pause = |paused| Control::PauseLane(name("lane"), paused);
    world.control(pause(true)).await;
    assert_eq!(world.states(&jobs).await, [Waiting, Waiting, Waiting]);
    assert!(matches!(world.claim_refused(jobs[0]).await, Refusal::WrongState { .. }));
    let more = world.submit_one(world.lane_job("k", "lane")).await;
    assert_eq!(world.state(more).await, Waiting);
    world.control(Control::Cancel(jobs[0])).await;
    world.dump().await.check();
    world.control(pause(false)).await;
    assert_eq!(world.states(&jobs).await, [Cancelled, Ready, Waiting]);
    let before = world.dump().await;
    world.control(pause(false)).await;
    before.assert_same(&world.dump().await, "resuming twice");
    let unknown = Control::PauseLane(name("no lane"), true);
    assert_eq!(world.refused(Unit::Control(unknown)).await, Refusal::UnknownLane(name("no lane")));
}

pub async fn a_head_that_runs_into_a_pause_is_held_when_it_comes_back(world: World) {
    let jobs = lane_of(&world, 2).await;
    let pause = |paused| Control::PauseLane(name("lane"), paused);
    let verdicts =
        [Verdict::Released, Verdict::Snoozed(secs(5)), super::world::failed("no"), Verdict::Done(None)];
    for verdict in verdicts {
        let claimed = world.claim(jobs[0]).await;
        world.control(pause(true)).await;
        assert_eq!(world.states(&jobs).await, [Running, Waiting]);
        let state = world.settle(&claimed, verdict.clone()).await;
        world.dump().await.check();
        if verdict == Verdict::Done(None) {
            break;
        }
        assert_eq!(state, Waiting, "{verdict:?}: nothing of a paused lane can be claimed");
        world.advance(secs(20));
        assert_eq!(world.sweep(Sweep::Ripen(jobs.clone())).await, 0);
        world.control(pause(false)).await;
        assert_eq!(world.states(&jobs).await, [Ready, Waiting]);
    }
    assert_eq!(world.states(&jobs).await, [State::Done, Waiting]);
    world.control(pause(false)).await;
    assert_eq!(world.state(jobs[1]).await, Ready);
}

pub async fn a_held_head_keeps_its_due_time(world: World) {
    world.kind("k").await;
    let delayed = NewJob { start: Start::After(secs(60)), ..world.lane_job("k", "lane") };
    let job = world.submit_one(delayed).await;
    let due = world.now() + secs(60);
    world.control(Control::PauseLane(name("lane"), true)).await;
    world.advance(secs(30));
    world.control(Control::PauseLane(name("lane"), false)).await;
    let header = world.header(job).await;
    assert_eq!((header.state, header.at), (Scheduled, due));
}

pub async fn a_strict_lane_halts_on_a_dead_letter(world: World) {
    world.kind("k").await;
    let strict = || {
        let lane = LaneChoice { name: name("lane"), on_dead: OnDead::Halt };
        NewJob { lane: Some(lane), ..world.job("k") }
    };
    let jobs = world.submit([strict(), strict(), strict()]).await;
    world.kill(jobs[0]).await;
    assert!(world.lane("lane").await.halted);
    // Whoever joins with other wishes joins the lane as it is.
    let more = world.submit_one(world.lane_job("k", "lane")).await;
    assert_eq!(world.states(&[jobs[1], jobs[2], more]).await, [Waiting, Waiting, Waiting]);
    world.dump().await.check();
    world.control(Control::PauseLane(name("lane"), false)).await;
    assert_eq!(world.states(&[jobs[1], jobs[2], more]).await, [Ready, Waiting, Waiting]);
    // Cancelled is not dead; and a worker's death can be.
    world.control(Control::Cancel(jobs[1])).await;
    assert_eq!(world.state(jobs[2]).await, Ready);
    world.kind_with("k", |kind| kind.rescues = 0).await;
    let session = world.session_for(secs(1)).await;
    world.claim_as(jobs[2], session).await;
    world.advance(secs(1));
    world.ok(Unit::Sweep(Sweep::Rescue(jobs[2], session))).await;
    assert_eq!(world.states(&[jobs[2], more]).await, [State::Dead, Waiting]);
    assert!(world.lane("lane").await.halted);
}

pub async fn a_replayed_job_joins_the_tail(world: World) {
    let jobs = lane_of(&world, 3).await;
    world.kill(jobs[0]).await;
    world.control(Control::Replay(jobs[0])).await;
    assert_eq!(world.states(&jobs).await, [Waiting, Ready, Waiting]);
    world.run(jobs[1]).await;
    world.run(jobs[2]).await;
    assert_eq!(world.header(jobs[0]).await.place.unwrap().position, 4);
    world.dump().await.check();
    // Alone, it is the head at once.
    world.kill(jobs[0]).await;
    world.control(Control::Replay(jobs[0])).await;
    world.run(jobs[0]).await;
}

pub async fn a_lane_of_a_thousand_in_one_bulk(world: World) {
    let jobs = lane_of(&world, 1_000).await;
    let lane = world.lane("lane").await;
    assert_eq!((lane.head, lane.waiting), (Some(jobs[0]), 999));
    world.run(jobs[0]).await;
    // Cancelled from the front in one sweep of one commit: each next one is promoted and then ends.
    let units = jobs[1..990].iter().map(|job| Unit::Control(Control::Cancel(*job)));
    assert!(world.commit(units.collect()).await.iter().all(Result::is_ok));
    let lane = world.lane("lane").await;
    assert_eq!((lane.head, lane.waiting), (Some(jobs[990]), 9));
    for job in &jobs[990..] {
        world.run(*job).await;
    }
    world.dump().await.check();
}

pub async fn who_waits_is_listed_from_the_end(world: World) {
    let jobs = lane_of(&world, 5).await;
    world.submit_one(world.lane_job("k", "other")).await;
    let behind =
        async |before, limit| match world.read(Read::Behind { lane: name("lane"), before, limit }).await {
            Found::Jobs(rows) => rows,
            other => panic!("{other:?}"),
        };
    let ids = |rows: &[JobRow]| rows.iter().map(|row| row.header.id).collect::<Vec<_>>();
    let last = behind(None, 2).await;
    assert_eq!(ids(&last), [jobs[4], jobs[3]]);
    let place = last[1].header.place.unwrap();
    assert_eq!(ids(&behind(Some(place.position), 9).await), [jobs[2], jobs[1]], "the head does not wait");
    world.run(jobs[0]).await;
    world.control(Control::Cancel(jobs[3])).await;
    assert_eq!(ids(&behind(None, 9).await), [jobs[4], jobs[2]]);
    assert_eq!(ids(&behind(Some(0), 9).await), []);
}

pub async fn lanes_do_not_wait_for_each_other(world: World) {
    world.kind("k").await;
    let lanes = ["a", "b", "c"];
    let jobs = world
        .submit(lanes.iter().flat_map(|lane| [world.lane_job("k", lane), world.lane_job("k", lane)]))
        .await;
    assert_eq!(world.states(&jobs).await, [Ready, Waiting, Ready, Waiting, Ready, Waiting]);
    world.control(Control::PauseLane(name("a"), true)).await;
    world.run(jobs[2]).await;
    assert_eq!(world.states(&jobs).await, [Waiting, Waiting, State::Done, Ready, Ready, Waiting]);
}

pub async fn a_lane_goes_across_batches_and_owners(world: World) {
    world.kind("k").await;
    let (open, then) = world.new_batch("k", Some(When::Settled));
    let id = open.id;
    let in_batch = || NewJob { batch: Some(id), ..world.lane_job("k", "lane") };
    let other = NewJob { owner: name("bolt"), ..world.lane_job("k", "lane") };
    let jobs = vec![in_batch(), other, in_batch()];
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
    world.send(Submission { open: vec![open], jobs, seal: vec![id] }).await;
    for job in &ids {
        assert_eq!(world.state(then.unwrap()).await, Waiting);
        world.run(*job).await;
    }
    assert_eq!(world.state(then.unwrap()).await, Ready);
    world.dump().await.check();
}

pub async fn a_continuation_joins_its_lane_when_it_is_released(world: World) {
    world.kind("k").await;
    let (mut open, _) = world.new_batch("k", Some(When::Settled));
    let id = open.id;
    let follow = open.then.as_mut().unwrap();
    follow.job.lane = Some(LaneChoice { name: name("lane"), on_dead: OnDead::Continue });
    let then = follow.job.id;
    let member = NewJob { batch: Some(id), ..world.job("k") };
    world.send(Submission { open: vec![open], jobs: vec![member.clone()], seal: vec![id] }).await;
    // Not in the lane yet, so it holds nobody.
    let early = world.submit_one(world.lane_job("k", "lane")).await;
    assert_eq!(world.state(early).await, Ready);
    world.run(member.id).await;
    let header = world.header(then).await;
    assert_eq!((header.state, header.place.unwrap().position), (Waiting, 2));
    let late = world.submit_one(world.lane_job("k", "lane")).await;
    world.dump().await.check();
    world.run(early).await;
    world.run(then).await;
    world.run(late).await;
}

pub async fn a_continuation_waits_for_a_paused_lane(world: World) {
    world.kind("k").await;
    world.submit_one(world.lane_job("k", "lane")).await;
    world.control(Control::PauseLane(name("lane"), true)).await;
    let (mut open, _) = world.new_batch("k", Some(When::Settled));
    let id = open.id;
    let follow = open.then.as_mut().unwrap();
    follow.job.lane = Some(LaneChoice { name: name("lane"), on_dead: OnDead::Continue });
    follow.job.start = Start::At(world.now() + secs(500));
    let then = follow.job.id;
    let member = NewJob { batch: Some(id), ..world.job("k") };
    world.send(Submission { open: vec![open], jobs: vec![member.clone()], seal: vec![id] }).await;
    world.run(member.id).await;
    let header = world.header(then).await;
    assert!(header.state == Waiting && header.at > Time::ZERO);
    assert_eq!(world.lane("lane").await.waiting, 2);
    world.dump().await.check();
}
