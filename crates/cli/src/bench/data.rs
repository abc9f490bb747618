//! Throw-away data: a directory, or a schema and names of one's own on the servers of a fleet. Gone after the
//! measurement.

use std::path::Path;

use turnwise::{Config, Cost, FleetOptions, Meter, PostgresOptions, remove_schema};

use super::Options;
use super::machine::bytes_in;
use crate::failure::usage;
use crate::settings::{Flags, Settings};

pub(super) enum Data {
    Directory(tempfile::TempDir),
    Schema(Box<FleetOptions>),
}

impl Data {
    pub(super) fn new(options: &Options) -> anyhow::Result<Self> {
        match options.profile.as_str() {
            "embedded" => Ok(Data::Directory(options.throw_away()?)),
            _ => {
                let flags = Flags::from([("profile", options.profile.clone())]);
                let servers = Settings::load(None, flags)?.fleet;
                let mut servers = servers.ok_or_else(|| usage("the profile is embedded or fleet"))?;
                let own = format!("turnwise_bench_{}", getrandom::u64()?);
                servers.postgres.schema.clone_from(&own);
                servers.rabbitmq.prefix = Some(own.clone());
                if let Some(redis) = &mut servers.redis {
                    redis.prefix = own;
                }
                Ok(Data::Schema(Box::new(servers)))
            }
        }
    }

    pub(super) fn config(&self) -> Config {
        match self {
            Data::Directory(directory) => Config::embedded(directory.path()),
            Data::Schema(servers) => Config::fleet((**servers).clone()),
        }
    }

    /// What is on the disk, and what a server did for it.
    pub(super) async fn cost(&self) -> anyhow::Result<Cost> {
        match self {
            Data::Directory(directory) => Ok(Cost { bytes: bytes_in(directory.path()), ..Cost::default() }),
            Data::Schema(servers) => {
                let database = servers.postgres.clone();
                // It waits for the server.
                let asked = tokio::task::spawn_blocking(move || Meter::connect(&database)?.cost());
                Ok(asked.await??)
            }
        }
    }

    /// The database of a fleet.
    pub(super) fn database(&self) -> anyhow::Result<&PostgresOptions> {
        match self {
            Data::Schema(servers) => Ok(&servers.postgres),
            Data::Directory(_) => Err(usage("this is measured with --profile fleet only")),
        }
    }

    /// The directory, for what is measured on one machine only.
    pub(super) fn directory(&self) -> anyhow::Result<&Path> {
        match self {
            Data::Directory(directory) => Ok(directory.path()),
            Data::Schema(_) => Err(usage("this is measured with --profile embedded only")),
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if let Data::Schema(servers) = self
            && let Err(error) = remove_schema(&servers.postgres)
        {
            tracing::warn!(%error, schema = servers.postgres.schema, "the schema could not be removed");
        }
    }
}
