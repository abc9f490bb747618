//! The dashboard in a real browser, served by the real program: what a person does at a desk, and with a phone.
//!
//! Jobs wait for files, so that a test sees them run for as long as it wants, and ends them when it has seen enough.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use system_tests::browser::{Browser, Screen};
use system_tests::program::Program;
use tempfile::TempDir;

/// Somebody who looks at an engine.
struct Visit {
    place: TempDir,
    program: Program,
    browser: Browser,
}

impl Visit {
    async fn begin(screen: Screen) -> Result<Self> {
        let place = tempfile::tempdir()?;
        let program = Program::start(&place.path().join("data"))?;
        let visit = Visit { place, program, browser: Browser::open(screen).await? };
        visit.log_in().await?;
        Ok(visit)
    }

    /// A stranger sees nothing; the printed link lets in, and leaves no token in the address.
    async fn log_in(&self) -> Result<()> {
        let Visit { program, browser, .. } = self;
        browser.go(&program.page("/owners")).await?;
        browser.see("//h1[. = 'Sign in to Turnwise']").await?;
        browser.go(&program.link()).await?;
        browser.see("//h1[. = 'Overview']").await?;
        browser.see("//*[@data-state = 'live']").await?;
        browser.see("//*[contains(., 'Nothing has been submitted yet.')]").await?;
        let address = browser.run("return location.href").await?;
        ensure!(address == program.page("/"), "the token should not stay in the address: {address}");
        // From here on nobody loads the page again: what it shows came by itself.
        browser.run("window.neverLoadedAgain = true").await?;
        Ok(())
    }

    /// A job that runs until a file is there, or until the whole place is gone.
    fn waits_for(&self, file: &str, owner: &str) -> Value {
        let place = self.place.path().display();
        let command = format!("until [ -e {place}/{file} ] || [ ! -d {place} ]; do sleep 0.05; done");
        json!({"kind": "shell", "owner": owner, "payload": {"command": command}})
    }

    fn touch(&self, file: &str) -> Result<()> {
        Ok(fs::write(self.place.path().join(file), "")?)
    }

    /// A batch appears, runs, and is done before the reader's eyes, and what follows it is done too.
    async fn watch_a_batch(&self) -> Result<()> {
        let Visit { program, browser, .. } = self;
        browser.turn_to("Batches").await?;
        browser.see("//*[contains(., 'There are no batches yet.')]").await?;
        let jobs = vec![self.waits_for("batch", "acme"); 4];
        let then = json!({"kind": "echo", "payload": {"made": 4}});
        let batch = json!({"name": "Nightly thumbnails", "owner": "acme", "jobs": jobs, "then": then});
        program.tell("POST", "/batches", &batch)?;
        let row = "//tbody/tr[contains(., 'Nightly thumbnails')]";
        browser.see(&format!("{row}[contains(., 'running') and contains(., '0 done of 4')]")).await?;
        self.fits().await?;
        self.touch("batch")?;
        browser.see(&format!("{row}[contains(., 'settled') and contains(., '4 done of 4')]")).await?;
        browser.see(&format!("{row}[contains(., 'released')]")).await?;
        browser.press(&format!("{row}//a[contains(., 'Nightly')]")).await?;
        browser.see("//h1[. = 'Batch Nightly thumbnails']").await?;
        browser.see("//section[h2 = 'What follows']//*[contains(@class, 'state done')]").await?;
        self.fits().await
    }

    /// A job has failed for good. Its error is read, what was wrong is mended, and the job is replayed.
    async fn mend_a_failing_job(&self) -> Result<()> {
        let Visit { program, browser, place } = self;
        let place = place.path().display();
        let command = format!(
            "[ -e {place}/mended ] && echo all is well && exit; \
             seq -f 'line %04g of a long story' 170 >&2; echo 'the reason: no paper' >&2; exit 1"
        );
        let owner = "<script>alert(1)</script>";
        let job = json!({"kind": "shell", "owner": owner, "attempts": 1, "payload": {"command": command}});
        let id = program.submit(&job)?;
        browser.turn_to("Dead letters").await?;
        let row = format!("//tbody/tr[contains(., '{id}')]");
        browser.see(&format!("{row}[contains(., '{owner}') and contains(., 'exit status: 1')]")).await?;
        self.fits().await?;
        browser.press(&format!("{row}//a[. = 'shell']")).await?;
        browser.see("//section[h2 = 'Errors']//pre[contains(., 'the reason: no paper')]").await?;
        browser.see(&format!("//dl//a[. = '{owner}']")).await?;
        self.fits().await?;
        self.touch("mended")?;
        browser.press("//button[. = 'Replay']").await?;
        browser.see("//*[@role = 'status']//p[contains(., 'The job has a new life')]").await?;
        browser.see("//header//*[contains(@class, 'state done')]").await?;
        browser.see("//figure[contains(., 'Result')]//pre[contains(., 'all is well')]").await?;
        self.fits().await
    }

    /// An owner is paused: its jobs wait, and go on when it is resumed.
    async fn pause_an_owner(&self) -> Result<()> {
        let Visit { program, browser, .. } = self;
        browser.turn_to("Owners").await?;
        browser.press("//button[@aria-label = 'Pause Owner acme']").await?;
        let row = "//tbody/tr[contains(., 'acme')]";
        browser.see(&format!("{row}[contains(., 'paused')]")).await?;
        let id = program.submit(&json!({"kind": "echo", "owner": "acme", "payload": {"late": true}}))?;
        browser.see(&format!("{row}/td[@data-label = 'Ready' and . = '1']")).await?;
        self.fits().await?;
        let state = |job: Value| job["state"].as_str().unwrap_or_default().to_owned();
        ensure!(state(program.get(&format!("/jobs/{id}"))?) == "ready", "a paused owner has no turns");
        browser.press("//button[@aria-label = 'Resume Owner acme']").await?;
        browser
            .see(&format!("{row}[contains(., 'takes turns')]/td[@data-label = 'Ready' and . = '0']"))
            .await?;
        let job = program.get(&format!("/jobs/{id}?wait_ms=30000"))?;
        ensure!(state(job) == "done", "an owner that was resumed has turns again");
        Ok(())
    }

    /// The server goes away and comes back: the page goes on behind the last event that it saw.
    async fn follow_events_over_a_restart(mut self) -> Result<Self> {
        self.browser.turn_to("Events").await?;
        self.browser.see("//*[contains(., 'Nothing has happened since you opened this page.')]").await?;
        let echo = json!({"kind": "echo", "payload": {}});
        let rows =
            |id: &str, cause: &str| format!("//tbody/tr[contains(., '{id}') and contains(., '{cause}')]");
        let before = self.program.submit(&echo)?;
        self.browser.see(&rows(&before, "completed")).await?;
        let browser = &self.browser;
        let away = async || browser.see("//*[@data-state = 'reconnecting']").await.map(drop);
        self.program = self.program.restart(&self.place.path().join("data"), away).await?;
        let after = self.program.submit(&echo)?;
        self.browser.see("//*[@data-state = 'live']").await?;
        for cause in ["submitted", "claimed", "completed"] {
            self.browser.see(&rows(&after, cause)).await?;
            for id in [&before, &after] {
                let times = self.browser.count(&rows(id, cause)).await?;
                ensure!(times == 1, "{id} was {cause} once, and the page says so {times} times");
            }
        }
        // Nobody was connected when these happened.
        self.browser.see("//tbody/tr[contains(., 'session ended')]").await?;
        self.browser.see("//tbody/tr[contains(., 'session opened')]").await?;
        self.fits().await?;
        Ok(self)
    }

    /// Nothing has to be moved sideways to be read, and the page is still the one that was loaded first.
    async fn fits(&self) -> Result<()> {
        let wide = "const page = document.documentElement; return page.scrollWidth > page.clientWidth";
        ensure!(self.browser.run(wide).await? == false, "the page is wider than the screen");
        let width = self.browser.run("return innerWidth").await?;
        ensure!(width == if self.browser.screen == Screen::Phone { 375 } else { 1440 }, "it is {width} wide");
        ensure!(
            self.browser.run("return window.neverLoadedAgain").await? == true,
            "the page was loaded again"
        );
        Ok(())
    }

    async fn whole_story(self) -> Result<()> {
        self.watch_a_batch().await?;
        self.mend_a_failing_job().await?;
        self.pause_an_owner().await?;
        let Visit { program, browser, .. } = self.follow_events_over_a_restart().await?;
        browser.close().await?;
        program.stop()
    }
}

#[tokio::test]
async fn a_person_at_a_desk_watches_mends_and_steers() -> Result<()> {
    Visit::begin(Screen::Desk).await?.whole_story().await
}

#[tokio::test]
async fn a_person_with_a_phone_does_the_same() -> Result<()> {
    Visit::begin(Screen::Phone).await?.whole_story().await
}

/// Whoever may only read sees no buttons, and whoever is bound to an owner sees nobody else.
#[tokio::test]
async fn a_token_shows_only_what_it_allows() -> Result<()> {
    let visit = Visit::begin(Screen::Desk).await?;
    let Visit { program, browser, .. } = &visit;
    for owner in ["acme", "bolt"] {
        program.submit(&json!({"kind": "echo", "owner": owner}))?;
    }
    let link = async |token: &Value| -> Result<()> {
        let made = program.tell("POST", "/tokens", token)?;
        let secret = made["token"].as_str().unwrap_or_default();
        browser.go(&program.page(&format!("/?token={secret}"))).await?;
        // Whoever is bound to an owner has no overview.
        browser.see("//nav[@id='navigation']//a[starts-with(., 'Jobs')]").await.map(drop)
    };
    let shown = "return [...document.querySelectorAll('.acts, main button')].filter((one) => one.offsetParent).length";
    browser.turn_to("Owners").await?;
    browser.see("//tbody/tr[contains(., 'bolt')]").await?;
    ensure!(browser.run(shown).await? != 0, "whoever may do everything has buttons");
    link(&json!({"name": "reader", "scopes": ["read"]})).await?;
    browser.turn_to("Owners").await?;
    browser.see("//tbody/tr[contains(., 'bolt')]").await?;
    let buttons = browser.run(shown).await?;
    ensure!(buttons == 0, "whoever may only read has {buttons} buttons");
    link(&json!({"name": "bound", "scopes": ["read", "submit"], "owners": ["acme"]})).await?;
    browser.turn_to("Jobs").await?;
    browser.see("//tbody/tr[contains(., 'acme')]").await?;
    let others = browser.count("//tbody/tr[contains(., 'bolt')]").await?;
    let whole = browser.count("//nav//a[. = 'Nodes' or . = 'Settings' or . = 'Tokens']").await?;
    ensure!((others, whole) == (0, 0), "it sees {others} jobs of others and {whole} pages about everybody");
    let Visit { program, browser, .. } = visit;
    browser.close().await?;
    program.stop()
}
