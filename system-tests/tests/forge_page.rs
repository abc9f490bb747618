//! The forge's page in a real browser: who waits where, one request in full, and clearing.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use system_tests::browser::{Browser, Screen};
use system_tests::program::Program;

fn request(number: usize) -> Value {
    json!({
        "id": format!("r-{number}"), "service": "notes", "owner": "acme",
        "entities": [{"name": "note", "fields": [{"name": "title", "type": "text"}]}],
    })
}

/// Nothing is wider than the screen.
async fn fits(browser: &Browser) -> Result<()> {
    let wide = browser.run("return document.documentElement.scrollWidth - innerWidth").await?;
    ensure!(wide.as_i64().is_some_and(|wide| wide <= 0), "the page is {wide} pixels too wide");
    Ok(())
}

async fn visit(screen: Screen) -> Result<()> {
    let place = tempfile::tempdir()?;
    let program = Program::start(&place.path().join("data"))?;
    let browser = Browser::open(screen).await?;
    browser.go(&program.link()).await?;
    browser.see("//h1[. = 'Overview']").await?;
    browser.go(&program.page("/apps/forge/")).await?;
    browser.see("//h1[. = 'Forge']").await?;
    browser.see("//*[contains(., 'Nothing waits.')]").await?;

    program.tell("POST", "/kinds/forge.generate/pause", &json!({}))?;
    for number in 0..3 {
        program.tell("POST", "/forge/requests", &request(number))?;
    }
    let row = |id: &str| format!("//table[caption = 'Lane forge/notes']//tr[contains(., '{id}')]");
    browser.see(&format!("{}[contains(., 'head') and contains(., 'Queued')]", row("r-0"))).await?;
    browser.see(&format!("{}[td[. = '2']]", row("r-2"))).await?;
    fits(&browser).await?;
    program.tell("POST", "/kinds/forge.generate/resume", &json!({}))?;
    let ended = "//table[caption = 'What ended last']//tr[contains(., 'r-2') and contains(., 'Completed')]";
    browser.see(ended).await?;
    fits(&browser).await?;

    browser.press(&format!("{ended}//a[. = 'r-2']")).await?;
    browser.see("//section[h2 = 'Phases']//li[contains(., 'DNS_UPDATE done')]").await?;
    browser
        .see("//table[caption = 'Log']//tr[contains(., 'GIT_OPERATIONS') and contains(., 'is number 3')]")
        .await?;
    browser.see("//figure[contains(., 'What was made')]//pre[contains(., 'sequence')]").await?;
    fits(&browser).await?;
    browser.go(&program.page("/apps/forge/")).await?;
    browser.press("//button[. = 'Clear…']").await?;
    browser.press("//dialog//option[@value = 'completed']").await?;
    browser.press("//dialog//button[. = 'Clear']").await?;
    browser.see("//*[@role = 'status']//p[contains(., 'Cleared 3: there were 3, and there are 0.')]").await?;
    browser.close().await?;
    program.stop()
}

#[tokio::test]
async fn the_forge_at_a_desk() -> Result<()> {
    visit(Screen::Desk).await
}

#[tokio::test]
async fn the_forge_with_a_phone() -> Result<()> {
    visit(Screen::Phone).await
}
