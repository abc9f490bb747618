//! Bingo in the real program: killed in the middle of a batch, and used by a person in a real browser.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use system_tests::browser::{Browser, Screen};
use system_tests::program::Program;
use turnwise_servers::poll::until;

/// Longer than anything here takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);
const RUNS: u64 = 2_000;
/// Shorter than a hidden page keeps its stream.
const LET_GO: Duration = Duration::from_secs(30);

/// A scenario whose runs differ.
fn scenario(program: &Program, delay_ms: u32) -> Result<Value> {
    let sample = program.get("/bingo/scenarios/performance")?;
    let mut scenario: Value = serde_json::from_str(sample["text"].as_str().context("a sample is a text")?)?;
    scenario["duration_seconds"] = json!(6_000);
    scenario["simulation_delay_ms"] = json!(delay_ms);
    Ok(scenario)
}

fn start(program: &Program, scenario: &Value) -> Result<String> {
    let order = json!({"scenario": scenario, "runs": RUNS, "seed": "the same"});
    let started = program.tell("POST", "/bingo/batches", &order)?;
    Ok(started["batch"].as_str().context("a batch has an id")?.to_owned())
}

/// Waits until a batch is as wanted.
fn when(program: &Program, id: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    until("the batch", PATIENCE, || {
        let status = program.get(&format!("/bingo/batches/{id}"))?;
        Ok(wanted(&status).then_some(status))
    })
}

/// Weak point 6: a worker that crashed left its runs running for ever, or their results in a memory that was gone.
#[test]
fn killed_in_the_middle_of_a_batch_it_gives_the_same_digits() -> Result<()> {
    let place = tempfile::tempdir()?;
    let data = place.path().join("data");
    let mut program = Program::start(&data)?;
    let whole = start(&program, &scenario(&program, 0)?)?;
    when(&program, &whole, |status| status["status"] == "completed")?;
    let expected = program.get(&format!("/bingo/batches/{whole}/results"))?;
    ensure!(expected["simulated"] == RUNS, "{expected:#}");

    let slow = start(&program, &scenario(&program, 2)?)?;
    for part in [RUNS / 5, RUNS / 2] {
        let status = when(&program, &slow, |status| status["ended_runs"].as_u64() >= Some(part))?;
        ensure!(status["status"] == "running", "it must die in the middle: {status:#}");
        program = program.killed(&data)?;
    }
    when(&program, &slow, |status| status["status"] == "completed")?;
    let killed = program.get(&format!("/bingo/batches/{slow}/results"))?;
    ensure!(killed["failed_runs"] == 0 && killed["simulated"] == RUNS, "{killed:#}");
    ensure!(killed["summary"] == expected["summary"], "the digits are others:\n{killed:#}\n{expected:#}");

    let jobs = program.get(&format!("/jobs?batch={slow}&kind=bingo.range&limit=1000"))?;
    let jobs = jobs["jobs"].as_array().context("jobs")?;
    let mut divided = 0;
    for job in jobs {
        let view = program.get(&format!("/jobs/{}", job["id"].as_str().unwrap_or_default()))?;
        divided += u32::from(view["result"] == "split");
    }
    ensure!(
        divided > 0,
        "what the dead process held was divided, so that no run can kill again and again unfound"
    );
    program.stop()
}

/// A person writes a scenario, mends it, starts it, and reads what it came to; then compares two batches.
async fn story(screen: Screen) -> Result<()> {
    let place = tempfile::tempdir()?;
    let program = Program::start(&place.path().join("data"))?;
    let browser = Browser::open(screen).await?;
    browser.go(&program.link()).await?;
    browser.see("//h1[. = 'Overview']").await?;
    browser.turn_to("Bingo").await?;
    browser.see("//*[contains(., 'There are no bingo batches yet.')]").await?;
    fits(&browser).await?;
    for round in 0..2 {
        browser.press("//a[. = 'New batch']").await?;
        browser.see("//h1[. = 'New bingo batch']").await?;
        browser.press("//select/option[@value = 'performance']").await?;
        browser.see("//*[contains(@class, 'notice good')][contains(., '2 teams, 1 row, 4 tiles')]").await?;
        if round == 0 {
            write(&browser, "text.replace('\"points\": 1', '\"points\": 7')").await?;
            browser
                .see("//*[contains(@class, 'notice critical')]//code[contains(., 'rows[0].tiles')]")
                .await?;
            fits(&browser).await?;
        }
        write(&browser, "text.replace('\"points\": 7', '\"points\": 1').replace('86400', '6000')").await?;
        browser.see("//*[contains(@class, 'notice good')]").await?;
        browser.run(&format!("document.querySelector('.settings input').value = '{RUNS}'")).await?;
        browser.press("//button[. = 'Start']").await?;
        browser.see("//*[contains(@class, 'state done')][contains(., 'completed')]").await?;
        browser.see("//section[h2 = 'Who wins']//li[contains(., 'Team A') and contains(., '%')]").await?;
        browser.see("//*[local-name() = 'svg'][contains(@aria-label, 'points on average')]").await?;
        browser.see("//*[local-name() = 'svg'][contains(@aria-label, 'rows is unlocked')]").await?;
        fits(&browser).await?;
        browser.press("//button[. = 'Tell it']").await?;
        browser.see("//ol[contains(@class, 'timeline')]/li[contains(., 'Row 1 is unlocked')]").await?;
        fits(&browser).await?;
        browser.press("//a[. = 'All batches']").await?;
        browser.see(&format!("//table[count(tbody/tr) = {}]", round + 1)).await?;
    }
    for row in [1, 2] {
        browser.press(&format!("//tbody/tr[{row}]//input[@type = 'checkbox']")).await?;
    }
    browser.press("//button[. = 'Compare two']").await?;
    browser.see("//caption[. = 'Differences, team by team']").await?;
    browser.see("//tbody/tr[contains(., 'Team B') and contains(., 'Win rate')]").await?;
    fits(&browser).await?;
    until("pages that were left let go of their streams", LET_GO, || {
        Ok((program.watchers()? == 1).then_some(()))
    })?;
    browser.close().await?;
    program.stop()
}

/// Changes the scenario as somebody who types.
async fn write(browser: &Browser, change: &str) -> Result<()> {
    let script = format!(
        "const area = document.querySelector('textarea'); const text = area.value; area.value = {change}; \
         area.dispatchEvent(new Event('input'))"
    );
    browser.run(&script).await.map(drop)
}

/// Nothing has to be moved sideways to be read.
async fn fits(browser: &Browser) -> Result<()> {
    let wide = "const page = document.documentElement; return page.scrollWidth > page.clientWidth";
    ensure!(browser.run(wide).await? == false, "the page is wider than the screen");
    Ok(())
}

#[tokio::test]
async fn a_person_at_a_desk_plays_bingo() -> Result<()> {
    story(Screen::Desk).await
}

#[tokio::test]
async fn a_person_with_a_phone_plays_bingo() -> Result<()> {
    story(Screen::Phone).await
}
