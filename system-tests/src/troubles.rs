//! Jobs that make trouble, and the fleet that they make it on.

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use turnwise::{Config, FleetOptions, Job, PostgresOptions, RabbitOptions, secs};

macro_rules! jobs {
    ($($(#[$doc:meta])* $name:ident $kind:literal { $($field:ident)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[allow(missing_docs, reason = "the names say it")]
        pub struct $name { $(pub $field: u64),* }

        impl Job for $name {
            const KIND: &'static str = $kind;
            type Output = ();
        }
    )*};
}

jobs! {
    /// Keeps a processor busy.
    Crunch "crunch" { number ms }
    /// Kills whoever runs it.
    Poison "poison" {}
    /// Never ends by itself.
    Stuck "stuck" {}
    /// Writes a file on the worker's own disk.
    Keep "keep" { number }
}

/// The fleet that the environment names. Dead workers are noticed soon.
pub fn config() -> anyhow::Result<Config> {
    let named = |variable: &str| std::env::var(variable).with_context(|| format!("{variable} is not set"));
    Ok(config_of(&named("TURNWISE_POSTGRES")?, &named("TURNWISE_RABBITMQ")?, &named("TURNWISE_SCHEMA")?))
}

/// The same, by name.
pub fn config_of(postgres: &str, rabbitmq: &str, schema: &str) -> Config {
    let servers = FleetOptions {
        postgres: PostgresOptions { schema: schema.to_owned(), ..PostgresOptions::new(postgres) },
        rabbitmq: RabbitOptions { url: rabbitmq.to_owned(), prefix: Some(schema.to_owned()), ca_file: None },
        redis: None,
    };
    Config::fleet(servers).session(secs(3)).scheduler_lease(secs(3))
}
