//! What only a store in a file can get wrong: the file, the directory, the disk.
#![allow(clippy::unwrap_used, reason = "a test that cannot begin fails")]

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use turnwise_core::ids::JobId;
use turnwise_core::job::State;
use turnwise_drivers::conformance::store::world::{Factory, ManualClock, World, jobs_of, name};
use turnwise_drivers::sqlite::{SqliteOptions, SqliteStore};
use turnwise_drivers::store::{
    Control, Filter, NewJob, Progress, Secret, StoreError, Submission, Unit, Verdict,
};

fn open(directory: &Path, most_bytes: Option<u64>) -> Result<SqliteStore, StoreError> {
    let options = SqliteOptions { directory: directory.to_owned(), most_bytes };
    SqliteStore::open(&options, Arc::new(ManualClock::default()))
}

fn refused(directory: &Path) -> StoreError {
    match open(directory, None) {
        Ok(_) => panic!("{} must not be opened", directory.display()),
        Err(error) => error,
    }
}

fn database(directory: &Path) -> std::path::PathBuf {
    directory.join("turnwise.db")
}

/// A world in this directory.
fn world_in(directory: &Path) -> World {
    let (clock, directory) = (Arc::new(ManualClock::default()), directory.to_owned());
    World::new(clock.clone(), true, move || {
        let options = SqliteOptions { directory: directory.clone(), most_bytes: None };
        Arc::new(SqliteStore::open(&options, clock.clone()).unwrap())
    })
}

struct InTemporary;

impl Factory for InTemporary {
    async fn fresh() -> World {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        World::new(clock.clone(), true, move || {
            let options = SqliteOptions { directory: directory.path().to_owned(), most_bytes: None };
            Arc::new(SqliteStore::open(&options, clock.clone()).unwrap())
        })
    }
}

#[test]
fn a_second_process_is_told_that_it_is_locked() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path(), None).unwrap();
    let error = refused(directory.path());
    assert!(matches!(&error, StoreError::Locked(path) if *path == directory.path().display().to_string()));
    assert!(error.to_string().contains("stop that one first"));
    drop(first);
    open(directory.path(), None).unwrap();
}

#[test]
fn the_directory_is_made_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("a").join("b");
    let store = open(&inner, None).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o077;
    assert_eq!(mode(&inner), 0);
    for file in ["turnwise.db", "turnwise.db-wal", "turnwise.db-shm"] {
        assert_eq!(mode(&inner.join(file)), 0, "{file}");
    }
    drop(store);
}

#[test]
fn a_directory_that_cannot_be_is_said_so() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "not a directory").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = refused(&path);
        assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
        assert!(error.to_string().contains("Check that the directory exists"), "{error}");
    }
    // Root may write anywhere, so this part says nothing about root.
    if !rustix::process::geteuid().is_root() {
        use std::os::unix::fs::PermissionsExt;
        let locked = directory.path().join("locked");
        std::fs::create_dir(&locked).unwrap();
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o500)).unwrap();
        assert!(matches!(refused(&locked), StoreError::Unusable { .. }));
    }
}

#[test]
fn a_database_that_cannot_be_made_is_said_so() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(database(directory.path())).unwrap();
    let error = refused(directory.path());
    assert!(
        matches!(&error, StoreError::Unusable { path, .. } if path.ends_with("turnwise.db")),
        "{error:?}"
    );
}

#[test]
fn a_newer_schema_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path(), None).unwrap());
    let file = Connection::open(database(directory.path())).unwrap();
    file.pragma_update(None, "user_version", 99).unwrap();
    drop(file);
    let error = refused(directory.path());
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
    assert!(error.to_string().contains("upgrade Turnwise"));
}

#[test]
fn a_file_of_something_else_is_refused_and_kept() {
    for garbage in [b"this is my diary, not a database. ".repeat(500), vec![0xff; 8_192]] {
        let directory = tempfile::tempdir().unwrap();
        let path = database(directory.path());
        std::fs::write(&path, &garbage).unwrap();
        let error = refused(directory.path());
        assert!(matches!(error, StoreError::Broken(_)), "{error:?}");
        assert!(error.to_string().contains("damaged"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), garbage, "it is not ours to change");
    }
}

#[tokio::test]
async fn a_full_disk_changes_nothing_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let limit = 1 << 20;
    let clock = Arc::new(ManualClock::default());
    let open_with = |most_bytes| {
        let options = SqliteOptions { directory: directory.path().to_owned(), most_bytes };
        Arc::new(SqliteStore::open(&options, clock.clone()).unwrap())
    };
    let small = open_with(Some(limit));
    let world = World::new(clock.clone(), false, move || small.clone());
    world.kind("k").await;
    let mut accepted: Vec<JobId> = Vec::new();
    let full = loop {
        let job = NewJob { payload: vec![1; 20_000].into(), ..world.lane_job("k", "lane") };
        let before = world.dump().await;
        match world.store().commit(vec![Unit::Submit(jobs_of([job.clone()]))]).await {
            Ok(outcomes) => {
                outcomes.into_iter().next().unwrap().unwrap();
                accepted.push(job.id);
            }
            Err(error) => {
                assert!(matches!(error, StoreError::Full) && error.is_passing(), "{error:?}");
                before.assert_same(&world.dump().await, "the disk was full");
                break job;
            }
        }
        assert!(accepted.len() < 1_000, "the limit is not kept");
    };
    assert!(accepted.len() > 10);
    // What needs no room goes on.
    world.run(accepted[0]).await;
    let before = world.dump().await;
    before.check();
    drop(world);
    let large = open_with(None);
    let world = World::new(clock.clone(), false, move || large.clone());
    before.assert_same(&world.dump().await, "there is room again");
    assert_eq!(world.states(&accepted[1..2]).await, [State::Ready]);
    world.submit_one(full).await;
    world.run(accepted[1]).await;
    world.dump().await.check();
}

#[tokio::test]
async fn one_that_does_not_fit_does_not_spoil_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path(), Some(1 << 20)).unwrap());
    let world = World::new(Arc::new(ManualClock::default()), false, move || store.clone());
    world.kind("k").await;
    let huge = NewJob { payload: vec![1; 1 << 20].into(), ..world.job("k") };
    let error = world.store().commit(vec![Unit::Submit(jobs_of([huge.clone()]))]).await.unwrap_err();
    assert!(matches!(error, StoreError::Full), "{error:?}");
    assert!(world.details(huge.id).await.is_none());
    let job = world.submit_one(world.job("k")).await;
    world.run(job).await;
    // The id that did not fit is free, and its payload is the one that is sent now.
    let smaller = NewJob { payload: vec![2; 10].into(), ..huge };
    world.submit_one(smaller.clone()).await;
    assert_eq!(world.claim(smaller.id).await.payload, smaller.payload);
    world.dump().await.check();
}

#[tokio::test]
async fn payloads_around_the_inline_limit_come_back() {
    let mut world = InTemporary::fresh().await;
    world.kind("k").await;
    let sizes = [0, 1, 1_023, 1_024, 1_025, 4_096, 100_000];
    let jobs: Vec<NewJob> = sizes
        .iter()
        .map(|&size| {
            let bytes: Vec<u8> = (0..size).map(|place| (place % 251) as u8).collect();
            NewJob { payload: bytes.into(), ..world.job("k") }
        })
        .collect();
    world.submit(jobs.clone()).await;
    for round in 0..2 {
        for job in &jobs {
            assert_eq!(world.details(job.id).await.unwrap().payload, job.payload);
            let claimed = world.claim(job.id).await;
            assert_eq!(claimed.payload, job.payload, "round {round}");
            world.settle(&claimed, Verdict::Released).await;
        }
        world.reopen();
    }
    // Claimed and settled in turn, so that no look at one is taken for a look at another.
    let claims = [world.claim(jobs[3].id).await, world.claim(jobs[4].id).await];
    world.control(Control::Cancel(jobs[5].id)).await;
    assert_eq!(claims.map(|claimed| claimed.payload.len()), [1_024, 1_025]);
}

/// What the store must have refused; here somebody writes it by hand.
#[tokio::test]
async fn the_database_refuses_illegal_states_too() {
    let directory = tempfile::tempdir().unwrap();
    let world = world_in(directory.path());
    world.kind("k").await;
    world
        .submit([world.lane_job("k", "lane"), world.lane_job("k", "lane"), world.lane_job("k", "lane")])
        .await;
    world.batch_of("k", 2, None).await;
    world
        .ok(Unit::Lease(turnwise_drivers::store::LeaseUnit::Acquire {
            name: name("right"),
            holder: name("a"),
            span: std::time::Duration::from_secs(1),
        }))
        .await;
    drop(world);
    let file = Connection::open(database(directory.path())).unwrap();
    let illegal = [
        "UPDATE job SET state = 8",
        "UPDATE job SET state = 3",
        "UPDATE job SET session = 5",
        "UPDATE job SET position = NULL WHERE lane IS NOT NULL",
        "UPDATE job SET position = 2 WHERE lane IS NOT NULL",
        "UPDATE job SET attempts = 0",
        "UPDATE batch SET done = 3",
        "UPDATE batch SET phase = 2",
        "UPDATE batch SET phase = 4",
        "UPDATE account SET backlog = -1",
        "UPDATE account SET weight = 0",
        "UPDATE lane SET waiting = -1",
        "UPDATE lane SET next = 0",
        "UPDATE line SET priority = 10",
        "UPDATE lease SET term = 0",
    ];
    for sql in illegal {
        let error = file.execute(sql, []).expect_err(sql);
        assert_eq!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::ConstraintViolation),
            "{sql}: {error}"
        );
    }
    // The same way of writing, with something that may be, works: it is the rules that refuse.
    assert_eq!(file.execute("UPDATE job SET rescues = 1 WHERE state = 2", []).unwrap(), 3);
}

#[tokio::test]
async fn a_secret_is_wiped_from_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let world = world_in(directory.path());
    let secret = |text: &[u8]| Secret {
        name: name("s"),
        sealed: text.to_vec(),
        until: world.now() + std::time::Duration::from_secs(9),
    };
    world.ok(Unit::Secret(name("s"), Some(secret(b"the first ciphertext, long enough to be found")))).await;
    world.ok(Unit::Secret(name("s"), Some(secret(b"the other ciphertext, long enough to be found")))).await;
    world.ok(Unit::Secret(name("s"), None)).await;
    drop(world);
    let bytes = std::fs::read(database(directory.path())).unwrap();
    for text in [b"the first ciphertext", b"the other ciphertext"] {
        assert!(!bytes.windows(text.len()).any(|window| window == text), "still in the file");
    }
}

#[tokio::test]
async fn many_callers_share_commits_and_each_gets_its_own_answer() {
    let directory = tempfile::tempdir().unwrap();
    let world = Arc::new(world_in(directory.path()));
    world.kind("k").await;
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..50 {
        let world = world.clone();
        callers.spawn(async move {
            let good = world.job("k");
            let bad = world.job("nobody's");
            let job = if caller % 5 == 0 { bad } else { good.clone() };
            let twice = world.store().commit(vec![Unit::Submit(jobs_of([job.clone()])); 2]).await.unwrap();
            assert_eq!(twice.iter().all(Result::is_ok), caller % 5 != 0);
            if caller % 5 != 0 {
                world.store().commit(vec![Unit::Control(Control::Cancel(job.id))]).await.unwrap();
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done.unwrap();
    }
    let page = world.store().list(Filter { limit: 100, ..Filter::default() }).await.unwrap();
    assert_eq!(page.rows.len(), 40);
    assert!(page.rows.iter().all(|row| row.header.state == State::Cancelled));
    world.dump().await.check();
}

#[tokio::test]
async fn an_odd_progress_does_not_poison_the_file() {
    let world = InTemporary::fresh().await;
    world.kind("k").await;
    let job = world.submit_one(world.job("k")).await;
    let claimed = world.claim(job).await;
    let odd = Progress { fraction: f32::NAN, note: String::new(), at: world.now() };
    world.refused(Unit::Progress(job, claimed.header.fence, odd)).await;
    let fine = Progress { fraction: 0.5, note: String::new(), at: world.now() };
    world.ok(Unit::Progress(job, claimed.header.fence, fine)).await;
    assert_eq!(world.done(&claimed).await, State::Done);
    assert!(world.send(Submission::default()).await.is_empty());
}
