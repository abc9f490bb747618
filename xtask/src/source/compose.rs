//! What tidy needs from a compose file: its services, what they run, and the memory that they may take.

use saphyr::{LoadableYamlNode as _, Yaml};

/// A service.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) name: String,
    /// Built from this workspace, rather than somebody else's image.
    pub(crate) is_ours: bool,
    /// The most bytes for each container; nothing if there is no limit that can be read.
    pub(crate) memory: Option<u64>,
    /// How many containers there are.
    pub(crate) copies: u64,
    /// The arguments of the program.
    pub(crate) command: Vec<String>,
    /// What the health check runs, `CMD` included.
    pub(crate) health: Vec<String>,
}

/// Reads the services; what is wrong with the file, if it cannot be read.
pub(crate) fn services(text: &str) -> Result<Vec<Service>, String> {
    let documents = Yaml::load_from_str(text).map_err(|error| error.to_string())?;
    let services = documents.first().and_then(|file| get(file, "services")).and_then(Yaml::as_mapping);
    let services = services.ok_or("it has no services")?;
    Ok(services.iter().map(|(name, service)| read(name.as_str().unwrap_or_default(), service)).collect())
}

fn read(name: &str, service: &Yaml<'_>) -> Service {
    let inner = |outer, key| get(service, outer).and_then(|part| get(part, key));
    Service {
        name: name.to_owned(),
        is_ours: get(service, "build").is_some(),
        memory: get(service, "mem_limit").and_then(Yaml::as_str).and_then(bytes),
        copies: inner("deploy", "replicas").and_then(Yaml::as_integer).map_or(1, i64::unsigned_abs),
        command: get(service, "command").map(list).unwrap_or_default(),
        health: inner("healthcheck", "test").map(list).unwrap_or_default(),
    }
}

/// The texts of a list in brackets, which is how YAML, JSON and a Dockerfile write it alike.
pub(crate) fn bracketed(text: &str) -> Vec<String> {
    let documents = Yaml::load_from_str(text).unwrap_or_default();
    documents.first().map(list).unwrap_or_default()
}

/// A field, or that of the mapping which is merged in with `<<`.
fn get<'a, 'b>(node: &'a Yaml<'b>, key: &str) -> Option<&'a Yaml<'b>> {
    node.as_mapping_get(key).or_else(|| get(node.as_mapping_get("<<")?, key))
}

fn list(node: &Yaml<'_>) -> Vec<String> {
    let items = node.as_vec().into_iter().flatten();
    items.filter_map(Yaml::as_str).map(str::to_owned).collect()
}

/// `256m` or `1g`, as compose counts them.
fn bytes(text: &str) -> Option<u64> {
    let shift = match text.chars().last()? {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        _ => return None,
    };
    Some(text[..text.len() - 1].parse::<u64>().ok()? << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_what_is_merged_into_it() {
        let text = "x-node: &node\n  build: .\n  mem_limit: 256m\n  healthcheck: { test: [CMD, turnwise, kinds] }\n\
                    services:\n  worker:\n    <<: *node\n    command: [\"up\", \"--roles\", \"worker\"]\n    deploy:\n      replicas: 2\n\
                    \x20 big:\n    <<: *node\n    mem_limit: 1g\n  open:\n    image: x\n    mem_limit: lots\n";
        let found = services(text).unwrap();
        let [worker, big, open] = &found[..] else { panic!("{found:?}") };
        assert_eq!((worker.is_ours, worker.memory, worker.copies), (true, Some(256 << 20), 2));
        assert_eq!(worker.command, ["up", "--roles", "worker"]);
        assert_eq!(worker.health, ["CMD", "turnwise", "kinds"]);
        assert_eq!((big.memory, big.copies), (Some(1 << 30), 1));
        assert_eq!((open.is_ours, open.memory, open.health.len()), (false, None, 0));
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for text in ["", "services: [", "volumes:\n  a:\n", "a: 1\n a: 2\n"] {
            assert!(services(text).is_err(), "{text}");
        }
    }

    #[test]
    fn brackets_are_a_list_everywhere() {
        assert_eq!(bracketed("[\"turnwise\", \"up\"]"), ["turnwise", "up"]);
        assert_eq!(bracketed("turnwise up"), [""; 0]);
    }
}
