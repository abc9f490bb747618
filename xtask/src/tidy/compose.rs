//! The compose file fits the host it is written for: every service has a limit and is looked after.

use super::{Finding, Rule};
use crate::source::Tree;
use crate::source::compose::services;

pub(super) const RULE: Rule = Rule { name: "compose", check };

pub(super) const PATH: &str = "compose.yaml";

/// Of a host with 4 GB; the rest is for the system and its page cache.
const MOST_BYTES: u64 = 3_200_000_000;

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.file(PATH) else { return Vec::new() };
    let services = match services(&file.text) {
        Ok(services) => services,
        Err(error) => return vec![Finding::new(PATH, 0, format!("it cannot be read: {error}"))],
    };
    let mut found = Vec::new();
    let mut sum = 0;
    for service in &services {
        let name = &service.name;
        let mut missing = |what: &str| {
            let message = format!("service `{name}` has no {what}: give it one");
            found.push(Finding::new(PATH, 0, message));
        };
        match service.memory {
            Some(bytes) => sum += bytes * service.copies,
            None => missing("`mem_limit` such as 256m or 1g"),
        }
        if service.health.is_empty() {
            missing("health check with a list as its test");
        }
    }
    if sum > MOST_BYTES {
        let message = format!("the limits sum to {sum} bytes, at most {MOST_BYTES}: a host of 4 GB runs it");
        found.push(Finding::new(PATH, 0, message));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    fn with(services: &str) -> usize {
        places(&RULE, &[(PATH, &format!("services:\n{services}"))]).len()
    }

    const GOOD: &str = "  a: { mem_limit: 1g, healthcheck: { test: [CMD, x] } }\n";

    #[test]
    fn a_file_that_cannot_be_read_is_refused() {
        assert_eq!(places(&RULE, &[(PATH, "services: [")]), ["compose.yaml:0"]);
        assert_eq!(places(&RULE, &[("README.md", "")]), [""; 0]);
    }

    #[test]
    fn a_service_without_limit_or_health_check_is_refused() {
        assert_eq!(with(GOOD), 0);
        assert_eq!(with("  a: { healthcheck: { test: [CMD, x] } }\n"), 1);
        assert_eq!(with("  a: { mem_limit: 1g }\n"), 1);
        assert_eq!(with("  a: { image: x }\n"), 2);
    }

    #[test]
    fn limits_that_do_not_fit_are_refused() {
        let copies = GOOD.replace("mem_limit: 1g", "mem_limit: 1g, deploy: { replicas: 3 }");
        assert_eq!(with(&copies), 1);
        assert_eq!(with(&copies.replace("1g", "900m")), 0);
    }
}
