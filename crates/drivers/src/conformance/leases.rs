//! The rules of the lease contract.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Duration;

use turnwise_core::ids::SessionId;
use turnwise_core::lease::Lease;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::{millis, secs};

use crate::leases::{LeaseError, Leases};
use crate::store::{Roles, SessionUnit, Store, Unit, commit_one};

/// Leases to be tested, over a store whose clock the test moves.
pub trait LeasesFactory: Sized + Send {
    /// Leases that nobody holds, and no sessions.
    fn fresh() -> impl Future<Output = Self> + Send;

    /// The leases.
    fn leases(&self) -> &dyn Leases;

    /// The store that judges; sessions are opened here.
    fn store(&self) -> &dyn Store;

    /// Lets time pass on the clock that judges.
    fn advance(&self, span: Duration) -> impl Future<Output = ()> + Send;

    /// Stops everything and starts it again.
    fn restart(&mut self) -> impl Future<Output = ()> + Send;
}

/// Makes one test for each rule of the lease contract. Takes a [`LeasesFactory`]; give each its own module.
#[macro_export]
macro_rules! leases_conformance {
    ($factory:ty) => {
        $crate::leases_conformance! { $factory:
            one_current_term
            terms_only_grow
            an_ended_lease_is_not_renewed
            a_released_lease_is_free_at_once
            an_older_term_is_refused
            members_are_the_living
        }
    };
    ($factory:ty: $($rule:ident)*) => {
        $(
            #[tokio::test]
            async fn $rule() {
                $crate::conformance::leases::$rule::<$factory>().await;
            }
        )*
    };
}

const SPAN: Duration = secs(10);
const MOMENT: Duration = millis(1);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn leader() -> Name {
    name("leader")
}

async fn acquire(leases: &dyn Leases, holder: &str) -> Result<Lease, LeaseError> {
    leases.acquire(&leader(), &name(holder), SPAN).await
}

fn is_held<T>(answer: &Result<T, LeaseError>, by: &str) -> bool {
    matches!(answer, Err(LeaseError::Refused(Refusal::LeaseHeld { holder, .. })) if *holder == name(by))
}

fn is_stale<T>(answer: &Result<T, LeaseError>) -> bool {
    matches!(answer, Err(LeaseError::Refused(Refusal::StaleTerm(lease))) if *lease == leader())
}

/// While somebody holds a lease nobody else gets it, up to the last moment and over a restart; other leases
/// are free.
pub async fn one_current_term<F: LeasesFactory>() {
    let mut factory = F::fresh().await;
    let first = acquire(factory.leases(), "a").await.unwrap();
    assert_eq!((&first.name, &first.holder), (&leader(), &name("a")));
    assert!(is_held(&acquire(factory.leases(), "b").await, "a"));
    assert!(factory.leases().acquire(&name("other"), &name("b"), SPAN).await.is_ok());

    factory.advance(SPAN - MOMENT).await;
    assert!(is_held(&acquire(factory.leases(), "b").await, "a"));
    let renewed = factory.leases().renew(&leader(), first.term, SPAN).await.unwrap();
    assert_eq!((renewed.term, renewed.until), (first.term, first.until + (SPAN - MOMENT)));
    factory.advance(SPAN - MOMENT).await;
    factory.restart().await;
    assert!(is_held(&acquire(factory.leases(), "b").await, "a"));
    factory.advance(MOMENT).await;
    assert_eq!(acquire(factory.leases(), "b").await.unwrap().holder, name("b"));
    assert!(is_held(&acquire(factory.leases(), "a").await, "b"));
}

/// Every holding has a greater term than all before it: after release, after expiry, over a restart, and for
/// a new life of the same holder.
pub async fn terms_only_grow<F: LeasesFactory>() {
    let mut factory = F::fresh().await;
    let mut terms = vec![acquire(factory.leases(), "a").await.unwrap().term];
    terms.push(acquire(factory.leases(), "a").await.unwrap().term);
    factory.leases().release(&leader(), terms[1]).await.unwrap();
    terms.push(acquire(factory.leases(), "b").await.unwrap().term);
    factory.advance(SPAN).await;
    terms.push(acquire(factory.leases(), "c").await.unwrap().term);
    factory.leases().release(&leader(), terms[3]).await.unwrap();
    factory.restart().await;
    terms.push(acquire(factory.leases(), "c").await.unwrap().term);
    factory.advance(SPAN + SPAN).await;
    factory.restart().await;
    terms.push(acquire(factory.leases(), "a").await.unwrap().term);
    assert!(terms.windows(2).all(|pair| pair[0] < pair[1]), "{terms:?}");
}

/// At its end a lease is over, even if nobody else wanted it, and renewing in time moves the end.
pub async fn an_ended_lease_is_not_renewed<F: LeasesFactory>() {
    let factory = F::fresh().await;
    let leases = factory.leases();
    assert!(is_stale(&leases.renew(&leader(), 1, SPAN).await), "nobody ever had it");
    let lease = acquire(leases, "a").await.unwrap();
    factory.advance(SPAN - MOMENT).await;
    leases.renew(&leader(), lease.term, SPAN).await.unwrap();
    factory.advance(SPAN - MOMENT).await;
    leases.renew(&leader(), lease.term, SPAN).await.unwrap();
    factory.advance(SPAN).await;
    assert!(is_stale(&leases.renew(&leader(), lease.term, SPAN).await));
    assert!(is_stale(&leases.release(&leader(), lease.term).await));
    let next = acquire(leases, "b").await.unwrap();
    assert!(next.term > lease.term);
}

/// Whoever comes next need not wait for the end of a lease that was given back.
pub async fn a_released_lease_is_free_at_once<F: LeasesFactory>() {
    let factory = F::fresh().await;
    let leases = factory.leases();
    let lease = acquire(leases, "a").await.unwrap();
    leases.release(&leader(), lease.term).await.unwrap();
    assert!(is_stale(&leases.renew(&leader(), lease.term, SPAN).await), "what was given back is over");
    let next = acquire(leases, "b").await.unwrap();
    assert!(next.term > lease.term && next.holder == name("b"));
}

/// An older term neither renews nor releases, and leaves the current one as it is. A term that was never
/// issued is refused as well.
pub async fn an_older_term_is_refused<F: LeasesFactory>() {
    let factory = F::fresh().await;
    let leases = factory.leases();
    let old = acquire(leases, "a").await.unwrap();
    let current = acquire(leases, "a").await.unwrap();
    for term in [old.term, current.term + 1, 0] {
        assert!(is_stale(&leases.renew(&leader(), term, SPAN + SPAN).await), "term {term}");
        assert!(is_stale(&leases.release(&leader(), term).await), "term {term}");
    }
    assert!(is_held(&acquire(leases, "b").await, "a"), "a stale release frees nothing");
    factory.advance(SPAN - MOMENT).await;
    leases.renew(&leader(), current.term, SPAN).await.unwrap();
    factory.advance(SPAN).await;
    assert!(acquire(leases, "b").await.is_ok(), "a stale renewal adds nothing");
}

/// A session is a member from its opening until it closes or misses its beat, judged by the store's clock.
pub async fn members_are_the_living<F: LeasesFactory>() {
    let mut factory = F::fresh().await;
    assert_eq!(members(&factory).await, BTreeSet::new());
    for number in 1..=3 {
        let node = name(&format!("node-{number}"));
        let (pools, kinds) = (BTreeMap::new(), BTreeSet::new());
        let open = SessionUnit::Open {
            id: SessionId::from_u64(number),
            node,
            pools,
            kinds,
            roles: Roles::default(),
            span: SPAN,
        };
        session(&factory, open).await;
    }
    assert_eq!(members(&factory).await, BTreeSet::from([1, 2, 3]));
    session(&factory, SessionUnit::Close { id: SessionId::from_u64(2) }).await;
    assert_eq!(members(&factory).await, BTreeSet::from([1, 3]));
    factory.advance(SPAN - MOMENT).await;
    session(&factory, SessionUnit::Beat { id: SessionId::from_u64(3), span: SPAN }).await;
    factory.restart().await;
    assert_eq!(members(&factory).await, BTreeSet::from([1, 3]));
    factory.advance(MOMENT).await;
    assert_eq!(members(&factory).await, BTreeSet::from([3]), "one has missed its beat");
}

async fn session<F: LeasesFactory>(factory: &F, unit: SessionUnit) {
    commit_one(factory.store(), Unit::Session(unit)).await.unwrap().unwrap();
}

async fn members<F: LeasesFactory>(factory: &F) -> BTreeSet<u64> {
    let members = factory.leases().members().await.unwrap();
    members.iter().map(|session| session.id.as_u64()).collect()
}
