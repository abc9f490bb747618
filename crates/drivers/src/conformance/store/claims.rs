//! A worker takes a job: who may, how many at once, how many in a time, and what stands in the way.

use turnwise_core::ids::{JobId, SessionId};
use turnwise_core::job::State;
use turnwise_core::rate::Rate;
use turnwise_core::refusal::Refusal;
use turnwise_core::schedule::Target;
use turnwise_core::time::{millis, secs};

use super::world::{World, name};
use crate::store::{
    Claim, Control, Found, LeaseUnit, LimitKey, NewJob, Read, Receipt, SessionUnit, Unit, Verdict,
};

pub async fn a_claim_has_all_that_a_worker_needs(world: World) {
    world.kind_with("k", |kind| kind.deadline = Some(secs(30))).await;
    let new = NewJob { payload: vec![7; 2_000].into(), ..world.job("k") };
    let job = world.submit_one(new.clone()).await;
    world.advance(secs(3));
    let session = world.session().await;
    let claimed = world.claim_as(job, session).await;
    assert_eq!((claimed.payload, claimed.deadline), (new.payload, Some(secs(30))));
    let header = claimed.header;
    assert_eq!((header.state, header.session, header.at), (State::Running, Some(session), world.now()));
    assert_eq!((header.fence, header.attempt, header.version), (1, 1, 2));
    assert_eq!(world.header(job).await, header);
    let Found::Jobs(running) = world.read(Read::Running(session)).await else {
        panic!("jobs were asked for")
    };
    assert_eq!(running.iter().map(|row| row.header.id).collect::<Vec<_>>(), [job]);
}

pub async fn a_job_can_be_claimed_in_the_commit_that_brings_it(world: World) {
    world.kind("k").await;
    let session = world.session().await;
    let new = NewJob { payload: vec![7; 2_000].into(), ..world.job("k") };
    let claim = Claim { job: new.id, version: 1, session, term: None };
    let submit = Unit::Submit(super::world::jobs_of([new.clone()]));
    let outcomes = world.commit(vec![submit, Unit::Claim(claim)]).await;
    let Ok(Receipt::Claimed(claimed)) = &outcomes[1] else { panic!("{outcomes:?}") };
    assert_eq!(claimed.payload, new.payload);
    world.done(claimed).await;
}

pub async fn a_stale_ticket_is_refused(world: World) {
    world.kind("k").await;
    let session = world.session().await;
    let job = world.submit_one(world.job("k")).await;
    let ticket = world.claim_unit(job, session).await;
    let claimed = world.claim(job).await;
    world.settle(&claimed, Verdict::Released).await;
    assert_eq!(world.refused(ticket).await, Refusal::StaleTicket);
    let nobody = JobId::from_u64(2);
    let claim = Claim { job: nobody, version: 1, session, term: None };
    assert_eq!(world.refused(Unit::Claim(claim)).await, Refusal::UnknownJob(nobody));
}

pub async fn a_dead_session_claims_nothing(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let session = world.session_for(secs(10)).await;
    world.advance(secs(10));
    assert_eq!(world.refused(world.claim_unit(job, session).await).await, Refusal::SessionEnded);
    let closed = world.session().await;
    world.ok(Unit::Session(SessionUnit::Close { id: closed })).await;
    for session in [closed, SessionId::from_u64(4_444)] {
        assert_eq!(world.refused(world.claim_unit(job, session).await).await, Refusal::SessionEnded);
    }
}

pub async fn a_cap_holds_for_the_whole_kind(world: World) {
    world.kind_with("k", |kind| kind.cap = Some(2)).await;
    world.kind("free").await;
    let jobs = world.submit((0..4).map(|_| world.job("k"))).await;
    let first = world.claim(jobs[0]).await;
    world.claim(jobs[1]).await;
    assert_eq!(world.claim_refused(jobs[2]).await, Refusal::CapReached);
    let other = world.submit_one(world.job("free")).await;
    world.claim(other).await;
    world.settle(&first, Verdict::Snoozed(secs(1))).await;
    world.claim(jobs[2]).await;
    assert_eq!(world.claim_refused(jobs[3]).await, Refusal::CapReached);
    world.dump().await.check();
}

pub async fn a_cap_holds_inside_one_commit(world: World) {
    world.kind_with("k", |kind| kind.cap = Some(2)).await;
    let session = world.session().await;
    let jobs = world.submit((0..5).map(|_| world.job("k"))).await;
    let claim = |job| Unit::Claim(Claim { job, version: 1, session, term: None });
    let outcomes = world.commit(jobs.iter().map(|job| claim(*job)).collect()).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 2);
    assert!(outcomes[2..].iter().all(|outcome| matches!(outcome, Err(Refusal::CapReached))));
}

pub async fn a_key_has_its_own_cap(world: World) {
    world.kind_with("k", |kind| kind.key_cap = Some(1)).await;
    let with = |key| NewJob { limit_key: Some(name(key)), ..world.job("k") };
    let jobs = world.submit([with("a"), with("a"), with("b"), world.job("k"), world.job("k")]).await;
    let running = world.claim(jobs[0]).await;
    assert_eq!(world.claim_refused(jobs[1]).await, Refusal::CapReached);
    for job in &jobs[2..] {
        world.claim(*job).await;
    }
    assert_eq!(gauge(&world, "k", Some("a")).await, 1);
    assert_eq!(gauge(&world, "k", None).await, 4);
    // A refusal by one cap leaves no mark on the other.
    world.kind_with("k", |kind| (kind.key_cap, kind.cap) = (Some(1), Some(100))).await;
    assert_eq!(world.claim_refused(jobs[1]).await, Refusal::CapReached);
    assert_eq!(gauge(&world, "k", None).await, 4);
    world.done(&running).await;
    world.claim(jobs[1]).await;
    world.dump().await.check();
}

async fn gauge(world: &World, kind: &str, key: Option<&str>) -> u32 {
    let Found::Gauges(gauges) = world.read(Read::Gauges).await else { panic!("gauges were asked for") };
    let wanted = LimitKey { kind: name(kind), key: key.map(name) };
    gauges.into_iter().find(|(key, _)| *key == wanted).map_or(0, |(_, running)| running)
}

pub async fn a_cap_that_comes_late_is_judged_by_the_truth(world: World) {
    world.kind("k").await;
    let jobs = world.submit((0..5).map(|_| world.job("k"))).await;
    let mut running = Vec::new();
    for job in &jobs[..3] {
        running.push(world.claim(*job).await);
    }
    world.kind_with("k", |kind| kind.cap = Some(2)).await;
    assert_eq!(world.claim_refused(jobs[3]).await, Refusal::CapReached);
    world.done(&running[0]).await;
    assert_eq!(world.claim_refused(jobs[3]).await, Refusal::CapReached);
    world.done(&running[1]).await;
    let fourth = world.claim(jobs[3]).await;
    assert_eq!(world.claim_refused(jobs[4]).await, Refusal::CapReached);
    // Removed while they run, and declared again: still the truth.
    world.kind("k").await;
    world.done(&fourth).await;
    world.kind_with("k", |kind| kind.cap = Some(1)).await;
    assert_eq!(world.claim_refused(jobs[4]).await, Refusal::CapReached);
    world.done(&running[2]).await;
    world.run(jobs[4]).await;
    assert_eq!(gauge(&world, "k", None).await, 0);
}

pub async fn rates_are_kept(world: World) {
    world.kind_with("k", |kind| kind.rate = Some(Rate::per_second(1).burst(2))).await;
    let jobs = world.submit((0..4).map(|_| world.job("k"))).await;
    world.run(jobs[0]).await;
    world.run(jobs[1]).await;
    assert_eq!(world.claim_refused(jobs[2]).await, Refusal::RateReached(world.now() + secs(1)));
    world.advance(millis(999));
    assert!(matches!(world.claim_refused(jobs[2]).await, Refusal::RateReached(_)));
    world.advance(millis(1));
    world.run(jobs[2]).await;
    assert!(matches!(world.claim_refused(jobs[3]).await, Refusal::RateReached(_)));
}

pub async fn rates_outlive_a_restart(mut world: World) {
    world.kind_with("k", |kind| kind.rate = Some(Rate::new(1, secs(60)))).await;
    let jobs = world.submit([world.job("k"), world.job("k")]).await;
    world.run(jobs[0]).await;
    world.reopen();
    assert!(matches!(world.claim_refused(jobs[1]).await, Refusal::RateReached(_)));
    world.advance(secs(60));
    world.run(jobs[1]).await;
}

pub async fn a_key_has_its_own_rate(world: World) {
    world
        .kind_with("k", |kind| {
            kind.key_rate = Some(Rate::new(1, secs(60)));
            kind.rate = Some(Rate::new(3, secs(60)));
        })
        .await;
    let with = |key| NewJob { limit_key: Some(name(key)), ..world.job("k") };
    let jobs = world.submit([with("a"), with("a"), with("b"), with("c"), with("d")]).await;
    world.run(jobs[0]).await;
    // The key's refusal takes no token of the kind.
    for _ in 0..5 {
        assert!(matches!(world.claim_refused(jobs[1]).await, Refusal::RateReached(_)));
    }
    world.run(jobs[2]).await;
    world.run(jobs[3]).await;
    assert!(matches!(world.claim_refused(jobs[4]).await, Refusal::RateReached(_)));
}

pub async fn what_is_paused_is_not_claimed(world: World) {
    world.kind("k").await;
    let (batch, jobs, _) = world.batch_of("k", 1, None).await;
    let targets = [Target::Kind(name("k")), Target::Owner(name("acme")), Target::Batch(batch)];
    for target in targets {
        world.control(Control::Pause(target.clone(), true)).await;
        let before = world.dump().await;
        world.control(Control::Pause(target.clone(), true)).await;
        before.assert_same(&world.dump().await, "pausing twice");
        assert_eq!(world.claim_refused(jobs[0]).await, Refusal::Paused);
        world.control(Control::Pause(target.clone(), false)).await;
        let claimed = world.claim(jobs[0]).await;
        // What runs already runs on.
        world.control(Control::Pause(target.clone(), true)).await;
        world.settle(&claimed, Verdict::Released).await;
        world.control(Control::Pause(target, false)).await;
    }
    let others = [Target::Kind(name("other")), Target::Batch(turnwise_core::ids::BatchId::from_u64(3))];
    for unknown in others {
        world.refused(Unit::Control(Control::Pause(unknown, true))).await;
    }
    // A node that is drained keeps what it runs, and begins nothing.
    let node = Target::Node(name("node"));
    let claimed = world.claim(jobs[0]).await;
    world.control(Control::Pause(node.clone(), true)).await;
    world.settle(&claimed, Verdict::Released).await;
    assert_eq!(world.claim_refused(jobs[0]).await, Refusal::Draining);
    world.control(Control::Pause(node, false)).await;
    world.control(Control::Pause(Target::Node(name("another")), true)).await;
    // Pausing something else is no hindrance.
    world.control(Control::Pause(Target::Owner(name("bolt")), true)).await;
    world.run(jobs[0]).await;
}

pub async fn a_bound_kind_is_claimed_by_the_leases_holder(world: World) {
    world.kind_with("k", |kind| kind.lease = Some(name("right"))).await;
    let session = world.session().await;
    let job = world.submit_one(world.job("k")).await;
    let claim = |term| Unit::Claim(Claim { job, version: 1, session, term });
    let acquire = |holder| LeaseUnit::Acquire { name: name("right"), holder: name(holder), span: secs(10) };
    let stale = Refusal::StaleTerm(name("right"));
    for term in [None, Some(0), Some(1)] {
        assert_eq!(world.refused(claim(term)).await, stale, "nobody has it");
    }
    world.ok(Unit::Lease(acquire("a"))).await;
    for term in [None, Some(0), Some(2)] {
        assert_eq!(world.refused(claim(term)).await, stale, "{term:?}");
    }
    world.advance(secs(10));
    assert_eq!(world.refused(claim(Some(1))).await, stale, "it has ended");
    world.ok(Unit::Lease(acquire("b"))).await;
    assert_eq!(world.refused(claim(Some(1))).await, stale, "an older term");
    world.ok(claim(Some(2))).await;
}
