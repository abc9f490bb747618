//! The program `turnwise` as people start it: `turnwise up` on a data directory of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::leash::Leash;

/// Names another build of the program than the one that lies beside the tests.
pub const PROGRAM: &str = "TURNWISE_TEST_PROGRAM";

/// A running engine.
pub struct Program {
    process: Leash,
    /// Where it listens: `127.0.0.1:PORT`.
    pub address: String,
    token: String,
}

impl Program {
    /// Starts it on a new directory, at a free port.
    pub fn start(data: &Path) -> Result<Self> {
        Self::launch(data, "127.0.0.1:0", None)
    }

    /// Stops it gracefully, and starts it on the same directory at the same port when `meanwhile` has come back.
    pub async fn restart(self, data: &Path, meanwhile: impl AsyncFnOnce() -> Result<()>) -> Result<Self> {
        let Program { process, address, token } = self;
        let status = process.stop()?;
        ensure!(status.success(), "it should stop gracefully, and ended with {status}");
        meanwhile().await?;
        Self::launch(data, &address, Some(token))
    }

    /// Kills it where it stands, and starts it on the same directory.
    pub fn killed(self, data: &Path) -> Result<Self> {
        let Program { process, token, .. } = self;
        drop(process);
        Self::launch(data, "127.0.0.1:0", Some(token))
    }

    fn launch(data: &Path, listen: &str, token: Option<String>) -> Result<Self> {
        let (mut address, mut link) = (None, token);
        let mut command = Command::new(path()?);
        command.args(["up", "--allow-shell", "--listen", listen, "--data"]).arg(data);
        let (process, ()) = Leash::start(&mut command, |line| {
            if let Some((_, printed)) = line.split_once("listens on http://") {
                address = Some(printed.to_owned());
            }
            if let Some((_, printed)) = line.split_once("/?token=") {
                link = printed.split_whitespace().next().map(str::to_owned);
            }
            line.starts_with("Ctrl-C").then_some(())
        })?;
        let address = address.context("it did not say where it listens")?;
        let token = link.context("it did not print the link that logs in")?;
        Ok(Program { process, address, token })
    }

    /// The link that logs a browser in, as it was printed at the first start.
    pub fn link(&self) -> String {
        format!("http://{}/?token={}", self.address, self.token)
    }

    /// The address of a page.
    pub fn page(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Asks the API.
    pub fn get(&self, path: &str) -> Result<Value> {
        let request = ureq::get(self.page(&format!("/api/v1{path}")));
        let answer = request.header("Authorization", format!("Bearer {}", self.token)).call();
        Ok(answer.with_context(|| format!("GET {path}"))?.body_mut().read_json()?)
    }

    /// How many live streams of events are open.
    pub fn watchers(&self) -> Result<u32> {
        let request = ureq::get(self.page("/metrics"));
        let answer = request.header("Authorization", format!("Bearer {}", self.token)).call();
        let text = answer.context("GET /metrics")?.body_mut().read_to_string()?;
        let count = text.lines().find_map(|line| line.strip_prefix("turnwise_watchers "));
        Ok(count.context("/metrics does not count watchers")?.parse()?)
    }

    /// Tells the API something, with `POST`, `PUT` or `PATCH`.
    pub fn tell(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let place = self.page(&format!("/api/v1{path}"));
        let request = match method {
            "POST" => ureq::post(place),
            "PUT" => ureq::put(place),
            "PATCH" => ureq::patch(place),
            other => bail!("the API is told nothing with {other}"),
        };
        let answer = request.header("Authorization", format!("Bearer {}", self.token)).send_json(body);
        Ok(answer.with_context(|| format!("{method} {path} {body}"))?.body_mut().read_json()?)
    }

    /// Submits a job and answers its id.
    pub fn submit(&self, job: &Value) -> Result<String> {
        let accepted = self.tell("POST", "/jobs", job)?;
        Ok(accepted["id"].as_str().context("an accepted job has an id")?.to_owned())
    }

    /// Ends it gracefully.
    pub fn stop(self) -> Result<()> {
        let status = self.process.stop()?;
        ensure!(status.success(), "it should stop gracefully, and ended with {status}");
        Ok(())
    }
}

/// The program: it lies beside the folder of the test, because both are built by cargo.
fn path() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(PROGRAM) {
        return Ok(named.into());
    }
    let test = std::env::current_exe()?;
    let mut folders = test.ancestors().skip(1).map(|folder| folder.join("turnwise"));
    folders
        .by_ref()
        .take(2)
        .find(|program| program.is_file())
        .context("the program is not built: run `cargo build -p turnwise-cli` first")
}
