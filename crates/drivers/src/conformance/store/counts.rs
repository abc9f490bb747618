//! What people are shown is counted in the commits, and always equal to a recount.

use turnwise_core::batch::When;
use turnwise_core::job::State;
use turnwise_core::refusal::Refusal;
use turnwise_core::tally::Tally;
use turnwise_core::time::secs;

use super::world::{World, name};
use crate::store::{Control, Found, NewJob, Read, Start, Sweep, Unit, Verdict};

async fn tally(world: &World, owner: &str, kind: &str) -> Tally {
    let row = world.owner(owner).await;
    row.tallies.into_iter().find(|(known, _)| **known == *kind).map_or(Tally::default(), |(_, tally)| tally)
}

pub async fn every_state_is_counted(world: World) {
    world.kind("k").await;
    let (_, jobs, _) = world.batch_of("k", 6, Some(When::AllDone)).await;
    world.submit_one(NewJob { start: Start::After(secs(60)), ..world.job("k") }).await;
    world.run(jobs[0]).await;
    world.kill(jobs[1]).await;
    world.control(Control::Cancel(jobs[2])).await;
    world.claim(jobs[3]).await;
    world.fail(&world.claim(jobs[4]).await).await;
    let found = tally(&world, "acme", "k").await;
    for state in State::ALL {
        assert_eq!(found.of(state), 1, "{state}");
    }
    assert_eq!(world.owner("acme").await.account.backlog, 5);
    world.dump().await.check();
}

pub async fn counts_are_kept_apart(world: World) {
    world.kind("k").await;
    world.kind("other").await;
    let of = |kind: &str, owner: &str| NewJob { owner: name(owner), ..world.job(kind) };
    world.submit([of("k", "acme"), of("k", "bolt"), of("other", "bolt"), of("other", "bolt")]).await;
    assert_eq!(tally(&world, "acme", "k").await.of(State::Ready), 1);
    assert_eq!(tally(&world, "bolt", "k").await.of(State::Ready), 1);
    assert_eq!(tally(&world, "bolt", "other").await.of(State::Ready), 2);
    assert_eq!(tally(&world, "acme", "other").await, Tally::default());
    assert_eq!(world.owner("bolt").await.account.backlog, 3);
    let page = |after| Read::Owners { after, limit: 1 };
    let Found::Owners(first) = world.read(page(None)).await else { panic!("owners were asked for") };
    let Found::Owners(second) = world.read(page(Some(name("acme")))).await else { panic!("owners") };
    assert_eq!([&*first[0].owner, &*second[0].owner], ["acme", "bolt"]);
}

pub async fn totals_are_of_all_owners(mut world: World) {
    for kind in ["k", "other", "idle"] {
        world.kind(kind).await;
    }
    let of = |kind: &str, owner: &str| NewJob { owner: name(owner), ..world.job(kind) };
    let jobs = world.submit([of("k", "acme"), of("k", "bolt"), of("k", "crow"), of("other", "bolt")]).await;
    world.run(jobs[0]).await;
    world.kill(jobs[1]).await;
    world.reopen();
    let Found::Totals(totals) = world.read(Read::Totals).await else { panic!("totals were asked for") };
    let mut k = Tally::default();
    for state in [State::Done, State::Dead, State::Ready] {
        k.shift(None, Some(state));
    }
    let mut other = Tally::default();
    other.shift(None, Some(State::Ready));
    assert_eq!(totals, [(name("k"), k), (name("other"), other)].into());
}

pub async fn a_whole_life_leaves_the_right_counts(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.lane_job("k", "lane")).await;
    let verdicts = [
        Verdict::Released,
        Verdict::Snoozed(secs(1)),
        super::world::failed("no"),
        Verdict::Dead("no".into()),
    ];
    for verdict in verdicts {
        let claimed = world.claim(job).await;
        world.dump().await.check();
        world.settle(&claimed, verdict).await;
        world.dump().await.check();
        world.advance(secs(100));
        world.sweep(Sweep::Ripen(vec![job])).await;
        world.dump().await.check();
    }
    world.control(Control::Replay(job)).await;
    world.dump().await.check();
    world.control(Control::Cancel(job)).await;
    world.dump().await.check();
    assert_eq!(world.owner("acme").await.account.backlog, 0);
}

pub async fn what_was_done_stays_counted(world: World) {
    world.kind("k").await;
    let jobs = world.submit((0..3).map(|_| world.job("k"))).await;
    world.run(jobs[0]).await;
    world.kill(jobs[1]).await;
    world.control(Control::Cancel(jobs[2])).await;
    assert_eq!(world.sweep(Sweep::Forget(jobs)).await, 3);
    let found = tally(&world, "acme", "k").await;
    let kept = [State::Done, State::Dead, State::Cancelled].map(|state| found.of(state));
    assert_eq!(kept, [1, 0, 0], "dead letters are shown as what is there");
}

pub async fn an_owner_is_what_was_set(mut world: World) {
    world.kind("k").await;
    let set = |weight, quota| Control::SetOwner { owner: name("acme"), weight, quota };
    world.control(set(Some(5), None)).await;
    world.control(set(None, Some(70))).await;
    world.submit_one(world.job("k")).await;
    world.reopen();
    let account = world.owner("acme").await.account;
    assert_eq!((account.weight, account.quota, account.backlog), (5, 70, 1));
    for weight in [0, turnwise_core::limits::WEIGHT + 1] {
        let refusal = world.refused(Unit::Control(set(Some(weight), None))).await;
        assert!(matches!(refusal, Refusal::Invalid(_)));
    }
}
