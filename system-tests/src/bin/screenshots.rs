//! Takes the pictures of the dashboard that the documents show: `cargo xtask screenshots` starts it.
//!
//! It starts the real program on a directory of its own, gives it work of several owners, waits until the pages have
//! something to show, and writes PNG files into the folder that it is told.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use system_tests::browser::{Browser, Screen};
use system_tests::program::Program;

/// Owners and their weights: with enough work each gets turns in this proportion.
const OWNERS: [(&str, u32); 5] = [("acme", 4), ("globex", 2), ("initech", 1), ("umbrella", 1), ("hooli", 1)];

/// An owner keeps so many rounds of work in the line, so that it always has some.
const ROUNDS: usize = 4;
const ROUND: usize = 12;

/// What went wrong in the job on the picture.
const FAILING: &str = "echo 'page 3 of 12: rendered' >&2; echo 'page 4 of 12: font not found: Garamond' >&2; \
    echo 'hint: install it, or name another in the template' >&2; exit 1";

fn main() -> Result<()> {
    let folder: PathBuf = std::env::args_os().nth(1).context("say where the pictures go")?.into();
    std::fs::create_dir_all(&folder)?;
    let place = tempfile::tempdir()?;
    let program = Program::start(&place.path().join("data"))?;
    let dead = prepare(&program)?;
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (owner, _) in OWNERS {
            scope.spawn(|| feed(&program, owner, &enough));
        }
        let taken = tokio::runtime::Runtime::new()
            .map_err(Into::into)
            .and_then(|runtime| runtime.block_on(take(&program, &dead, &folder)));
        enough.store(true, Ordering::Relaxed);
        taken
    })?;
    program.stop()
}

/// Batches, lanes, schedules, a pause, and a job that fails for good, whose id it answers.
fn prepare(program: &Program) -> Result<String> {
    let nap = |ms: u32| json!({"kind": "sleep", "payload": {"ms": ms}});
    for (owner, weight) in OWNERS {
        program.submit(&json!({"kind": "echo", "owner": owner, "payload": {"hello": owner}}))?;
        program.tell("PATCH", &format!("/owners/{owner}"), &json!({"weight": weight, "quota": 100_000}))?;
    }
    let dead = program.submit(
        &json!({"kind": "shell", "owner": "initech", "attempts": 2, "payload": {"command": FAILING}}),
    )?;
    let batch = |name: &str, owner: &str, jobs: Vec<Value>, then: &str| {
        let report = json!({"kind": "echo", "payload": {"report": name}});
        program.tell("POST", "/batches", &json!({"name": name, "owner": owner, "jobs": jobs, then: report}))
    };
    batch("Invoices of September", "umbrella", vec![nap(20); 40], "then")?;
    let mut mixed = vec![nap(20); 23];
    mixed.push(json!({"kind": "shell", "attempts": 1, "payload": {"command": FAILING}}));
    batch("Quarterly reports", "hooli", mixed, "then_if_all_done")?;
    batch("Invoices of October", "globex", vec![nap(120); 900], "then")?;
    batch("Nightly thumbnails", "acme", vec![nap(120); 2_000], "then")?;
    for step in 0..30 {
        let lane = ["stock/berlin", "stock/lyon"][step % 2];
        program
            .submit(&json!({"kind": "sleep", "owner": "umbrella", "lane": lane, "payload": {"ms": 4_000}}))?;
    }
    let nightly = json!({"line": "0 3 * * *", "zone": "Europe/Berlin", "kind": "echo", "owner": "acme", "overlap": "skip"});
    program.tell("PUT", "/schedules/nightly-report", &nightly)?;
    Ok(dead)
}

/// Submits for one owner, as fast as its jobs are done.
fn feed(program: &Program, owner: &str, enough: &AtomicBool) -> Result<()> {
    let mut line = VecDeque::new();
    while !enough.load(Ordering::Relaxed) {
        let job = json!({"kind": "sleep", "owner": owner, "payload": {"ms": 120}});
        let accepted = program.tell("POST", "/jobs/bulk", &json!(vec![job; ROUND]))?;
        line.push_back(accepted["jobs"][ROUND - 1]["id"].as_str().unwrap_or_default().to_owned());
        if line.len() > ROUNDS
            && let Some(oldest) = line.pop_front()
        {
            program.get(&format!("/jobs/{oldest}?wait_ms=5000"))?;
        }
    }
    Ok(())
}

async fn take(program: &Program, dead: &str, folder: &Path) -> Result<()> {
    let desk = Browser::open(Screen::Desk).await?;
    desk.go(&program.link()).await?;
    desk.turn_to("Owners").await?;
    let stripes = 9 * OWNERS.len();
    desk.see(&format!("//*[local-name() = 'svg' and count(*[local-name() = 'rect']) >= {stripes}]")).await?;
    keep(&desk, folder, "owners.png").await?;
    desk.turn_to("Batches").await?;
    desk.see("//tbody/tr[contains(., 'Nightly') and contains(., 'about')]").await?;
    desk.see("//tbody/tr[contains(., 'parked')]").await?;
    keep(&desk, folder, "batches.png").await?;
    desk.turn_to("Overview").await?;
    desk.see("//section[@aria-label = 'Alarms']/*").await?;
    desk.see("//table/tbody/tr").await?;
    keep(&desk, folder, "overview.png").await?;
    desk.go(&program.page(&format!("/jobs/{dead}"))).await?;
    desk.see("//section[h2 = 'Errors']//article//pre").await?;
    desk.see("//header//*[contains(@class, 'state dead')]").await?;
    keep(&desk, folder, "job.png").await?;
    desk.close().await
}

async fn keep(browser: &Browser, folder: &Path, name: &str) -> Result<()> {
    let picture = browser.picture().await?;
    std::fs::write(folder.join(name), picture).with_context(|| format!("cannot write {name}"))
}
