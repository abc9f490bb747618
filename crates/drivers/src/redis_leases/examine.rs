//! What an operator should know about Redis. Nothing is written.

use std::time::{Duration, SystemTime};

use super::link::Link;
use super::words::WITHDRAW;
use super::{RedisOptions, link};
use crate::examine::{Finding, Findings};
use crate::leases::LeaseError;
use crate::store::StoreError;

/// Looks at everything. Each question has a limit in time.
pub(crate) async fn examine(options: &RedisOptions) -> Vec<Finding> {
    let mut findings = Findings::about("redis");
    let reached = async {
        let link = link(options)?;
        link.ping().await?;
        Ok(link)
    };
    match reached.await {
        Err(error) => findings.fail("reachable", said(&error)),
        Ok(link) => {
            findings.ok("reachable", format!("Redis answers at {}", link.place()));
            described(&link, &mut findings).await;
            rehearsed(&link, &options.prefix, &mut findings).await;
            clock(&link, &mut findings).await;
        }
    }
    findings.into_vec()
}

/// What it says of itself. Unlike its configuration, this is also told by servers that others look after.
async fn described(link: &Link, findings: &mut Findings) {
    let said: String = match link.ask(&redis::cmd("INFO")).await {
        Ok(said) => said,
        Err(error) => {
            findings.warn("version", format!("it does not say how it is set up: {}", self::said(&error)));
            return;
        }
    };
    let find = |name: &str| {
        said.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()))
    };
    let version = find("redis_version").unwrap_or_else(|| "of unknown version".into());
    findings.ok("version", format!("Redis {version}"));
    if find("role").is_some_and(|role| role != "master") {
        let text = "it is a replica and takes no writes: name the primary in TURNWISE_REDIS";
        findings.fail("primary", text);
    }
    match find("maxmemory_policy") {
        Some(policy) if policy != "noeviction" => findings.warn(
            "eviction",
            format!(
                "it may throw leases away when its memory is full (maxmemory-policy is {policy}): holders would stop for \
                 no reason. CONFIG SET maxmemory-policy noeviction, and the same in redis.conf; or use another Redis for \
                 Turnwise"
            ),
        ),
        Some(_) => findings.ok("eviction", "it throws no leases away (maxmemory-policy is noeviction)"),
        None => findings.warn(
            "eviction",
            "it does not say whether it throws keys away: maxmemory-policy must be noeviction",
        ),
    }
}

/// Runs a script of the kind that leases are made of, on a key that is not there: it changes nothing.
async fn rehearsed(link: &Link, prefix: &str, findings: &mut Findings) {
    let key = format!("{prefix}:lease:doctor");
    match link.run::<bool>(&WITHDRAW, &key, &["nobody"]).await {
        Ok(_) => findings.ok("permissions", format!("scripts may use keys that begin with {prefix}:lease:")),
        Err(error) => findings.fail(
            "permissions",
            format!(
                "scripts may not use keys that begin with {prefix}:lease: ({}). ACL SETUSER the user with \
                 ~{prefix}:lease:* +eval +evalsha +script +get +set +del +ping +info +time",
                said(&error)
            ),
        ),
    }
}

async fn clock(link: &Link, findings: &mut Findings) {
    let before = SystemTime::now();
    match link.ask::<(u64, u32)>(&redis::cmd("TIME")).await {
        Ok((seconds, micros)) => {
            let theirs = Duration::from_secs(seconds) + Duration::from_micros(micros.into());
            let so =
                "Leases are judged by the database's clock, and Redis only counts spans, so nothing breaks";
            findings.clock(theirs, (before, SystemTime::now()), so);
        }
        Err(error) => findings.warn("clock", format!("it does not tell the time: {}", said(&error))),
    }
}

/// What is wrong, without the words about a store that is none.
fn said(error: &LeaseError) -> String {
    match error {
        LeaseError::Store(StoreError::Failed(why)) => why.clone(),
        other => other.to_string(),
    }
}
