//! The five phases, each a process of its own: what it is told, what it does, what it answers.
//!
//! A phase gets its order as one line on its input and answers with one line on its output. Its input stays open as long as
//! whoever ordered it lives: when that ends, however it ends, the phase kills its whole group, itself included. So nothing
//! outlives a worker that was killed.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Read as _, Write as _};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::process::{Signal, getpgrp, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::dns::server::NameServer;
use crate::dns::zone::Zone;
use crate::dns::{Mark, Published, Record};
use crate::fault::{Class, Fault};
use crate::generate::{self, Part};
use crate::git::{Change, Committed, Repository};
use crate::migration;
use crate::request::Request;

/// The largest order.
const ORDER_BYTES: u64 = 2 << 20;

/// A phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    /// The HTTP API is made.
    ApiGeneration,
    /// The page is made.
    FrontendGeneration,
    /// Image, compose file, checks and manifests are made.
    DevopsGeneration,
    /// All of it is committed.
    GitOperations,
    /// The name is published.
    DnsUpdate,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Phase; 5] = [
        Phase::ApiGeneration,
        Phase::FrontendGeneration,
        Phase::DevopsGeneration,
        Phase::GitOperations,
        Phase::DnsUpdate,
    ];

    /// Its name, which is the name of its step too.
    pub fn word(self) -> &'static str {
        match self {
            Phase::ApiGeneration => "API_GENERATION",
            Phase::FrontendGeneration => "FRONTEND_GENERATION",
            Phase::DevopsGeneration => "DEVOPS_GENERATION",
            Phase::GitOperations => "GIT_OPERATIONS",
            Phase::DnsUpdate => "DNS_UPDATE",
        }
    }

    /// The part that it makes, if it makes one.
    fn part(self) -> Option<Part> {
        match self {
            Phase::ApiGeneration => Some(Part::Api),
            Phase::FrontendGeneration => Some(Part::Frontend),
            Phase::DevopsGeneration => Some(Part::Devops),
            Phase::GitOperations | Phase::DnsUpdate => None,
        }
    }
}

/// What a phase is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) phase: Phase,
    pub(crate) request: Request,
    /// When the request was accepted, in seconds since 1970.
    pub(crate) accepted: i64,
    /// The claim of the job.
    pub(crate) fence: u32,
    /// The folder of the forge.
    pub(crate) folder: PathBuf,
    /// The origin of the zone.
    pub(crate) origin: String,
    /// What a name leads to that says nothing else.
    pub(crate) address: IpAddr,
    pub(crate) server: Option<NameServer>,
    /// What earlier phases made.
    pub(crate) made: BTreeMap<Phase, Made>,
}

/// What a phase made. It is the result of its step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Made {
    /// Nobody asked for it: what is there stays as it is.
    Nothing,
    /// A tree in the service's repository.
    Tree {
        /// Its id.
        tree: String,
        /// How many files are in it.
        files: usize,
    },
    /// A commit.
    Commit(Committed),
    /// A name.
    Name {
        /// What became of the zone file.
        zone: Published,
        /// The serial of the zone file.
        serial: u32,
        /// What became of the name server, if there is one.
        server: Option<Published>,
    },
}

/// What a phase answers.
pub(crate) type Answer = Result<Made, Fault>;

/// Runs a phase as this process: the whole of a program that does nothing else.
pub fn main() -> ExitCode {
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    let read = input.by_ref().take(ORDER_BYTES).read_line(&mut line);
    drop(input);
    let order = read.map_err(|error| error.to_string());
    let order = order.and_then(|_| serde_json::from_str::<Order>(&line).map_err(|error| error.to_string()));
    let answer: Answer = match order {
        Err(error) => {
            Err(Fault::new(Class::Internal, format!("the order of a phase cannot be read: {error}")))
        }
        Ok(order) => {
            std::thread::spawn(watch);
            order.carry_out()
        }
    };
    let answered = serde_json::to_string(&answer).unwrap_or_default();
    match writeln!(std::io::stdout(), "{answered}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Waits for the end of whoever ordered this phase, and ends the whole group then.
fn watch() {
    // Nothing more is ever said; an input that cannot be read has ended too.
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    let _ = kill_process_group(getpgrp(), Signal::KILL);
}

impl Order {
    /// Does what the phase is for.
    pub(crate) fn carry_out(&self) -> Answer {
        match self.phase {
            Phase::ApiGeneration | Phase::FrontendGeneration | Phase::DevopsGeneration => self.generate(),
            Phase::GitOperations => self.commit(),
            Phase::DnsUpdate => self.publish(),
        }
    }

    fn repository(&self) -> Result<Repository, Fault> {
        Repository::open(&self.folder.join("repositories"), &self.request.service)
    }

    fn generate(&self) -> Answer {
        let repository = self.repository()?;
        self.may_follow(&repository)?;
        let Some(part) = self.phase.part().filter(|part| part.is_asked(&self.request)) else {
            return Ok(Made::Nothing);
        };
        let files = part.files(&self.request);
        Ok(Made::Tree { tree: repository.write(&files)?, files: files.len() })
    }

    fn zone(&self) -> Zone {
        Zone::new(&self.folder.join("zones"), &self.origin)
    }

    /// Whether the request may follow what is in the repository.
    fn may_follow(&self, repository: &Repository) -> Result<(), Fault> {
        self.zone().allows(&self.request.service)?;
        self.parts_fit(repository)?;
        let Some(before) = repository.described()? else { return Ok(()) };
        let request = &self.request;
        if before.owner != request.owner {
            let (service, owner) = (&request.service, &before.owner);
            let text = format!("the service `{service}` belongs to `{owner}`: choose another name for yours");
            return Err(Fault::new(Class::Authorization, text));
        }
        let breaks = migration::breaks(&before, &request.description());
        if breaks.is_empty() || request.allow_breaking || repository.find(&request.id)?.is_some() {
            return Ok(());
        }
        let text = format!("{}: set `allow_breaking` if that is wanted", breaks.join("; "));
        Err(Fault::new(Class::MigrationIssues, text))
    }

    /// Whether the API that the request leaves out is there, if something else needs it, and still serves what is described.
    fn parts_fit(&self, repository: &Repository) -> Result<(), Fault> {
        let request = &self.request;
        if request.make.api || repository.find(&request.id)?.is_some() {
            return Ok(());
        }
        let wrong = |text: &str| Err(Fault::new(Class::Validation, text));
        let there = if repository.has("api")? { repository.described()? } else { None };
        match there {
            None if request.make.devops => {
                wrong("there is no API that could be built and run: set `make.api` too")
            }
            Some(before)
                if (&before.entities, &before.endpoints, before.storage)
                    != (&request.entities, &request.endpoints, request.storage) =>
            {
                wrong("the API is left out, and it would not serve what is described: set `make.api` too")
            }
            _ => Ok(()),
        }
    }

    fn commit(&self) -> Answer {
        let repository = self.repository()?;
        self.may_follow(&repository)?;
        let request = &self.request;
        let trees = self.made.values().filter_map(|made| match made {
            Made::Tree { tree, .. } => Some(tree.clone()),
            _ => None,
        });
        let kept = Part::ALL.into_iter().filter(|part| !part.is_asked(request));
        let count = (request.entities.len(), request.endpoints.len());
        let committed = repository.commit(&Change {
            request: &request.id,
            trace: &request.trace_id,
            subject: format!("Forge {}: {} entities, {} endpoints", request.service, count.0, count.1),
            at: self.accepted,
            made: trees.collect(),
            kept: kept.flat_map(Part::roots).copied().collect(),
            about: generate::about(request),
        })?;
        Ok(Made::Commit(committed))
    }

    fn publish(&self) -> Answer {
        let Some(Made::Commit(committed)) = self.made.get(&Phase::GitOperations) else {
            return Err(Fault::new(Class::Internal, "a name is published for a commit, and there is none"));
        };
        let record = Record {
            service: self.request.service.clone(),
            address: self.request.address.unwrap_or(self.address),
            mark: Mark { request: self.request.id.clone(), sequence: committed.sequence, fence: self.fence },
        };
        let (zone, serial) = self.zone().publish(&record)?;
        let server = self.server.as_ref().map(|server| server.publish(&self.origin, &record)).transpose()?;
        Ok(Made::Name { zone, serial, server })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Make, Type};
    use crate::sample;

    fn order(folder: &std::path::Path, request: Request, phase: Phase) -> Order {
        Order {
            phase,
            request,
            accepted: 1_700_000_000,
            fence: 1,
            folder: folder.to_owned(),
            origin: "example.test.".into(),
            address: "127.0.0.1".parse().unwrap(),
            server: None,
            made: BTreeMap::new(),
        }
    }

    /// All phases one after the other, as a job goes through them.
    fn whole(folder: &std::path::Path, request: &Request) -> Result<BTreeMap<Phase, Made>, Fault> {
        let mut made = BTreeMap::new();
        for phase in Phase::ALL {
            let order = Order { made: made.clone(), ..order(folder, request.clone(), phase) };
            made.insert(phase, order.carry_out()?);
        }
        Ok(made)
    }

    #[test]
    fn a_removed_or_retyped_field_needs_leave() {
        let folder = tempfile::tempdir().unwrap();
        let first = sample::request("shop");
        whole(folder.path(), &first).unwrap();
        let mut second = Request { id: "r-2".into(), ..first.clone() };
        second.entities[1].fields[1].r#type = Type::Text;
        let fault = whole(folder.path(), &second).unwrap_err();
        assert_eq!(fault.class, Class::MigrationIssues);
        assert!(fault.text.contains("`invoice.total` was number and would be text"), "{fault}");
        second.allow_breaking = true;
        let made = whole(folder.path(), &second).unwrap();
        assert!(matches!(&made[&Phase::GitOperations], Made::Commit(commit) if commit.sequence == 2));
        // What is done already is not judged again, although the first would now break the second.
        assert!(whole(folder.path(), &first).is_ok());
    }

    #[test]
    fn an_api_that_is_left_out_must_be_there_and_fit() {
        let folder = tempfile::tempdir().unwrap();
        let without = |id: &str, devops| Request {
            id: id.into(),
            make: Make { api: false, frontend: true, devops },
            ..sample::request("shop")
        };
        let fault = whole(folder.path(), &without("r-1", true)).unwrap_err();
        assert!((fault.class, fault.text.contains("no API")) == (Class::Validation, true), "{fault}");
        whole(folder.path(), &without("r-2", false)).unwrap();
        whole(folder.path(), &Request { id: "r-3".into(), ..sample::request("shop") }).unwrap();
        whole(folder.path(), &Request { port: 9_000, ..without("r-4", true) }).unwrap();
        let mut more = without("r-5", true);
        more.endpoints.clear();
        let fault = whole(folder.path(), &more).unwrap_err();
        assert!((fault.class, fault.text.contains("left out")) == (Class::Validation, true), "{fault}");
    }

    #[test]
    fn a_service_has_one_owner() {
        let folder = tempfile::tempdir().unwrap();
        let first = sample::request("shop");
        whole(folder.path(), &first).unwrap();
        let other = Request { id: "r-2".into(), owner: "somebody".into(), ..first };
        assert_eq!(whole(folder.path(), &other).unwrap_err().class, Class::Authorization);
    }

    #[test]
    fn a_phase_that_is_done_again_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let request = sample::request("shop");
        let first = whole(folder.path(), &request).unwrap();
        let again = whole(folder.path(), &request).unwrap();
        assert_eq!(first[&Phase::GitOperations], again[&Phase::GitOperations]);
        let serial = |made: &BTreeMap<Phase, Made>| match &made[&Phase::DnsUpdate] {
            Made::Name { zone, serial, .. } => (*zone, *serial),
            other => panic!("{other:?}"),
        };
        assert_eq!((serial(&first), serial(&again)), ((Published::Changed, 1), (Published::Already, 1)));
    }
}
