//! Fetching what a commit will surely ask for, all at once: a question for each row would be a way to the server and
//! back for each row.

use std::collections::BTreeSet;

use tokio_postgres::Row;
use turnwise_core::ids::{JobId, SessionId};
use turnwise_core::line::LineKey;
use turnwise_core::name::Name;

use super::codec::{self, Decoded, header_columns, session_columns, tally_columns};
use super::link::Pending;
use crate::ledger::Tables;
use crate::store::{NewJob, SessionUnit, Submission, Sweep, Unit};

/// What the units of a group are about.
#[derive(Default)]
pub(super) struct Needs {
    /// Jobs that must be there.
    jobs: BTreeSet<JobId>,
    /// Jobs whose payload is wanted too.
    claimed: BTreeSet<JobId>,
    /// Jobs that are probably new.
    new: BTreeSet<JobId>,
    lines: BTreeSet<i64>,
    owners: BTreeSet<Name>,
    sessions: BTreeSet<SessionId>,
}

impl Needs {
    pub(super) fn of<'a>(units: impl Iterator<Item = &'a Unit>) -> Self {
        let mut needs = Needs::default();
        units.for_each(|unit| needs.add(unit));
        needs
    }

    fn add(&mut self, unit: &Unit) {
        match unit {
            Unit::Submit(submission) => self.add_submission(submission),
            Unit::Claim(claim) => {
                self.jobs.insert(claim.job);
                self.claimed.insert(claim.job);
                self.sessions.insert(claim.session);
            }
            Unit::Settle(settle) => {
                self.jobs.insert(settle.job);
                self.add_submission(&settle.submission);
            }
            Unit::Step(step) => {
                self.jobs.insert(step.job);
                self.add_submission(&step.submission);
            }
            Unit::Session(SessionUnit::Beat { id, .. }) => drop(self.sessions.insert(*id)),
            Unit::Sweep(Sweep::Ripen(jobs) | Sweep::CancelJobs(jobs) | Sweep::Forget(jobs)) => {
                self.jobs.extend(jobs);
            }
            Unit::Sweep(Sweep::Rescue(job, _)) => drop(self.jobs.insert(*job)),
            _ => {}
        }
    }

    fn add_submission(&mut self, submission: &Submission) {
        let mut last: Option<&NewJob> = None;
        for job in &submission.jobs {
            self.new.insert(job.id);
            // Neighbours mostly share their line.
            let same = last.is_some_and(|last| {
                last.kind == job.kind
                    && last.owner == job.owner
                    && last.priority == job.priority
                    && last.batch == job.batch
                    && last.limit_key == job.limit_key
            });
            if !same {
                self.lines.insert(line_of(job).id().as_i64());
                self.owners.insert(job.owner.clone());
            }
            last = Some(job);
        }
    }

    /// The questions for the jobs that nobody knows yet: those to be claimed with their payload, the others without.
    pub(super) fn jobs(&self, tables: &Tables) -> Vec<Pending> {
        let unknown = |id: &&JobId| !tables.jobs.knows(id);
        let claimed: Vec<i64> = self.claimed.iter().filter(unknown).map(|id| id.as_i64()).collect();
        let others = self.jobs.iter().filter(|id| !self.claimed.contains(*id)).chain(&self.new);
        let others: Vec<i64> = others.filter(unknown).map(|id| id.as_i64()).collect();
        let with = concat!("SELECT ", header_columns!(), ", payload FROM job WHERE id = ANY($1)");
        let without = concat!("SELECT ", header_columns!(), " FROM job WHERE id = ANY($1)");
        [(with, claimed), (without, others)]
            .into_iter()
            .filter(|(_, ids)| !ids.is_empty())
            .map(|(sql, ids)| Pending { sql: sql.into(), values: vec![Box::new(ids)] })
            .collect()
    }

    /// Takes over the answers. An id that was asked for and did not come is not there.
    pub(super) fn found_jobs(&self, tables: &mut Tables, answers: &[Vec<Row>]) -> Decoded<()> {
        for row in answers.iter().flatten() {
            let header = codec::header(row)?;
            if row.len() > codec::AFTER_HEADER {
                tables.payloads.found(header.id, Some(codec::blob(row, codec::AFTER_HEADER)?));
            }
            tables.jobs.found(header.id, Some(header));
        }
        self.jobs.iter().chain(&self.new).for_each(|id| tables.jobs.found(*id, None));
        Ok(())
    }

    /// The questions for everything that the jobs bring along, for somebody who knows nothing.
    pub(super) fn surroundings(&self) -> Vec<Pending> {
        let ids: Vec<i64> = self.jobs.iter().map(|id| id.as_i64()).collect();
        let lines: Vec<i64> = self.lines.iter().copied().collect();
        let owners: Vec<String> = self.owners.iter().map(|owner| owner.as_str().into()).collect();
        let sessions: Vec<i64> = self.sessions.iter().map(|id| id.as_i64()).collect();
        vec![
            Pending {
                sql: "SELECT id, kind, owner, priority, batch, limit_key FROM line \
                      WHERE id = ANY($2) OR id IN (SELECT DISTINCT line FROM job WHERE id = ANY($1))"
                    .into(),
                values: vec![Box::new(ids.clone()), Box::new(lines.clone())],
            },
            Pending {
                sql: "SELECT owner, weight, quota, backlog FROM account \
                      WHERE owner = ANY($2) OR owner IN (SELECT DISTINCT l.owner FROM line l \
                      JOIN job j ON j.line = l.id WHERE j.id = ANY($1))"
                    .into(),
                values: vec![Box::new(ids.clone()), Box::new(owners.clone())],
            },
            Pending {
                sql: concat!(
                    "SELECT owner, kind, ",
                    tally_columns!(),
                    " FROM tally WHERE owner = ANY($2) OR owner IN \
                     (SELECT DISTINCT l.owner FROM line l JOIN job j ON j.line = l.id WHERE j.id = ANY($1))"
                )
                .into(),
                values: vec![Box::new(ids), Box::new(owners)],
            },
            Pending {
                sql: concat!("SELECT ", session_columns!(), " FROM session WHERE id = ANY($1)").into(),
                values: vec![Box::new(sessions)],
            },
            Pending {
                sql: "SELECT space, key, body FROM record WHERE space IN ('kind', 'pauses')".into(),
                values: Vec::new(),
            },
        ]
    }
}

/// Takes over the answers to the questions of [`Needs::surroundings`].
pub(super) fn found_surroundings(tables: &mut Tables, answers: &[Vec<Row>]) -> Decoded<()> {
    let [lines, accounts, tallies, sessions, records] = answers else { return Ok(()) };
    for row in lines {
        let line = codec::line(row, 1)?;
        tables.lines.found(line.id(), Some(line));
    }
    for row in accounts {
        tables.accounts.found(codec::name(row, 0)?, Some(codec::account(row, 1)?));
    }
    for row in tallies {
        let key = (codec::name(row, 0)?, codec::name(row, 1)?);
        tables.tallies.found(key, Some(codec::tally(row, 2)?));
    }
    for row in sessions {
        let session = codec::session(row)?;
        tables.sessions.found(session.id, Some(session));
    }
    let mut paused = None;
    for row in records {
        match codec::get::<&str>(row, 0)? {
            "kind" => tables.kinds.found(codec::name(row, 1)?, Some(codec::json(row, 2)?)),
            _ => paused = Some(codec::json(row, 2)?),
        }
    }
    tables.pauses.found((), paused);
    Ok(())
}

fn line_of(job: &NewJob) -> LineKey {
    LineKey {
        kind: job.kind.clone(),
        owner: job.owner.clone(),
        priority: job.priority,
        batch: job.batch,
        limit_key: job.limit_key.clone(),
    }
}
