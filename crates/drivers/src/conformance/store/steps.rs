//! Steps and progress: durable checkpoints of a running job.

use turnwise_core::job::State;
use turnwise_core::limits;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::secs;

use super::world::{World, jobs_of, name};
use crate::store::{
    Blob, Claimed, Control, Found, NewJob, Progress, Read, StepDone, Submission, Unit, Verdict,
};

fn step(claimed: &Claimed, step: &str, output: &[u8], submission: Submission) -> Unit {
    let header = &claimed.header;
    let output: Blob = output.into();
    Unit::Step(StepDone { job: header.id, fence: header.fence, name: name(step), output, submission })
}

fn plain(claimed: &Claimed, name: &str) -> Unit {
    step(claimed, name, name.as_bytes(), Submission::default())
}

async fn steps_of(world: &World, claimed: &Claimed) -> Vec<(String, Vec<u8>)> {
    let Found::Steps(steps) = world.read(Read::Steps(claimed.header.id)).await else { panic!("steps") };
    assert_eq!(steps, world.details(claimed.header.id).await.unwrap().steps);
    steps.into_iter().map(|step| (step.name.to_string(), step.output.to_vec())).collect()
}

pub async fn steps_are_kept_in_the_order_they_ended(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let claimed = world.claim(job).await;
    world.commit(vec![plain(&claimed, "zoo"), plain(&claimed, "ape")]).await;
    world.ok(plain(&claimed, "cat")).await;
    let names: Vec<String> = steps_of(&world, &claimed).await.into_iter().map(|step| step.0).collect();
    assert_eq!(names, ["zoo", "ape", "cat"]);
    assert!(world.header(job).await.flags.steps);
}

pub async fn a_retry_resumes_after_them(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let claimed = world.claim(job).await;
    world.ok(step(&claimed, "first", &[4; 3_000], Submission::default())).await;
    world.fail(&claimed).await;
    world.advance(secs(10));
    let claimed = world.claim(job).await;
    assert!(claimed.header.flags.steps, "the worker is told to look");
    assert_eq!(steps_of(&world, &claimed).await, [("first".to_owned(), vec![4; 3_000])]);
    world.settle(&claimed, Verdict::Dead("no".into())).await;
    world.control(Control::Replay(job)).await;
    let claimed = world.claim(job).await;
    assert_eq!(steps_of(&world, &claimed).await.len(), 1, "a replay does, too");
}

pub async fn a_step_sent_again_is_the_same_step(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let claimed = world.claim(job).await;
    let child = world.job("k");
    let unit = step(&claimed, "s", b"one", jobs_of([child.clone()]));
    let outcomes = world.commit(vec![unit.clone(), unit.clone()]).await;
    assert!(outcomes.iter().all(Result::is_ok));
    let before = world.dump().await;
    before.check();
    world.ok(unit).await;
    // Another life of the handler may have come to another result: the first one stands.
    world.ok(step(&claimed, "s", b"two", jobs_of([world.job("k")]))).await;
    before.assert_same(&world.dump().await, "a step was sent again");
    assert_eq!(steps_of(&world, &claimed).await, [("s".to_owned(), b"one".to_vec())]);
    assert_eq!(world.state(child.id).await, State::Ready);
}

pub async fn a_refused_fan_out_refuses_the_step(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let claimed = world.claim(job).await;
    let bad = jobs_of([world.job("k"), world.job("nobody's")]);
    world.refused(step(&claimed, "s", b"one", bad)).await;
    assert_eq!(steps_of(&world, &claimed).await, []);
    world.ok(plain(&claimed, "s")).await;
}

pub async fn a_step_grows_its_own_sealed_batch(world: World) {
    world.kind("k").await;
    let (batch, jobs, _) = world.batch_of("k", 1, None).await;
    let claimed = world.claim(jobs[0]).await;
    let child = || NewJob { batch: Some(batch), ..world.job("k") };
    world.ok(step(&claimed, "s", b"", jobs_of([child(), child()]))).await;
    assert_eq!(world.batch(batch).await.total, 3);
    world.control(Control::CancelBatch(batch)).await;
    let refusal = world.refused(step(&claimed, "t", b"", jobs_of([child()]))).await;
    assert_eq!(refusal, Refusal::BatchCancelled(batch));
    world.dump().await.check();
}

pub async fn an_older_fence_makes_no_step(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let old = world.claim(job).await;
    world.settle(&old, Verdict::Released).await;
    assert!(world.refused(plain(&old, "s")).await.is_stale());
    let new = world.claim(job).await;
    assert!(world.refused(plain(&old, "s")).await.is_stale());
    world.ok(plain(&new, "s")).await;
    // Not even one that is there already.
    assert!(world.refused(plain(&old, "s")).await.is_stale());
}

pub async fn steps_have_limits(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let claimed = world.claim(job).await;
    let large = vec![0; limits::RESULT_BYTES + 1];
    let refusal = world.refused(step(&claimed, "large", &large, Submission::default())).await;
    assert!(matches!(refusal, Refusal::TooLarge { .. }));
    let many = (0..limits::STEPS_PER_JOB).map(|number| plain(&claimed, &format!("step {number}")));
    assert!(world.commit(many.collect()).await.iter().all(Result::is_ok));
    assert!(matches!(world.refused(plain(&claimed, "one more")).await, Refusal::TooLarge { .. }));
    world.ok(plain(&claimed, "step 5")).await;
}

pub async fn progress_is_what_was_said_last(world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let claimed = world.claim(job).await;
    let say = |fraction, note: &str| {
        let progress = Progress { fraction, note: note.into(), at: world.now() };
        Unit::Progress(job, claimed.header.fence, progress)
    };
    world.ok(say(0.25, "a quarter")).await;
    world.advance(secs(1));
    world.ok(say(0.5, "half")).await;
    let found = world.details(job).await.unwrap().progress.unwrap();
    assert_eq!((found.fraction, found.note.as_str(), found.at), (0.5, "half", world.now()));
    for odd in [f32::NAN, f32::INFINITY, -0.1, 1.1] {
        assert!(matches!(world.refused(say(odd, "odd")).await, Refusal::Invalid(_)));
    }
    let long = "x".repeat(limits::NOTE_BYTES + 1);
    assert!(matches!(world.refused(say(0.5, &long)).await, Refusal::TooLarge { .. }));
    world.ok(say(1.0, "nearly")).await;
    world.done(&claimed).await;
    assert!(world.refused(say(0.9, "late")).await.is_stale());
}
