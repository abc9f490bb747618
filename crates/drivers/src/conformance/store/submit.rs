//! Work comes: what is accepted, what is refused, and what is folded.

use std::time::Duration;

use turnwise_core::batch::{Phase, When};
use turnwise_core::ids::BatchId;
use turnwise_core::job::State;
use turnwise_core::limits;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::secs;
use turnwise_core::unique::{Unique, Window};

use super::world::{World, jobs_of, name};
use crate::store::{Control, Found, NewBatch, NewJob, Read, Start, Submission, Sweep, Unit};

fn until_settled(key: &str) -> Vec<Unique> {
    vec![Unique { key: name(key), window: Window::UntilSettled }]
}

fn for_a_time(key: &str, span: Duration) -> Vec<Unique> {
    vec![Unique { key: name(key), window: Window::For(span) }]
}

pub async fn a_new_job_is_there_as_it_was_sent(world: World) {
    world.kind("k").await;
    let sent = NewJob { limit_key: Some(name("key")), attempts: Some(7), ..world.job("k") };
    let job = world.submit_one(sent.clone()).await;
    let found = world.details(job).await.unwrap();
    let (header, line) = (found.row.header, found.row.line);
    assert_eq!((header.state, header.version, header.attempt, header.attempts), (State::Ready, 1, 0, 7));
    assert_eq!((header.submitted, header.at, header.session), (world.now(), world.now(), None));
    assert_eq!((&line.kind, &line.owner, line.batch), (&sent.kind, &sent.owner, None));
    assert_eq!((&line.limit_key, line.priority), (&sent.limit_key, sent.priority));
    assert_eq!(found.payload, sent.payload);
    assert_eq!((found.result, found.errors.len(), found.steps.len()), (None, 0, 0));
}

pub async fn an_unknown_kind_is_refused(world: World) {
    let refusal = world.refused(Unit::Submit(jobs_of([world.job("nobody's")]))).await;
    assert_eq!(refusal, Refusal::UnknownKind(name("nobody's")));
}

pub async fn payloads_have_a_limit(world: World) {
    world.kind("k").await;
    let with = |bytes: usize| NewJob { payload: vec![1; bytes].into(), ..world.job("k") };
    let largest = world.submit_one(with(limits::PAYLOAD_BYTES)).await;
    assert_eq!(world.details(largest).await.unwrap().payload.len(), limits::PAYLOAD_BYTES);
    let refusal = world.refused(Unit::Submit(jobs_of([with(limits::PAYLOAD_BYTES + 1)]))).await;
    assert!(matches!(refusal, Refusal::TooLarge { .. }));
    let full = limits::SUBMIT_BYTES / limits::PAYLOAD_BYTES;
    let many = jobs_of((0..full).map(|_| with(limits::PAYLOAD_BYTES)).chain([with(1)]));
    assert!(matches!(world.refused(Unit::Submit(many)).await, Refusal::TooLarge { .. }));
    let many = jobs_of((0..=limits::JOBS_PER_SUBMIT).map(|_| with(0)));
    assert!(matches!(world.refused(Unit::Submit(many)).await, Refusal::TooLarge { .. }));
}

pub async fn absurd_delays_are_refused(world: World) {
    world.kind("k").await;
    let starts = [
        Start::After(limits::DELAY + secs(1)),
        Start::After(Duration::MAX),
        Start::At(world.now() + limits::DELAY + secs(1)),
        Start::At(turnwise_core::time::Time::MAX),
    ];
    for start in starts {
        let refusal = world.refused(Unit::Submit(jobs_of([NewJob { start, ..world.job("k") }]))).await;
        assert!(matches!(refusal, Refusal::Invalid(_)), "{start:?}");
    }
    let longest = world.submit_one(NewJob { start: Start::After(limits::DELAY), ..world.job("k") }).await;
    assert_eq!(world.header(longest).await.at, world.now() + limits::DELAY);
}

pub async fn a_delayed_job_waits_for_its_time(world: World) {
    world.kind("k").await;
    let delayed = |start| NewJob { start, ..world.job("k") };
    let later = world.submit_one(delayed(Start::After(secs(5)))).await;
    let past = world.submit_one(delayed(Start::At(world.now() - secs(5)))).await;
    let now = world.submit_one(delayed(Start::After(Duration::ZERO))).await;
    use State::{Ready, Scheduled};
    assert_eq!(world.states(&[later, past, now]).await, [Scheduled, Ready, Ready]);
    assert!(matches!(world.claim_refused(later).await, Refusal::NotDue(_)));
    world.advance(secs(5));
    // Claimable without another write, and nothing is left behind in the counts.
    world.run(later).await;
    world.dump().await.check();
}

pub async fn a_quota_is_kept_inside_one_bulk_too(world: World) {
    world.kind("k").await;
    let quota = |quota| Control::SetOwner { owner: name("acme"), weight: None, quota: Some(quota) };
    world.control(quota(3)).await;
    let first = world.submit([world.job("k"), world.job("k")]).await[0];
    let refusal = world.refused(Unit::Submit(jobs_of([world.job("k"), world.job("k")]))).await;
    assert_eq!(refusal, Refusal::Quota { owner: name("acme"), backlog: 3, quota: 3 });
    world.submit_one(world.job("k")).await;
    world.refused(Unit::Submit(jobs_of([world.job("k")]))).await;
    // Others have their own, and an end makes room.
    world.submit_one(NewJob { owner: name("bolt"), ..world.job("k") }).await;
    world.run(first).await;
    world.submit_one(world.job("k")).await;
    world.control(quota(u64::MAX)).await;
    world.submit((0..10).map(|_| world.job("k"))).await;
}

pub async fn a_job_that_is_there_needs_no_quota(world: World) {
    world.kind("k").await;
    let job = world.job("k");
    world.submit_one(job.clone()).await;
    world.control(Control::SetOwner { owner: name("acme"), weight: None, quota: Some(0) }).await;
    assert!(world.send(jobs_of([job])).await[0].existing);
}

pub async fn an_id_stands_for_one_job(world: World) {
    world.kind("k").await;
    let job = world.job("k");
    world.submit_one(job.clone()).await;
    let other = NewJob { owner: name("bolt"), ..job.clone() };
    assert_eq!(world.refused(Unit::Submit(jobs_of([other.clone()]))).await, Refusal::IdTaken(job.id));
    // Inside one submission, and inside one commit, too.
    let double = NewJob { owner: name("bolt"), ..world.job("k") };
    let other = NewJob { owner: name("crow"), ..double.clone() };
    world.refused(Unit::Submit(jobs_of([double.clone(), other.clone()]))).await;
    let outcomes =
        world.commit(vec![Unit::Submit(jobs_of([double.clone()])), Unit::Submit(jobs_of([other]))]).await;
    assert_eq!(outcomes[1].as_ref().unwrap_err(), &Refusal::IdTaken(double.id));
    let twice = world.job("k");
    let answers = world.send(jobs_of([twice.clone(), twice.clone()])).await;
    assert_eq!([answers[0].existing, answers[1].existing], [false, true]);
    world.dump().await.check();
}

pub async fn a_unique_key_answers_with_the_same_job(world: World) {
    world.kind("k").await;
    world.kind("other").await;
    let with = |unique| NewJob { unique, ..world.job("k") };
    let job = world.submit_one(with(for_a_time("key", secs(60)))).await;
    let again = world.send(jobs_of([with(for_a_time("key", secs(60))), with(until_settled("key"))])).await;
    assert!(again.iter().all(|answer| answer.existing && answer.id == job));
    // Another key, another kind.
    let fresh = NewJob { unique: for_a_time("key", secs(60)), ..world.job("other") };
    let answers = world.send(jobs_of([with(for_a_time("else", secs(60))), fresh])).await;
    assert!(answers.iter().all(|answer| !answer.existing));
    assert_eq!(world.owner("acme").await.account.backlog, 3);
}

pub async fn a_unique_window_runs_from_submit(world: World) {
    world.kind("k").await;
    let with = || NewJob { unique: for_a_time("key", secs(60)), ..world.job("k") };
    let job = world.submit_one(with()).await;
    // It outlives the job, even one that is forgotten, and nothing prolongs it.
    world.run(job).await;
    world.sweep(Sweep::Forget(vec![job])).await;
    world.advance(secs(59));
    world.sweep(Sweep::Expire).await;
    assert_eq!(world.submit_one(with()).await, job);
    world.advance(secs(1));
    let next = world.submit_one(with()).await;
    assert_ne!(next, job);
    assert_eq!(world.submit_one(with()).await, next);
    for odd in [Duration::ZERO, limits::UNIQUE_WINDOW + secs(1)] {
        let job = NewJob { unique: for_a_time("odd", odd), ..world.job("k") };
        assert!(matches!(world.refused(Unit::Submit(jobs_of([job]))).await, Refusal::Invalid(_)));
    }
}

pub async fn every_key_of_a_job_answers_for_it(world: World) {
    world.kind("k").await;
    let keys = |id: &str, content: &str| [for_a_time(id, secs(60)), until_settled(content)].concat();
    let with = |unique| NewJob { unique, ..world.job("k") };
    let holder = async |key: &str| match world.read(Read::Taken(name("k"), name(key))).await {
        Found::Taken(holder) => holder,
        other => panic!("{other:?}"),
    };
    let first = world.submit_one(with(keys("id 1", "same"))).await;
    assert_eq!([holder("id 1").await, holder("same").await], [Some(first); 2]);
    // Another id with the same content is the same job, and stays so when the content is free again.
    assert_eq!(world.submit_one(with(keys("id 2", "same"))).await, first);
    world.run(first).await;
    assert_eq!([holder("same").await, holder("id 2").await], [None, Some(first)]);
    assert_eq!(world.submit_one(with(keys("id 2", "other"))).await, first);
    assert_eq!(holder("other").await, None, "a key that ends with a job is never another job's");
    let second = world.submit_one(with(keys("id 3", "same"))).await;
    assert_ne!(second, first);
    // The first key decides.
    assert_eq!(world.submit_one(with(keys("id 1", "same"))).await, first);
    world.advance(secs(60));
    assert_eq!([holder("id 1").await, holder("id 2").await, holder("id 3").await], [None; 3]);
    assert_eq!(world.submit_one(with(keys("id 1", "same"))).await, second);
    let many = (0..=limits::UNIQUE_KEYS).flat_map(|key| for_a_time(&key.to_string(), secs(1)));
    for odd in [keys("a", "a"), [until_settled("a"), until_settled("b")].concat(), many.collect()] {
        let refused = world.refused(Unit::Submit(jobs_of([with(odd)]))).await;
        assert!(matches!(refused, Refusal::Invalid(_) | Refusal::TooLarge { .. }), "{refused}");
    }
    world.dump().await.check();
}

pub async fn doubles_inside_one_bulk_are_folded(world: World) {
    world.kind("k").await;
    let with = |unique| NewJob { unique, lane: None, ..world.job("k") };
    let jobs = [
        with(until_settled("a")),
        with(until_settled("a")),
        with(for_a_time("b", secs(9))),
        with(until_settled("b")),
    ];
    let answers = world.send(jobs_of(jobs.clone())).await;
    let ids: Vec<_> = answers.iter().map(|answer| answer.id).collect();
    assert_eq!(ids, [jobs[0].id, jobs[0].id, jobs[2].id, jobs[2].id]);
    let existing: Vec<_> = answers.iter().map(|answer| answer.existing).collect();
    assert_eq!(existing, [false, true, false, true]);
    // And inside one commit.
    let [one, two] = [with(until_settled("c")), with(until_settled("c"))];
    world.commit(vec![Unit::Submit(jobs_of([one])), Unit::Submit(jobs_of([two]))]).await;
    assert_eq!(world.dump().await.jobs.len(), 3);
    world.dump().await.check();
}

pub async fn a_key_until_settled_is_free_at_the_end(world: World) {
    world.kind("k").await;
    let with = || NewJob { unique: until_settled("key"), ..world.job("k") };
    let mut last = world.submit_one(with()).await;
    for end in [State::Done, State::Dead, State::Cancelled] {
        world.advance(secs(1_000_000));
        assert_eq!(world.submit_one(with()).await, last, "no time frees it");
        match end {
            State::Done => world.run(last).await,
            State::Dead => world.kill(last).await,
            _ => drop(world.control(Control::Cancel(last)).await),
        }
        let next = world.submit_one(with()).await;
        assert_ne!(next, last);
        last = next;
    }
    // A replayed job does not have the key any more: another one does, and keeps it.
    let dead = world.submit_one(NewJob { unique: until_settled("two"), ..world.job("k") }).await;
    world.kill(dead).await;
    let holder = world.submit_one(NewJob { unique: until_settled("two"), ..world.job("k") }).await;
    world.control(Control::Replay(dead)).await;
    world.run(dead).await;
    assert_eq!(world.submit_one(NewJob { unique: until_settled("two"), ..world.job("k") }).await, holder);
}

pub async fn a_sealed_batch_takes_no_more(world: World) {
    world.kind("k").await;
    let (batch, jobs, _) = world.batch_of("k", 2, None).await;
    let more = || NewJob { batch: Some(batch), ..world.job("k") };
    assert_eq!(world.refused(Unit::Submit(jobs_of([more()]))).await, Refusal::Sealed(batch));
    world.run(jobs[0]).await;
    world.run(jobs[1]).await;
    assert_eq!(world.refused(Unit::Submit(jobs_of([more()]))).await, Refusal::Sealed(batch));
    let unknown = BatchId::from_u64(5);
    let lost = NewJob { batch: Some(unknown), ..world.job("k") };
    assert_eq!(world.refused(Unit::Submit(jobs_of([lost]))).await, Refusal::UnknownBatch(unknown));
    let seal = Submission { seal: vec![unknown], ..Submission::default() };
    assert_eq!(world.refused(Unit::Submit(seal)).await, Refusal::UnknownBatch(unknown));
}

pub async fn an_empty_batch_is_refused(world: World) {
    world.kind("k").await;
    let (open, _) = world.new_batch("k", Some(When::Settled));
    let id = open.id;
    let empty = Submission { open: vec![open.clone()], seal: vec![id], ..Submission::default() };
    assert_eq!(world.refused(Unit::Submit(empty)).await, Refusal::EmptyBatch(id));
    // Open and empty is fine; a job that is folded into another batch's job does not fill it.
    world.send(Submission { open: vec![open], ..Submission::default() }).await;
    world.submit_one(NewJob { unique: until_settled("key"), ..world.job("k") }).await;
    let folded = NewJob { batch: Some(id), unique: until_settled("key"), ..world.job("k") };
    let seal = Submission { seal: vec![id], ..jobs_of([folded]) };
    assert_eq!(world.refused(Unit::Submit(seal)).await, Refusal::EmptyBatch(id));
    assert_eq!(world.batch(id).await.phase, Phase::Open);
}

pub async fn a_batch_id_stands_for_one_batch(world: World) {
    world.kind("k").await;
    let (open, then) = world.new_batch("k", Some(When::Settled));
    world.send(Submission { open: vec![open.clone()], ..Submission::default() }).await;
    let other_then = world.new_batch("k", Some(When::Settled)).0.then;
    let others = [
        NewBatch { name: name("other"), ..open.clone() },
        NewBatch { owner: name("bolt"), ..open.clone() },
        NewBatch { then: None, ..open.clone() },
        NewBatch { then: other_then, ..open.clone() },
    ];
    for other in others {
        let again = Submission { open: vec![other], ..Submission::default() };
        assert!(matches!(world.refused(Unit::Submit(again)).await, Refusal::Invalid(_)));
    }
    // The continuation is not one of the counted jobs, and does not stand for one.
    let counted = NewJob { batch: Some(open.id), id: then.unwrap(), ..world.job("k") };
    assert_eq!(world.refused(Unit::Submit(jobs_of([counted]))).await, Refusal::IdTaken(then.unwrap()));
}

pub async fn a_continuation_is_nobody_elses_job(world: World) {
    world.kind("k").await;
    let taken = world.submit_one(NewJob { unique: until_settled("key"), ..world.job("k") }).await;
    let (mut open, _) = world.new_batch("k", Some(When::Settled));
    if let Some(then) = &mut open.then {
        then.job.unique = until_settled("key");
    }
    let submission = Submission { open: vec![open.clone()], ..Submission::default() };
    assert!(matches!(world.refused(Unit::Submit(submission)).await, Refusal::Invalid(_)));
    world.run(taken).await;
    if let Some(then) = &mut open.then {
        then.job.batch = Some(BatchId::from_u64(4));
    }
    let submission = Submission { open: vec![open.clone()], ..Submission::default() };
    assert!(matches!(world.refused(Unit::Submit(submission)).await, Refusal::Invalid(_)));
    // Left open, it is its own batch's.
    if let Some(then) = &mut open.then {
        then.job.batch = None;
    }
    let then = world.send(Submission { open: vec![open.clone()], ..Submission::default() }).await[0].id;
    assert_eq!(world.details(then).await.unwrap().row.line.batch, Some(open.id));
}

pub async fn attempts_are_at_least_one(world: World) {
    world.kind("k").await;
    let with = |attempts| NewJob { attempts, ..world.job("k") };
    let jobs = world.submit([with(None), with(Some(0)), with(Some(u16::MAX))]).await;
    let mut attempts = Vec::new();
    for job in jobs {
        attempts.push(world.header(job).await.attempts);
    }
    assert_eq!(attempts, [3, 1, limits::ATTEMPTS]);
}
