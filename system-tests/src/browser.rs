//! A real browser, as a person would use one: Debian's Chromium without a screen, driven by its own driver.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::leash::Leash;

/// How long anything may take that should happen soon. The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

const DRIVER: &str = "/usr/bin/chromedriver";
const BROWSER: &str = "/usr/bin/chromium";

/// No sandbox, because root may not have one; nothing that speaks to the browser's makers.
const FLAGS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// What somebody looks at the page with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// 1440 × 900.
    Desk,
    /// 375 × 812, and a finger.
    Phone,
}

impl Screen {
    fn metrics(self) -> Value {
        match self {
            Screen::Desk => {
                json!({"width": 1440, "height": 900, "pixelRatio": 1, "mobile": false, "touch": false})
            }
            Screen::Phone => {
                json!({"width": 375, "height": 812, "pixelRatio": 2, "mobile": true, "touch": true})
            }
        }
    }
}

/// A browser with one page.
pub struct Browser {
    client: Client,
    /// Which screen it has.
    pub screen: Screen,
    _driver: Leash,
    _profile: TempDir,
}

impl Browser {
    /// Opens a browser that has never been anywhere.
    pub async fn open(screen: Screen) -> Result<Self> {
        for (program, package) in [(BROWSER, "chromium"), (DRIVER, "chromium-driver")] {
            if !Path::new(program).exists() {
                bail!("{program} is missing: install it with `apt-get install {package}`");
            }
        }
        let profile = tempfile::tempdir()?;
        let mut command = Command::new(DRIVER);
        // Its scratch files go with the profile.
        command.arg("--port=0").env("TMPDIR", profile.path());
        let (driver, port) = Leash::start(&mut command, |line| {
            let port = line.split_once("started successfully on port ")?.1;
            port.trim_end_matches('.').parse::<u16>().ok()
        })?;
        let mut flags = FLAGS.map(str::to_owned).to_vec();
        flags.push(format!("--user-data-dir={}", profile.path().join("profile").display()));
        let options = json!({
            "binary": BROWSER,
            "args": flags,
            "mobileEmulation": {"deviceMetrics": screen.metrics()},
        });
        let mut wishes = serde_json::Map::new();
        wishes.insert("goog:chromeOptions".to_owned(), options);
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(wishes)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .context("the driver cannot start the browser")?;
        Ok(Browser { client, screen, _driver: driver, _profile: profile })
    }

    /// Types an address.
    pub async fn go(&self, address: &str) -> Result<()> {
        self.client.goto(address).await.with_context(|| format!("cannot go to {address}"))
    }

    /// Waits until something is on the page, which an XPath says.
    pub async fn see(&self, path: &str) -> Result<Element> {
        let wait = self.client.wait().at_most(PATIENCE).every(Duration::from_millis(50));
        match wait.for_element(Locator::XPath(path)).await {
            Ok(element) => Ok(element),
            Err(error) => {
                let place = self.client.current_url().await.map(String::from).unwrap_or_default();
                let page = self.run("return document.body.innerText").await.unwrap_or_default();
                Err(anyhow!(
                    "{error}: {path} is not at {place}, which says:\n{}",
                    page.as_str().unwrap_or("?")
                ))
            }
        }
    }

    /// Waits for something and presses it. A page that draws itself anew at this moment is asked again.
    pub async fn press(&self, path: &str) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            let element = self.see(path).await?;
            // What lies under the bar is in sight for the driver, but not for a reader, who would move the page.
            let into_sight = "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})";
            let _ = self.client.execute(into_sight, vec![serde_json::to_value(&element)?]).await;
            match element.click().await {
                Ok(()) => return Ok(()),
                Err(CmdError::Standard(_)) if Instant::now() < end => {}
                Err(error) => return Err(error).with_context(|| format!("cannot press {path}")),
            }
        }
    }

    /// Goes to a page of the dashboard by its navigation, as a reader does: on a phone it is opened first.
    pub async fn turn_to(&self, page: &str) -> Result<()> {
        if self.screen == Screen::Phone {
            self.press("//button[@aria-label='Navigation']").await?;
        }
        self.press(&format!("//nav[@id='navigation']//a[starts-with(., '{page}')]")).await?;
        self.see(&format!("//h1[. = '{page}']")).await?;
        Ok(())
    }

    /// How many there are of something.
    pub async fn count(&self, path: &str) -> Result<usize> {
        Ok(self.client.find_all(Locator::XPath(path)).await?.len())
    }

    /// Runs a script in the page and answers what it returns.
    pub async fn run(&self, script: &str) -> Result<Value> {
        Ok(self.client.execute(script, Vec::new()).await?)
    }

    /// Takes a picture of what is in sight, as PNG.
    pub async fn picture(&self) -> Result<Vec<u8>> {
        Ok(self.client.screenshot().await?)
    }

    /// Closes it.
    pub async fn close(self) -> Result<()> {
        Ok(self.client.clone().close().await?)
    }
}
