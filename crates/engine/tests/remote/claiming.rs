//! What a worker outside gets: only what it asks for, in fair turns, within every limit.

use futures_util::FutureExt;
use serde_json::{Value, json};
use turnwise::{Config, Engine, Kind, Raw, RemoteOptions, Retry, State, limits, secs};

use crate::world::{World, claim_one, done, is_stale, name, waits, work};

#[tokio::test]
async fn nothing_is_claimed_that_nobody_waits_for() {
    let world = World::new().await;
    let worker = world.worker(2).await;
    drop(waits(&worker, 2));
    let jobs = world.submit([work(1), work(2), work(3)]).await;
    world.settle().await;
    for &job in &jobs {
        assert_eq!(world.job(job).await.state, State::Ready);
    }
    let first = claim_one(&worker).await;
    world.settle().await;
    assert_eq!(world.job(jobs[1]).await.state, State::Ready, "one was asked for");
    let second = claim_one(&worker).await;
    let mut third = waits(&worker, 1);
    world.settle().await;
    assert!((&mut third).now_or_never().is_none(), "both slots are taken");
    assert_eq!(world.job(jobs[2]).await.state, State::Ready);
    done(&worker, &first).await;
    assert_eq!(third.await.unwrap()[0].id, jobs[2]);
    done(&worker, &second).await;
    world.stop().await;
}

#[tokio::test]
async fn a_claim_that_is_given_up_loses_nothing() {
    let world = World::new().await;
    let worker = world.worker(1).await;
    let claiming = waits(&worker, 1);
    let job = world.submit_one().await;
    // It was claimed for somebody who has gone: it is there for the next.
    world.until(job, State::Running).await;
    world.settle().await;
    drop(claiming);
    let claimed = claim_one(&worker).await;
    assert_eq!((claimed.id, claimed.fence), (job, 1));
    done(&worker, &claimed).await;
    // If there is no next, it goes back.
    let claiming = waits(&worker, 1);
    let job = world.submit_one().await;
    world.until(job, State::Running).await;
    world.settle().await;
    drop(claiming);
    world.test.time.advance(limits::REMOTE_PATIENCE);
    let view = world.until(job, State::Ready).await;
    assert_eq!((view.attempt, view.errors.len()), (0, 0));
    world.settle().await;
    assert_eq!(world.job(job).await.state, State::Ready, "and stays there until it is asked for");
    assert_eq!(claim_one(&worker).await.fence, 2);
    world.stop().await;
}

#[tokio::test]
async fn a_job_whose_handing_over_was_lost_is_given_back() {
    let world = World::new().await;
    let worker = world.worker(3).await;
    let jobs = world.submit([work(1), work(2)]).await;
    let first = claim_one(&worker).await;
    assert_eq!(claim_one(&worker).await.id, jobs[1], "an answer that never arrives");
    assert_eq!(worker.keep(&[first.id]).unwrap(), 1);
    let second = claim_one(&worker).await;
    assert_eq!((second.id, second.fence, second.attempt), (jobs[1], 2, 1));
    assert!(is_stale(&worker.answer(jobs[1], 1, Ok(Value::Null)).await));
    assert_eq!(worker.keep(&jobs).unwrap(), 0);
    done(&worker, &first).await;
    done(&worker, &second).await;
    world.stop().await;
}

#[tokio::test]
async fn owners_take_turns_and_a_lane_stays_in_order() {
    let world = World::new().await;
    let worker = world.worker(1).await;
    let of = |owner: &'static str| (0..4).map(move |n| work(n).owner(owner));
    world.submit(of("acme")).await;
    world.submit(of("zeta")).await;
    let mut owners = Vec::new();
    for _ in 0..8 {
        let job = claim_one(&worker).await;
        owners.push(job.owner.to_string());
        done(&worker, &job).await;
    }
    let turns = owners.chunks(2).all(|pair| pair[0] != pair[1]);
    assert!(turns, "{owners:?}");
    let worker = world.worker(4).await;
    let lane = world.submit((0..3).map(|n| work(n).lane("orders"))).await;
    for (place, job) in lane.iter().enumerate() {
        let jobs = worker.claim(4).await.unwrap();
        assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [*job]);
        for &later in &lane[place + 1..] {
            assert_eq!(world.job(later).await.state, State::Waiting);
        }
        done(&worker, &jobs[0]).await;
    }
    world.stop().await;
}

#[tokio::test]
async fn a_declared_kind_keeps_its_rules_and_its_cap_holds() {
    let world = World::new().await;
    let rules = |kind: &mut Kind| {
        (kind.cap, kind.retry) = (Some(1), Retry::fixed(secs(3)).attempts(9));
        (kind.pool, kind.rescues, kind.sensitive) = (name("shared"), 7, vec!["n".into()]);
    };
    world.declare(rules).await;
    let before = world.test.engine.kinds().await.unwrap();
    let worker = world.worker_of(&["work", "new"], 4).await;
    let after = world.test.engine.kinds().await.unwrap();
    assert!(before.iter().all(|kind| after.contains(kind)), "{after:?}");
    assert!(after.iter().any(|kind| **kind == Kind::new(name("new"))), "the other has the usual rules");
    let jobs = world.submit([work(1), work(2)]).await;
    let first = worker.claim(4).await.unwrap();
    assert_eq!((first.len(), first[0].attempts), (1, 9));
    assert_eq!(first[0].payload["n"], 1, "a worker has the sensitive fields too");
    assert!(!format!("{first:?}").contains("\"n\""), "but does not print them");
    let mut second = waits(&worker, 4);
    world.settle().await;
    assert!((&mut second).now_or_never().is_none());
    assert_eq!(world.job(jobs[1]).await.state, State::Ready, "the cap holds");
    done(&worker, &first[0]).await;
    assert_eq!(second.await.unwrap()[0].id, jobs[1]);
    world.stop().await;
}

#[tokio::test]
async fn kinds_in_different_pools_share_the_slots() {
    let world = World::new().await;
    let worker = world.worker_of(&["work", "other"], 2).await;
    world.submit((0..2).map(work)).await;
    let held = worker.claim(2).await.unwrap();
    assert_eq!(held.len(), 2);
    let others = world.submit((0..2).map(|n| Raw::job("other", json!(n)))).await;
    let mut claiming = waits(&worker, 2);
    world.settle().await;
    assert!((&mut claiming).now_or_never().is_none(), "both slots are taken");
    assert_eq!(world.job(others[0]).await.state, State::Ready);
    done(&worker, &held[0]).await;
    let next = claiming.await.unwrap();
    assert_eq!(next.iter().map(|job| job.id).collect::<Vec<_>>(), others[..1], "one slot is free");
    world.settle().await;
    assert_eq!(world.job(others[1]).await.state, State::Ready);
    done(&worker, &held[1]).await;
    assert_eq!(worker.claim(2).await.unwrap()[0].id, others[1]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_claimed_together_is_handed_out_together() {
    let world = World::new().await;
    let worker = world.worker(8).await;
    for _ in 0..50 {
        world.submit((0..8).map(work)).await;
        let jobs = worker.claim(8).await.unwrap();
        assert_eq!(jobs.len(), 8);
        for job in &jobs {
            done(&worker, job).await;
        }
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_workers_on_the_machines_clock_do_everything_once() {
    let data = tempfile::tempdir().unwrap();
    let engine = Engine::open(Config::embedded(data.path())).await.unwrap();
    let running = engine.start().await.unwrap();
    let mut workers = Vec::new();
    for number in 0..4 {
        let (name, kinds) = (format!("py-{number}"), vec!["work".to_owned()]);
        workers.push(
            engine.remote(RemoteOptions { name, kinds, slots: 4, ..Default::default() }).await.unwrap(),
        );
    }
    let accepted = engine.submit_raw((0..400).map(work).collect()).await.unwrap();
    let working = workers.iter().cloned().map(|worker| {
        tokio::spawn(async move {
            while let Ok(jobs) = worker.claim(4).await {
                for job in jobs {
                    done(&worker, &job).await;
                }
            }
        })
    });
    let working: Vec<_> = working.collect();
    engine.drain().await.unwrap();
    for worker in &workers {
        worker.leave().await.unwrap();
    }
    for task in working {
        task.await.unwrap();
    }
    for job in accepted {
        let view = engine.job(job.id).await.unwrap().unwrap();
        assert_eq!((view.state, view.attempt, view.errors.len()), (State::Done, 1, 0));
    }
    running.stop().await;
    engine.close().await;
}
