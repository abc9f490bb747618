//! The life of a worker outside: it comes, goes silent, and leaves.

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::Value;
use turnwise::testing::ManualTime;
use turnwise::{Config, Engine, Recall, RecallReason, RemoteOptions, State, limits, millis, secs};

use crate::world::{SESSION, World, claim_one, done, is_stale, is_unknown, name, waits, work};

#[tokio::test]
async fn a_silent_worker_is_lost_and_its_jobs_are_rescued() {
    let world = World::new().await;
    world.declare(|kind| kind.rescues = 1).await;
    let job = world.submit_one().await;
    for life in 0..2 {
        let worker = world.worker(2).await;
        let claimed = claim_one(&worker).await;
        world.test.time.advance(SESSION - secs(1));
        worker.beat().unwrap();
        world.test.time.advance(SESSION - secs(1));
        world.settle().await;
        assert_eq!(world.job(job).await.state, State::Running, "it was heard in time");
        let claiming = waits(&worker, 1);
        world.test.time.advance(SESSION);
        let state = if life == 0 { State::Ready } else { State::Dead };
        let view = world.until(job, state).await;
        assert_eq!(view.errors.len(), life + 1, "the death is in its history");
        assert!(view.errors[life].error.contains("lost"), "{:?}", view.errors);
        assert_eq!(view.attempt, 0, "and burns no attempt");
        assert!(is_unknown(&claiming.await));
        assert!(is_unknown(&worker.answer(job, claimed.fence, Ok(Value::Null)).await));
        assert!(is_unknown(&worker.beat()));
        assert!(is_unknown(&worker.claim(1).await));
        assert!(is_unknown(&worker.leave().await));
        worker.gone().await;
    }
    let left = world.test.engine.nodes().await.unwrap();
    assert!(left.nodes.iter().all(|node| node.node.as_str() != "py"), "{left:?}");
    world.stop().await;
}

#[tokio::test]
async fn what_a_node_lost_while_it_was_held_up_is_recalled() {
    let time = Arc::new(ManualTime::default());
    let config = Config::memory().runtime(time.clone()).clock(time.clone());
    let engine = Engine::open(config).await.unwrap();
    let running = engine.start().await.unwrap();
    let kinds = vec!["work".to_owned()];
    let worker = engine.remote(RemoteOptions { kinds, slots: 2, ..RemoteOptions::default() }).await.unwrap();
    let job = engine.submit_raw(vec![work(0)]).await.unwrap()[0].id;
    let first = claim_one(&worker).await;
    // For longer than the session of a node, and not for as long as that of the program.
    time.advance(limits::SESSION + secs(1));
    let mut again = waits(&worker, 1);
    let again = loop {
        time.advance(millis(100));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        worker.beat().unwrap();
        if let Some(again) = (&mut again).now_or_never() {
            break again.unwrap().remove(0);
        }
        let recalls = worker.beat().unwrap();
        assert!(recalls.iter().all(|recall| recall.reason == RecallReason::Lost), "{recalls:?}");
    };
    assert_eq!((again.id, again.fence, again.attempt), (job, 2, 1));
    assert!(is_stale(&worker.answer(job, first.fence, Ok(Value::Null)).await));
    done(&worker, &again).await;
    let lost = Recall { job, fence: first.fence, reason: RecallReason::Lost };
    assert_eq!(worker.beat().unwrap(), [lost]);
    worker.leave().await.unwrap();
    running.stop().await;
}

#[tokio::test]
async fn a_farewell_burns_no_attempt() {
    let world = World::new().await;
    let worker = world.worker(2).await;
    let jobs = world.submit([work(1), work(2)]).await;
    assert_eq!(worker.claim(2).await.unwrap().len(), 2);
    let nodes = world.test.engine.nodes().await.unwrap().nodes;
    let node = nodes.iter().find(|node| node.node.as_str() == "py").unwrap();
    assert_eq!((&*node.roles, node.running, node.slots[&name("work")]), (&["worker"][..], 2, 2));
    worker.leave().await.unwrap();
    for job in jobs {
        let view = world.job(job).await;
        assert_eq!((view.state, view.attempt, view.errors.len()), (State::Ready, 0, 0));
    }
    let nodes = world.test.engine.nodes().await.unwrap().nodes;
    assert!(nodes.iter().all(|node| node.node.as_str() != "py"), "its session is closed at once");
    assert!(is_unknown(&worker.beat()));
    world.stop().await;
}

#[tokio::test]
async fn dropping_the_last_handle_is_a_farewell_too() {
    let world = World::new().await;
    let worker = world.worker(1).await;
    let job = world.submit_one().await;
    claim_one(&worker).await;
    drop(worker);
    let view = world.until(job, State::Ready).await;
    assert_eq!((view.attempt, view.errors.len()), (0, 0));
    world.stop().await;
}

#[tokio::test]
async fn a_worker_goes_with_its_host() {
    let world = World::new().await;
    let worker = world.worker(1).await;
    world.stop().await;
    worker.gone().await;
    assert!(is_unknown(&worker.beat()));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_a_reason() {
    let world = World::new().await;
    let kinds = || vec!["work".to_owned()];
    let bad = [
        RemoteOptions { kinds: Vec::new(), ..RemoteOptions::default() },
        RemoteOptions { kinds: vec![String::new()], ..RemoteOptions::default() },
        RemoteOptions { kinds: vec!["k".into(); limits::REMOTE_KINDS + 1], ..RemoteOptions::default() },
        RemoteOptions { kinds: kinds(), slots: 0, ..RemoteOptions::default() },
        RemoteOptions { kinds: kinds(), slots: limits::REMOTE_SLOTS + 1, ..RemoteOptions::default() },
        RemoteOptions { kinds: kinds(), session: secs(0), ..RemoteOptions::default() },
        RemoteOptions { kinds: kinds(), session: secs(301), ..RemoteOptions::default() },
        RemoteOptions { kinds: kinds(), name: "a\nb".into(), ..RemoteOptions::default() },
    ];
    for options in bad {
        let refused = world.test.engine.remote(options.clone()).await;
        assert!(
            refused.as_ref().is_err_and(|error| error.to_string().len() > 20),
            "{options:?}: {refused:?}"
        );
    }
    assert_eq!(world.test.engine.kinds().await.unwrap().len(), 0, "and nothing is left behind");
    world.stop().await;
}
