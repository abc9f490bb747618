//! Servers for a fleet: real ones, with a schema, a virtual host and a prefix that nobody else uses.

use std::process::Stdio;

use turnwise::PostgresOptions;
use turnwise_servers::{Vhost, shared};

use crate::harness::{Ran, program};

/// A fleet that leaves nothing behind.
pub(crate) struct Fleet {
    postgres: PostgresOptions,
    vhost: Vhost,
    redis: String,
    /// Of everything: exchanges, queues, keys.
    pub(crate) prefix: String,
}

impl Fleet {
    pub(crate) fn new() -> Fleet {
        let name = format!("cli-{:016x}", getrandom::u64().unwrap());
        let url = shared::postgres().unwrap();
        Fleet {
            postgres: PostgresOptions { schema: name.clone(), ..PostgresOptions::new(url) },
            vhost: shared::vhost().unwrap(),
            redis: shared::redis().unwrap(),
            prefix: name,
        }
    }

    /// The schema that everything is in.
    pub(crate) fn schema(&self) -> &str {
        &self.postgres.schema
    }

    /// The database that the schema is in.
    pub(crate) fn database(&self) -> &str {
        &self.postgres.url
    }

    /// What a node of it is told, with some of it said differently.
    pub(crate) fn variables<'a>(&'a self, differently: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let mut variables = vec![
            ("TURNWISE_PROFILE", "fleet"),
            ("TURNWISE_POSTGRES", &self.postgres.url),
            ("TURNWISE_RABBITMQ", self.vhost.url()),
            ("TURNWISE_REDIS", &self.redis),
            ("TURNWISE_SCHEMA", &self.postgres.schema),
            ("TURNWISE_PREFIX", &self.prefix),
        ];
        variables.retain(|(name, _)| differently.iter().all(|(other, _)| other != name));
        variables.extend(differently);
        variables
    }

    /// Runs a command to its end as a node of it would.
    pub(crate) fn run(&self, arguments: &[&str], differently: &[(&str, &str)]) -> Ran {
        let mut command = program();
        command.args(arguments).envs(self.variables(differently)).stdin(Stdio::null());
        Ran::of(&command.output().unwrap())
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        turnwise::remove_schema(&self.postgres).unwrap();
    }
}
