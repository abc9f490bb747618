//! Sessions: liveness of worker processes, judged by the store's clock.

use std::collections::{BTreeMap, BTreeSet};

use turnwise_core::event::Event;
use turnwise_core::ids::{NODE_NUMBERS, SessionId};
use turnwise_core::job::State;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::{millis, secs};

use super::dump::events_of;
use super::world::{World, moved, open_session, open_session_as};
use crate::store::{Control, Failure, Found, Read, Receipt, Roles, Session, SessionUnit, Sweep, Unit};

async fn sessions(world: &World) -> Vec<Session> {
    match world.read(Read::Sessions).await {
        Found::Sessions(sessions) => sessions,
        other => panic!("sessions were asked for: {other:?}"),
    }
}

fn beat(id: SessionId, seconds: u64) -> Unit {
    Unit::Session(SessionUnit::Beat { id, span: secs(seconds) })
}

fn rescue(job: turnwise_core::ids::JobId, session: SessionId) -> Unit {
    Unit::Sweep(Sweep::Rescue(job, session))
}

fn bury(session: SessionId) -> Unit {
    Unit::Sweep(Sweep::Bury(session))
}

pub async fn a_beat_prolongs(world: World) {
    let id = world.session_for(secs(10)).await;
    for _ in 0..3 {
        world.advance(secs(9));
        world.ok(beat(id, 10)).await;
    }
    assert_eq!(sessions(&world).await[0].until, world.now() + secs(10));
    world.advance(secs(10) - millis(1));
    world.ok(beat(id, 10)).await;
    world.advance(secs(10));
    assert_eq!(world.refused(beat(id, 10)).await, Refusal::SessionEnded, "what has ended stays so");
    assert_eq!(world.refused(beat(SessionId::from_u64(77), 10)).await, Refusal::SessionEnded);
    assert!(matches!(world.refused(open_session(id, secs(10))).await, Refusal::Invalid(_)));
}

pub async fn a_job_is_rescued_only_after_the_end(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let session = world.session_for(secs(10)).await;
    let claimed = world.claim_as(job, session).await;
    world.advance(secs(10) - millis(1));
    assert!(matches!(world.refused(rescue(job, session)).await, Refusal::Invalid(_)));
    // Another session's end is no reason either.
    let other = world.session_for(secs(0)).await;
    assert!(matches!(world.refused(rescue(job, other)).await, Refusal::WrongState { .. }));
    world.advance(millis(1));
    assert_eq!(moved(world.ok(rescue(job, session)).await), State::Ready);
    let found = world.details(job).await.unwrap();
    assert_eq!((found.row.header.rescues, found.row.header.attempt), (1, 0));
    assert_eq!((found.errors[0].failure, found.errors[0].fence), (Failure::Lost, 1));
    assert!(matches!(world.refused(rescue(job, session)).await, Refusal::WrongState { .. }));
    // The old worker comes back from its pause: too late.
    world.claim(job).await;
    let late = super::world::settle(&claimed, crate::store::Verdict::Done(None), Default::default());
    assert!(world.refused(late).await.is_stale());
}

pub async fn a_late_worker_may_still_end_what_nobody_rescued(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let session = world.session_for(secs(10)).await;
    let claimed = world.claim_as(job, session).await;
    world.advance(secs(11));
    assert_eq!(world.done(&claimed).await, State::Done);
    assert!(matches!(world.refused(rescue(job, session)).await, Refusal::WrongState { .. }));
}

pub async fn a_poison_job_ends_dead(world: World) {
    world.kind_with("k", |kind| kind.rescues = 2).await;
    let job = world.submit_one(world.job("k")).await;
    for round in 1..=3 {
        let session = world.session_for(secs(10)).await;
        world.claim_as(job, session).await;
        world.advance(secs(10));
        let state = moved(world.ok(rescue(job, session)).await);
        assert_eq!(state, if round <= 2 { State::Ready } else { State::Dead });
    }
    assert_eq!(world.details(job).await.unwrap().errors.len(), 3);
    world.control(Control::Replay(job)).await;
    assert_eq!(world.header(job).await.rescues, 0, "a new life");
    world.dump().await.check();
}

pub async fn a_rescued_job_that_was_to_end_ends(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let session = world.session_for(secs(10)).await;
    world.claim_as(job, session).await;
    world.control(Control::Cancel(job)).await;
    world.advance(secs(10));
    assert_eq!(moved(world.ok(rescue(job, session)).await), State::Cancelled);
}

pub async fn a_session_is_buried_when_it_runs_nothing(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let session = world.session_for(secs(10)).await;
    world.claim_as(job, session).await;
    assert!(matches!(world.refused(bury(session)).await, Refusal::Invalid(_)), "it lives");
    world.advance(secs(10));
    // Or else nobody would find its jobs any more.
    assert!(matches!(world.refused(bury(session)).await, Refusal::Invalid(_)), "it runs something");
    let outcomes = world.commit(vec![rescue(job, session), bury(session), bury(session)]).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(sessions(&world).await, []);
    assert_eq!(ends(&world).await, [(session, true)]);
}

async fn ends(world: &World) -> Vec<(SessionId, bool)> {
    let events = events_of(world.store()).await.into_iter();
    let ends = events.filter_map(|(_, _, event)| match event {
        Event::SessionEnded { session, died } => Some((session, died)),
        _ => None,
    });
    ends.collect()
}

pub async fn a_closed_session_has_not_died(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let session = world.session().await;
    world.claim_as(job, session).await;
    let close = || Unit::Session(SessionUnit::Close { id: session });
    world.ok(close()).await;
    world.ok(close()).await;
    assert_eq!(world.refused(beat(session, 10)).await, Refusal::SessionEnded);
    // What it still ran can be rescued at once.
    assert_eq!(moved(world.ok(rescue(job, session)).await), State::Ready);
    world.ok(bury(session)).await;
    assert_eq!(ends(&world).await, [(session, false)]);
    world.ok(Unit::Session(SessionUnit::Close { id: SessionId::from_u64(5) })).await;
}

pub async fn numbers_differ(world: World) {
    // One that stays, while as many come and go as there are numbers.
    let mut numbers = BTreeSet::new();
    let first = SessionId::from_u64(1);
    let Receipt::Numbered(kept) = world.ok(open_session(first, secs(1_000))).await else {
        panic!("a number")
    };
    for id in 2..u64::from(NODE_NUMBERS) + 10 {
        let id = SessionId::from_u64(id);
        let units = vec![open_session(id, secs(10)), Unit::Session(SessionUnit::Close { id }), bury(id)];
        let mut outcomes = world.commit(units).await;
        let Ok(Receipt::Numbered(number)) = outcomes.swap_remove(0) else { panic!("a number") };
        assert!(number < NODE_NUMBERS && number != kept, "{id} has the number of one that lives");
        numbers.insert(number);
    }
    assert_eq!(numbers.len(), usize::from(NODE_NUMBERS) - 1, "all the others come round");
}

pub async fn there_are_only_so_many_numbers(world: World) {
    let open = |id| open_session(SessionId::from_u64(id), secs(10));
    let outcomes = world.commit((1..=u64::from(NODE_NUMBERS)).map(open).collect()).await;
    let numbers: BTreeSet<u16> = outcomes
        .into_iter()
        .map(|outcome| match outcome {
            Ok(Receipt::Numbered(number)) => number,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(numbers.len(), usize::from(NODE_NUMBERS));
    assert!(matches!(world.refused(open(5_000)).await, Refusal::TooLarge { .. }));
    world.advance(secs(10));
    world.ok(bury(SessionId::from_u64(7))).await;
    world.ok(open(5_000)).await;
}

pub async fn numbers_go_on_after_reopen(mut world: World) {
    let Receipt::Numbered(one) = world.ok(open_session(SessionId::from_u64(1), secs(10))).await else {
        panic!()
    };
    world.advance(secs(10));
    world.ok(bury(SessionId::from_u64(1))).await;
    world.reopen();
    let Receipt::Numbered(two) = world.ok(open_session(SessionId::from_u64(2), secs(10))).await else {
        panic!()
    };
    assert_ne!(one, two, "ids made with the first number may still be under way");
}

pub async fn what_a_node_does_is_known_until_it_is_buried(mut world: World) {
    let open = |id, roles| open_session_as(SessionId::from_u64(id), roles, secs(10));
    let api = Roles { api: true, ..Roles::NONE };
    let both = Roles { api: false, ..Roles::default() };
    let Receipt::Numbered(one) = world.ok(open(1, api)).await else { panic!("a number") };
    let Receipt::Numbered(two) = world.ok(open(2, both)).await else { panic!("a number") };
    // Neither an opening that is refused nor a beat changes it.
    world.refused(open(1, both)).await;
    world.ok(beat(SessionId::from_u64(2), 20)).await;
    world.reopen();
    assert_eq!(roles(&world).await, BTreeMap::from([(one, api), (two, both)]));
    world.advance(secs(10));
    assert_eq!(roles(&world).await.len(), 2, "it is known as long as its session is");
    world.ok(bury(SessionId::from_u64(1))).await;
    assert_eq!(roles(&world).await, BTreeMap::from([(two, both)]));
}

async fn roles(world: &World) -> BTreeMap<u16, Roles> {
    match world.read(Read::Roles).await {
        Found::Roles(roles) => roles,
        other => panic!("roles were asked for: {other:?}"),
    }
}
