//! What an operator does and sees: pauses, alarms, secrets, redaction, events, restarts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use turnwise::testing::TestEngine;
use turnwise::{
    Config, Context, Cursor, Engine, Error, Event, Filter, Job, Kind, LeaseNews, LeaseTerms, LimitsChange,
    Name, Outcome, Refusal, State, Stop, Target, hours, millis, minutes, secs,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Login {
    user: String,
    password: String,
}

impl Job for Login {
    const KIND: &'static str = "login";
    type Output = ();
    const SENSITIVE: &'static [&'static str] = &["password"];
}

fn login(user: &str) -> Login {
    Login { user: user.into(), password: "PAYLOAD-CANARY".into() }
}

#[tokio::test]
async fn sensitive_fields_are_never_shown() {
    let test = TestEngine::new().await.unwrap();
    test.engine.worker(|job: Login, _ctx: Context| async move {
        assert_eq!(job.password, "PAYLOAD-CANARY", "the handler has it");
        Err::<(), _>(Stop::never("refused"))
    });
    let running = test.engine.start().await.unwrap();
    let job = test.engine.submit(login("ada")).await.unwrap();
    let view = test.engine.wait(job).await.unwrap();
    assert_eq!(view.payload["user"], "ada");
    let shown = format!("{view:?} {}", serde_json::to_string(&view).unwrap());
    assert!(!shown.contains("PAYLOAD-CANARY"), "{shown}");
    running.stop().await;
}

/// Everything that is in the files of a directory.
fn bytes_in(directory: &std::path::Path) -> Vec<u8> {
    let files = std::fs::read_dir(directory).unwrap();
    files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[tokio::test]
async fn a_secret_is_nowhere_to_be_found() {
    const CANARY: &[u8] = b"VAULT-CANARY-5c1f";
    let data = tempfile::tempdir().unwrap();
    let engine = Engine::open(Config::embedded(data.path())).await.unwrap();
    engine.vault().put("smtp", CANARY, hours(1)).await.unwrap();
    let revealed = engine.vault().get("smtp").await.unwrap().unwrap();
    assert_eq!(revealed.expose(), CANARY);
    assert!(!format!("{revealed:?}").contains("CANARY"));
    assert!(!contains(&bytes_in(data.path()), CANARY), "not in the database, nor in its log");
    let (events, _) = engine.events(Cursor::START, 1_000).await.unwrap();
    assert!(!format!("{events:?}").contains("CANARY"));
    engine.vault().wipe("smtp").await.unwrap();
    assert!(engine.vault().get("smtp").await.unwrap().is_none());
}

#[tokio::test]
async fn a_secret_ends_with_its_time_and_needs_its_key() {
    let test = TestEngine::new().await.unwrap();
    test.engine.vault().put("token", b"x", minutes(5)).await.unwrap();
    test.time.advance(minutes(5));
    assert!(test.engine.vault().get("token").await.unwrap().is_none());
    assert!(test.engine.vault().put("token", b"x", secs(0)).await.is_err());
    assert!(test.engine.vault().put("token", &vec![0; 1 << 20], secs(9)).await.is_err());
}

#[tokio::test]
async fn an_undeclared_kind_is_refused_and_an_unserved_one_waits() {
    let test = TestEngine::new().await.unwrap();
    let refused = test.engine.submit(login("ada")).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::UnknownKind(_)))), "{refused:?}");
    test.engine.declare(Kind::new(Name::new("login").unwrap())).await.unwrap();
    let job = test.engine.submit(login("ada")).await.unwrap();
    let running = test.engine.start().await.unwrap();
    // The alarm is raised by the sweep, which looks at once when it begins to lead.
    while test.engine.alarms().is_empty() {
        test.time.advance(secs(30));
        tokio::task::yield_now().await;
    }
    assert_eq!(test.engine.alarms(), [Name::new("login").unwrap()]);
    assert_eq!(test.engine.job(job).await.unwrap().unwrap().state, State::Ready);
    running.stop().await;
}

#[tokio::test]
async fn nothing_starts_while_paused() {
    let test = TestEngine::new().await.unwrap();
    let started = Arc::new(AtomicU32::new(0));
    let counted = started.clone();
    test.engine.worker(move |_job: Login, _ctx: Context| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Outcome::Ok(()))
    });
    let name = |text: &str| Name::new(text).unwrap();
    for target in [Target::Owner(name("acme")), Target::Kind(name("login"))] {
        test.engine.submit(login("declares the kind").owner("other")).await.unwrap();
        test.engine.pause(target.clone()).await.unwrap();
        let running = test.engine.start().await.unwrap();
        let before = started.load(Ordering::SeqCst);
        let job = test.engine.submit(login("ada").owner("acme")).await.unwrap();
        if matches!(target, Target::Owner(_)) {
            // The other owner's job runs: the pause holds only what it names.
            while started.load(Ordering::SeqCst) == before {
                test.engine.next_commit().await;
            }
        }
        assert_eq!(test.engine.job(job).await.unwrap().unwrap().state, State::Ready);
        test.engine.resume(target).await.unwrap();
        test.engine.wait(job).await.unwrap();
        test.idle().await.unwrap();
        running.stop().await;
    }
    assert!(test.engine.pause(Target::Kind(name("nobody"))).await.is_err());
}

#[tokio::test]
async fn events_are_read_by_cursor_without_a_gap() {
    let test = TestEngine::new().await.unwrap();
    test.engine.worker(|_job: Login, _ctx: Context| async { Ok(()) });
    let running = test.engine.start().await.unwrap();
    let jobs = test.engine.submit_all((0..50).map(|n| login(&n.to_string()))).await.unwrap();
    test.idle().await.unwrap();
    let (mut cursor, mut done) = (Cursor::START, Vec::new());
    loop {
        let (events, next) = test.engine.events(cursor, 7).await.unwrap();
        if events.is_empty() {
            break;
        }
        assert!(next > cursor);
        cursor = next;
        for view in events {
            if let Event::Job { job, state: State::Done, .. } = view.event {
                done.push(job);
            }
        }
    }
    done.sort_unstable();
    assert_eq!(done, jobs, "each end once");
    running.stop().await;
}

#[tokio::test]
async fn accepted_work_outlives_the_process_and_lost_runs_are_rescued() {
    let data = tempfile::tempdir().unwrap();
    let begun = Arc::new(Notify::new());
    let jobs;
    {
        let engine = Engine::open(Config::embedded(data.path())).await.unwrap();
        let tell = begun.clone();
        engine.worker(move |_job: Login, _ctx: Context| {
            let tell = tell.clone();
            async move {
                tell.notify_one();
                std::future::pending::<Outcome>().await
            }
        });
        let running = engine.start().await.unwrap();
        jobs = engine.submit_all((0..5).map(|n| login(&n.to_string()))).await.unwrap();
        begun.notified().await;
        // What a crash at this moment would leave behind: nothing is given back, nothing is closed.
        copy_files(data.path(), &data.path().join("copy"));
        drop(running);
    }
    let engine = Engine::open(Config::embedded(data.path().join("copy"))).await.unwrap();
    engine.worker(|_job: Login, _ctx: Context| async { Ok(()) });
    let running = engine.start().await.unwrap();
    for (place, job) in jobs.iter().enumerate() {
        let job = engine.wait(*job).await.unwrap();
        assert_eq!(job.state, State::Done);
        assert_eq!(job.errors.len(), usize::from(place == 0), "the lost run is in its history");
    }
    running.stop().await;
}

/// What a crash leaves behind: the files as they are, without the lock.
fn copy_files(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    for name in ["turnwise.db", "turnwise.db-wal", "vault.key"] {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

#[tokio::test]
async fn a_kind_bound_to_a_lease_runs_under_its_term() {
    let test = TestEngine::new().await.unwrap();
    test.engine.worker(|_job: Login, _ctx: Context| async { Ok(()) }).lease("generate");
    let running = test.engine.start().await.unwrap();
    let job = test.engine.submit(login("ada")).await.unwrap();
    while !test.engine.job(job).await.unwrap().unwrap().state.is_final() {
        // A claim that came before the lease rests for a moment.
        test.time.advance(secs(1));
        tokio::task::yield_now().await;
    }
    assert_eq!(test.engine.wait(job).await.unwrap().state, State::Done);
    running.stop().await;
}

#[tokio::test]
async fn bad_input_is_refused_with_a_reason() {
    let test = TestEngine::new().await.unwrap();
    test.engine.worker(|_job: Login, _ctx: Context| async { Ok(()) });
    let long = "x".repeat(10_000);
    let bad = [
        test.engine.submit(login("a").lane(long.clone())).await,
        test.engine.submit(login("a").owner("")).await,
        test.engine.submit(login("a").owner("a\nb")).await,
        test.engine.submit(login("a").delay(hours(24 * 400))).await,
        test.engine.submit(login("a").priority(10)).await,
        test.engine.submit(login("a").unique_for("k", secs(0))).await,
        test.engine.submit(login(&"x".repeat(2 << 20))).await,
    ];
    for refused in bad {
        let text = refused.unwrap_err().to_string();
        assert!(text.len() > 20, "it says what to do: {text}");
    }
    let empty = test.engine.batch::<Login>("none").submit().await.unwrap_err();
    assert!(empty.to_string().contains("at least one"), "{empty}");
    for line in ["", "* * *", "61 * * * *", "0 0 31 2 *", "hello"] {
        let refused = test.engine.schedule("bad", line).job(login("a")).await;
        assert!(matches!(refused, Err(Error::Config(_))), "{line}: {refused:?}");
    }
    let zone = test.engine.schedule("bad", "0 3 * * *").zone("Mars/Olympus").job(login("a")).await;
    assert!(zone.unwrap_err().to_string().contains("Mars/Olympus"));
}

#[tokio::test]
async fn a_closed_engine_leaves_its_directory_free() {
    let data = tempfile::tempdir().unwrap();
    for life in 0..3 {
        let engine = Engine::open(Config::embedded(data.path())).await.unwrap();
        assert_eq!(engine.backlog().await.unwrap(), life);
        engine.declare(Kind::new(Name::new(Login::KIND).unwrap())).await.unwrap();
        engine.submit(login("ada")).await.unwrap();
        engine.close().await;
        let log = data.path().join("turnwise.db-wal");
        assert!(!log.exists(), "everything is in the database itself");
    }
}

#[tokio::test]
async fn a_test_does_not_wait_for_what_is_paused() {
    let test = TestEngine::new().await.unwrap();
    test.engine.worker(|_job: Login, _ctx: Context| async { Ok(()) });
    let running = test.engine.start().await.unwrap();
    let kind = Target::Kind(Name::new(Login::KIND).unwrap());
    test.engine.pause(kind.clone()).await.unwrap();
    let job = test.engine.submit(login("ada")).await.unwrap();
    test.idle().await.unwrap();
    assert_eq!(test.engine.job(job).await.unwrap().unwrap().state, State::Ready);
    test.engine.resume(kind).await.unwrap();
    test.idle().await.unwrap();
    assert_eq!(test.engine.job(job).await.unwrap().unwrap().state, State::Done);
    running.stop().await;
}

#[tokio::test]
async fn a_drained_node_ends_what_it_runs_and_begins_nothing() {
    let test = TestEngine::with(Config::memory().node("east-1")).await.unwrap();
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let closed = gate.clone();
    test.engine
        .worker(move |_job: Login, _ctx: Context| {
            let gate = closed.clone();
            async move {
                gate.acquire().await.map_err(|_| Stop::Cancel)?.forget();
                Ok(())
            }
        })
        .slots(2)
        .lease("gatekeeper");
    let running = test.engine.start().await.unwrap();
    let first = test.engine.submit(login("ada")).await.unwrap();
    while test.engine.job(first).await.unwrap().unwrap().state != State::Running {
        test.engine.next_commit().await;
    }
    test.engine.drain_node("east-1").await.unwrap();
    let second = test.engine.submit(login("grace")).await.unwrap();
    gate.add_permits(2);
    test.idle().await.unwrap();
    let states = async || {
        let of = async |job| test.engine.job(job).await.unwrap().unwrap().state;
        (of(first).await, of(second).await)
    };
    assert_eq!(states().await, (State::Done, State::Ready), "there is a free slot, and nobody may take it");
    let seen = test.engine.nodes().await.unwrap();
    assert!(seen.nodes[0].drained && seen.nodes[0].running == 0);
    // Another could have the right that its kind is bound to.
    let held = async || {
        let seen = test.engine.nodes().await.unwrap();
        seen.leases.iter().any(|view| *view.lease.name == *"gatekeeper" && view.held)
    };
    // Time goes on no faster than what happens in it.
    let later = async || {
        test.time.advance(secs(1));
        let _ = tokio::time::timeout(millis(20), test.engine.next_commit()).await;
    };
    while held().await {
        later().await;
    }
    test.engine.resume_node("east-1").await.unwrap();
    while states().await.1 != State::Done {
        later().await;
    }
    running.stop().await;
}

/// Keeps what it is told.
#[derive(Default)]
struct Spans(std::sync::Mutex<Vec<turnwise::Span>>);

impl turnwise::Tracer for Spans {
    fn wants(&self, _: turnwise::TraceId) -> bool {
        true
    }

    fn ended(&self, span: turnwise::Span) {
        self.0.lock().unwrap().push(span);
    }
}

#[tokio::test]
async fn a_trace_tells_the_life_of_a_job_and_leads_to_what_it_submitted() {
    let spans = Arc::new(Spans::default());
    let test = TestEngine::with(Config::memory().tracer(spans.clone())).await.unwrap();
    test.engine
        .worker(|job: Login, ctx: Context| async move {
            if job.user != "ada" {
                return Ok(());
            }
            ctx.step("greet", || async { Ok(()) }).await?;
            ctx.submit(login("grace"))?;
            if ctx.attempt() == 1 { Err(Stop::retry("once more")) } else { Ok(()) }
        })
        .retry(turnwise::Retry::fixed(secs(1)));
    let running = test.engine.start().await.unwrap();
    let unique = || login("ada").unique_for("one", hours(1));
    let job = test.engine.submit(unique()).await.unwrap();
    assert_eq!(test.engine.submit(unique()).await.unwrap(), job);
    test.idle().await.unwrap();
    test.advance(secs(1)).await.unwrap();
    running.stop().await;
    let spans = spans.0.lock().unwrap();
    let of = |id| spans.iter().filter(move |span| span.job == id);
    let told: Vec<_> = of(job).map(|span| (&*span.name, span.attempt, span.error.as_deref())).collect();
    let life = [
        ("submit", 0, None),
        ("step greet", 1, None),
        ("wait", 1, None),
        ("run", 1, Some("once more")),
        ("settle", 1, None),
        ("run", 2, None),
        ("settle", 2, None),
    ];
    assert_eq!(told, life, "once submitted, and the step is not done again");
    let root = of(job).next().unwrap();
    assert_eq!(root.parent, None);
    let run = |attempt| of(job).find(|span| span.name == "run" && span.attempt == attempt).unwrap();
    let step = of(job).find(|span| span.name == "step greet").unwrap();
    assert_eq!((run(1).parent, step.parent), (Some(root.place.span), Some(run(1).place.span)));
    let second = spans.iter().find(|span| span.name == "submit" && span.job != job).unwrap();
    assert_eq!(second.link, Some(run(2).place), "a failed run has submitted nothing");
}

#[tokio::test]
async fn caps_and_rates_change_while_it_runs() {
    let test = TestEngine::new().await.unwrap();
    let most = Arc::new(AtomicU32::new(0));
    let (gate, peak) = (Arc::new(tokio::sync::Semaphore::new(0)), most.clone());
    let at_work = Arc::new(AtomicU32::new(0));
    let closed = gate.clone();
    test.engine
        .worker(move |_job: Login, _ctx: Context| {
            let (gate, peak, at_work) = (closed.clone(), peak.clone(), at_work.clone());
            async move {
                peak.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                gate.acquire().await.map_err(|_| Stop::Cancel)?.forget();
                at_work.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        })
        .slots(8)
        .cap(8);
    let running = test.engine.start().await.unwrap();
    test.engine
        .set_limits("login", LimitsChange { cap: Some(Some(2)), ..LimitsChange::default() })
        .await
        .unwrap();
    test.engine.submit_all((0..8).map(|n| login(&n.to_string()))).await.unwrap();
    gate.add_permits(8);
    test.engine.drain().await.unwrap();
    assert!(most.load(Ordering::SeqCst) <= 2, "the cap of the operator holds, not the worker's");
    let kinds = test.engine.kinds().await.unwrap();
    assert_eq!((kinds[0].cap, kinds[0].sensitive.len()), (Some(2), 1), "the rest is as it was");
    let unknown = test.engine.set_limits("nobody", LimitsChange::default()).await;
    assert!(matches!(unknown, Err(Error::Refused(Refusal::UnknownKind(_)))), "{unknown:?}");
    running.stop().await;
}

#[tokio::test]
async fn who_did_what_is_in_the_event_stream() {
    let test = TestEngine::new().await.unwrap();
    let (_, before) = test.engine.events(Cursor::START, 1_000).await.unwrap();
    test.engine.audit("first", "cancelled job 01JDXN2Q8K4RT").await.unwrap();
    let (events, _) = test.engine.events(before, 10).await.unwrap();
    let by = Name::new("first").unwrap();
    assert_eq!(events[0].event, Event::Audit { by, what: "cancelled job 01JDXN2Q8K4RT".into() });
    assert!(test.engine.audit("", "nobody did").await.is_err());
}

#[tokio::test]
async fn rows_and_events_tell_kind_owner_and_lane() {
    let test = TestEngine::new().await.unwrap();
    test.engine.declare(Kind::new(Name::new("login").unwrap())).await.unwrap();
    let job = test.engine.submit(login("ada").owner("acme").lane("north")).await.unwrap();
    test.engine.submit(login("bob").owner("acme")).await.unwrap();
    let north = Filter { lane: Some(Name::new("north").unwrap()), limit: 10, ..Filter::default() };
    let (rows, next) = test.engine.jobs(north).await.unwrap();
    assert_eq!((rows.len(), rows[0].header.id, next), (1, job, None));
    let lane = rows[0].header.place.unwrap().lane;
    for _ in 0..2 {
        let names = test.engine.lane_names(&[lane, lane]).await.unwrap();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), [(lane, Name::new("north").unwrap())]);
    }
    let (events, _) = test.engine.events(Cursor::START, 1_000).await.unwrap();
    let line = events.iter().find_map(|view| match view.event {
        Event::Job { job: known, line, .. } if known == job => Some(line),
        _ => None,
    });
    let lines = test.engine.lines(&[line.unwrap()]).await.unwrap();
    let key = &lines[&line.unwrap()];
    assert_eq!((key.kind.as_str(), key.owner.as_str(), key.batch), ("login", "acme", None));
}

#[tokio::test]
async fn a_lease_is_held_as_its_kind_says_and_its_news_are_told() {
    let test = TestEngine::new().await.unwrap();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = heard.clone();
    let terms = LeaseTerms::new(secs(3), secs(1)).listener(move |news| {
        told.lock().unwrap().push(match news {
            LeaseNews::Acquired { lease, term, span, .. } => format!("{lease} {term} {}", span.as_secs()),
            LeaseNews::Lost { lease, term, why, .. } => format!("{lease} {term} {why}"),
            _ => "something else".into(),
        });
    });
    test.engine.worker(|_job: Login, _ctx: Context| async { Ok(()) }).lease_for("generate", terms);
    let running = test.engine.start().await.unwrap();
    while heard.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let lease =
        test.engine.nodes().await.unwrap().leases.into_iter().find(|seen| &*seen.lease.name == "generate");
    let now = test.engine.time().await.unwrap();
    assert!(lease.unwrap().lease.until <= now + secs(3));
    running.stop().await;
    assert_eq!(*heard.lock().unwrap(), ["generate 1 3", "generate 1 released"]);
}

#[tokio::test]
async fn what_has_ended_can_be_forgotten_before_its_time() {
    let test = TestEngine::new().await.unwrap();
    test.engine.worker(|_job: Login, _ctx: Context| async { Ok(()) });
    let running = test.engine.start().await.unwrap();
    let done = test.engine.submit(login("ada")).await.unwrap();
    test.engine.wait(done).await.unwrap();
    running.stop().await;
    let waits = test.engine.submit(login("ada")).await.unwrap();
    assert_eq!(test.engine.forget(vec![done, waits]).await.unwrap(), 1);
    assert!(test.engine.job(done).await.unwrap().is_none());
    assert!(test.engine.job(waits).await.unwrap().is_some());
}
