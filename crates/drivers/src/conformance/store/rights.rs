//! Leases, as the store's own units.

use turnwise_core::event::Event;
use turnwise_core::lease::Lease;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::{millis, secs};

use super::dump::events_of;
use super::world::{World, name};
use crate::store::{LeaseUnit, Receipt, Unit};

fn acquire(holder: &str) -> Unit {
    Unit::Lease(LeaseUnit::Acquire { name: name("right"), holder: name(holder), span: secs(10) })
}

fn renew(term: u64) -> Unit {
    Unit::Lease(LeaseUnit::Renew { name: name("right"), term, span: secs(10) })
}

fn release(term: u64) -> Unit {
    Unit::Lease(LeaseUnit::Release { name: name("right"), term })
}

async fn leased(world: &World, unit: Unit) -> Lease {
    match world.ok(unit).await {
        Receipt::Leased(lease) => lease,
        other => panic!("a lease was asked for: {other:?}"),
    }
}

pub async fn one_holder_at_a_time(world: World) {
    let outcomes = world.commit(vec![acquire("a"), acquire("b")]).await;
    assert!(outcomes[0].is_ok());
    let until = world.now() + secs(10);
    let held = Refusal::LeaseHeld { name: name("right"), holder: name("a"), until };
    assert_eq!(outcomes[1].as_ref().unwrap_err(), &held);
    world.advance(secs(10) - millis(1));
    assert_eq!(world.refused(acquire("b")).await, held);
    world.advance(millis(1));
    assert_eq!(leased(&world, acquire("b")).await.term, 2);
}

pub async fn terms_only_grow_whatever_happens(mut world: World) {
    let mut last = 0;
    for round in 0..6 {
        let term = leased(&world, acquire("a")).await.term;
        assert!(term > last);
        last = term;
        match round % 3 {
            0 => drop(world.ok(release(term)).await),
            1 => world.advance(secs(100)),
            _ => drop(world.reopen()),
        }
    }
}

pub async fn only_the_current_term_is_renewed(world: World) {
    let stale = Refusal::StaleTerm(name("right"));
    assert_eq!(world.refused(renew(1)).await, stale);
    leased(&world, acquire("a")).await;
    world.advance(secs(9));
    assert_eq!(leased(&world, renew(1)).await.until, world.now() + secs(10));
    for term in [0, 2] {
        assert_eq!(world.refused(renew(term)).await, stale);
        assert_eq!(world.refused(release(term)).await, stale);
    }
    world.advance(secs(10));
    assert_eq!(world.refused(renew(1)).await, stale, "what has ended is not renewed");
    assert_eq!(world.refused(release(1)).await, stale);
    // A new life of the same holder makes the old one stale.
    leased(&world, acquire("a")).await;
    leased(&world, acquire("a")).await;
    assert_eq!(world.refused(renew(2)).await, stale);
    leased(&world, renew(3)).await;
}

pub async fn what_is_given_back_is_free_at_once(world: World) {
    leased(&world, acquire("a")).await;
    let outcomes = world.commit(vec![release(1), acquire("b"), renew(1)]).await;
    assert!(outcomes[0].is_ok() && outcomes[1].is_ok() && outcomes[2].is_err());
}

pub async fn taking_a_lease_is_told(world: World) {
    leased(&world, acquire("a")).await;
    leased(&world, renew(1)).await;
    let told: Vec<Event> = events_of(world.store()).await.into_iter().map(|(_, _, event)| event).collect();
    assert_eq!(told, [Event::LeaseTaken { name: name("right"), term: 1 }]);
}
