//! Whom the commands talk to: the server of the data directory, or an engine in this process if there is none.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use turnwise::{BatchId, Config, Engine, Running};
use turnwise_bingo::{Bingo, Format, Order, Settings, compare};

use crate::Home;
use crate::client::{Client, with_data};
use crate::failure::{Failure, refused, unreachable};
use crate::settings::{Layers, Source};

/// The API.
const ROOT: &str = "/api/v1/bingo";

/// How often a directory is tried to be removed while something is at work in it.
const REMOVALS: usize = 10;

/// Whoever answers.
pub(super) enum Talk {
    Server(Box<Client>),
    Here(Box<Here>),
}

/// An engine in this process.
pub(super) struct Here {
    runtime: tokio::runtime::Runtime,
    /// Taken when it closes, in this order.
    running: Option<Running>,
    bingo: Option<Bingo>,
    engine: Option<Engine>,
    /// The data, unless it has a place of its own.
    throw_away: Option<tempfile::TempDir>,
}

impl Talk {
    /// Finds the server. Without one, an engine is opened here: to work on a data directory that is thrown away unless
    /// somebody named one, or only to look, which makes sense on a named one only.
    pub(super) fn open(home: &Home, works: Option<Settings>) -> anyhow::Result<Talk> {
        let data = home.data()?;
        let nobody = match Client::open(&data).and_then(|client| client.get("/health", &[]).map(|_| client)) {
            Ok(client) => return Ok(Talk::Server(Box::new(client))),
            Err(error) if Failure::exit_code(&error) == 3 => error,
            Err(error) => return Err(error),
        };
        let is_named =
            !matches!(Layers::read(home.config.as_deref(), home.flags())?.source("data"), Source::Default);
        match (works, is_named) {
            (None, false) => Err(nobody),
            (None, true) if !data.is_dir() => Err(nobody),
            (None, true) => Here::open(Some(data), None),
            (Some(settings), true) => Here::open(Some(data), Some(settings)),
            (Some(settings), false) => Here::open(None, Some(settings)),
        }
    }

    /// Starts a batch, and answers its id.
    pub(super) fn start(&self, order: &Order, text: &str, owner: Option<&str>) -> anyhow::Result<String> {
        match self {
            Talk::Server(client) => {
                let (name, seed, runs) = (&order.name, &order.seed, order.runs);
                let said =
                    json!({"scenario": text, "runs": runs, "seed": seed, "name": name, "owner": owner});
                let started = client.post(&format!("{ROOT}/batches"), &said)?;
                Ok(started["batch"].as_str().unwrap_or_default().to_owned())
            }
            Talk::Here(here) => {
                let started = here.wait(here.bingo()?.start(order.clone(), owner))?;
                Ok(started.id.to_string())
            }
        }
    }

    /// Batches, newest first: a page of them, behind a cursor if there is one.
    pub(super) fn list(&self, cursor: Option<&str>) -> anyhow::Result<Value> {
        match self {
            Talk::Server(client) => {
                let cursor: Vec<_> = cursor.map(|cursor| ("cursor", cursor.to_owned())).into_iter().collect();
                client.get(&format!("{ROOT}/batches"), &cursor)
            }
            Talk::Here(here) => {
                value(&here.wait(here.bingo()?.list(cursor.map(batch).transpose()?, |_| true))?)
            }
        }
    }

    /// How far a batch is.
    pub(super) fn status(&self, id: &str) -> anyhow::Result<Value> {
        match self {
            Talk::Server(client) => client.get(&format!("{ROOT}/batches/{id}"), &[]),
            Talk::Here(here) => value(&here.wait(here.bingo()?.status(batch(id)?))?),
        }
    }

    /// What a batch came to.
    pub(super) fn results(&self, id: &str) -> anyhow::Result<Value> {
        match self {
            Talk::Server(client) => client.get(&format!("{ROOT}/batches/{id}/results"), &[]),
            Talk::Here(here) => value(&here.wait(here.bingo()?.results(batch(id)?))?),
        }
    }

    /// One run again.
    pub(super) fn timeline(&self, id: &str, run: u64) -> anyhow::Result<Value> {
        match self {
            Talk::Server(client) => client.get(&format!("{ROOT}/batches/{id}/runs/{run}"), &[]),
            Talk::Here(here) => value(&here.wait(here.bingo()?.timeline(batch(id)?, run))?),
        }
    }

    /// Two batches side by side.
    pub(super) fn compare(&self, first: &str, second: &str) -> anyhow::Result<Value> {
        match self {
            Talk::Server(client) => {
                let both = [("first", first.to_owned()), ("second", second.to_owned())];
                client.get(&format!("{ROOT}/compare"), &both)
            }
            Talk::Here(here) => {
                let results = |id: &str| here.wait(here.bingo()?.results(batch(id)?));
                value(&compare(&results(first)?, &results(second)?))
            }
        }
    }

    /// Every single run.
    pub(super) fn export(&self, id: &str, format: Format, to: &mut dyn Write) -> anyhow::Result<()> {
        match self {
            Talk::Server(client) => {
                let format = value(&format)?.as_str().unwrap_or_default().to_owned();
                client.download(&format!("{ROOT}/batches/{id}/runs"), &[("format", format)], to)
            }
            Talk::Here(here) => {
                let mut export = here.wait(here.bingo()?.export(batch(id)?, format))?;
                while let Some(text) = here.wait(export.next())? {
                    to.write_all(text.as_bytes())?;
                }
                Ok(())
            }
        }
    }

    /// Ends a batch early.
    pub(super) fn cancel(&self, id: &str) -> anyhow::Result<Value> {
        match self {
            Talk::Server(client) => client.post(&format!("{ROOT}/batches/{id}/cancel"), &json!({})),
            Talk::Here(here) => {
                here.wait(here.bingo()?.cancel(batch(id)?))?;
                self.status(id)
            }
        }
    }

    /// Whether what is there now is gone when the command ends.
    pub(super) fn is_thrown_away(&self) -> bool {
        matches!(self, Talk::Here(here) if here.throw_away.is_some())
    }
}

fn batch(id: &str) -> anyhow::Result<BatchId> {
    id.parse().map_err(refused)
}

fn value(told: &impl Serialize) -> anyhow::Result<Value> {
    Ok(serde_json::to_value(told)?)
}

impl Here {
    fn open(data: Option<PathBuf>, works: Option<Settings>) -> anyhow::Result<Talk> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (data, throw_away) = match data {
            Some(data) => (data, None),
            None => {
                let directory = tempfile::tempdir()?;
                runtime.block_on(async { removed_on_signals(directory.path()) })?;
                (directory.path().to_owned(), Some(directory))
            }
        };
        let opened = runtime.block_on(Engine::open(Config::embedded(&data)));
        let engine = opened.map_err(|error| explained(&error, &data))?;
        let at_work = works.is_some();
        let bingo = Bingo::register(&engine, works.unwrap_or_default());
        let running = match at_work {
            true => Some(runtime.block_on(engine.start()).map_err(refused)?),
            false => None,
        };
        let here = Here { runtime, running, bingo: Some(bingo), engine: Some(engine), throw_away };
        Ok(Talk::Here(Box::new(here)))
    }

    fn bingo(&self) -> anyhow::Result<&Bingo> {
        self.bingo.as_ref().ok_or_else(|| refused("the engine is closed"))
    }

    fn wait<T>(&self, what: impl Future<Output = Result<T, turnwise::Error>>) -> anyhow::Result<T> {
        self.runtime.block_on(what).map_err(refused)
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let (running, bingo, engine) = (self.running.take(), self.bingo.take(), self.engine.take());
        self.runtime.block_on(async {
            if let Some(running) = running {
                running.stop().await;
            }
            drop(bingo);
            if let Some(engine) = engine {
                engine.close().await;
            }
        });
    }
}

/// Whoever stops the program leaves nothing behind: nobody else would ever remove what was to be thrown away.
fn removed_on_signals(directory: &Path) -> std::io::Result<()> {
    for (kind, code) in [(SignalKind::interrupt(), 130), (SignalKind::terminate(), 143)] {
        let (mut signals, directory) = (signal(kind)?, directory.to_owned());
        tokio::spawn(async move {
            signals.recv().await;
            // The engine is still at work and may make a file in between.
            (0..REMOVALS).any(|_| std::fs::remove_dir_all(&directory).is_ok());
            std::process::exit(code);
        });
    }
    Ok(())
}

fn explained(error: &turnwise::Error, data: &Path) -> anyhow::Error {
    match error {
        turnwise::Error::Store(turnwise::StoreError::Locked(_)) => unreachable(format!(
            "another process works on {}, and has no server to talk to: wait until it has ended, or choose another \
             directory. `{}` tells more",
            data.display(),
            with_data("turnwise doctor", data)
        )),
        other => refused(other),
    }
}
