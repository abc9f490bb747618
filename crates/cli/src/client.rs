//! Talking to a running engine through its API.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use turnwise_server::Secret;
use ureq::http::{Response, StatusCode};

use crate::failure::{refused, unreachable};
use crate::place::Place;
use crate::token;

/// Longer than the server lets any request take.
const PATIENCE: Duration = Duration::from_secs(90);
/// The largest answer: a page of everything.
const ANSWER_BYTES: u64 = 64 << 20;

/// An engine to talk to.
pub(crate) struct Client {
    agent: ureq::Agent,
    place: Place,
    token: Secret,
    data: PathBuf,
}

impl Client {
    /// Finds the engine of a data directory.
    pub(crate) fn open(data: &Path) -> anyhow::Result<Client> {
        let (Some(place), Some(token)) = (Place::read(data)?, token::read(data)?) else {
            return Err(nobody(data));
        };
        let agent = ureq::Agent::config_builder()
            // This machine is not reached through a proxy.
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .build()
            .new_agent();
        Ok(Client { agent, place, token, data: data.to_owned() })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.place.address
    }

    /// Asks for something.
    pub(crate) fn get(&self, path: &str, query: &[(&str, String)]) -> anyhow::Result<Value> {
        let mut request = self.agent.get(self.url(path)).header("authorization", self.bearer());
        for (name, value) in query {
            request = request.query(name, value);
        }
        self.read(request.call())
    }

    /// Changes something.
    pub(crate) fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.agent.post(self.url(path)).header("authorization", self.bearer());
        self.read(request.send_json(body))
    }

    /// Saves something under its name.
    pub(crate) fn put(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.agent.put(self.url(path)).header("authorization", self.bearer());
        self.read(request.send_json(body))
    }

    /// Changes a part of something.
    pub(crate) fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.agent.patch(self.url(path)).header("authorization", self.bearer());
        self.read(request.send_json(body))
    }

    /// Removes something.
    pub(crate) fn delete(&self, path: &str) -> anyhow::Result<Value> {
        let request = self.agent.delete(self.url(path)).header("authorization", self.bearer());
        self.read(request.call())
    }

    /// Writes an answer as it is, however long it is and takes.
    pub(crate) fn download(
        &self,
        path: &str,
        query: &[(&str, String)],
        to: &mut dyn std::io::Write,
    ) -> anyhow::Result<()> {
        let mut request = self.agent.get(self.url(path)).header("authorization", self.bearer());
        for (name, value) in query {
            request = request.query(name, value);
        }
        let answered =
            request.config().timeout_global(None).timeout_recv_response(Some(PATIENCE)).build().call();
        match answered {
            Ok(mut response) if response.status().is_success() => {
                let copied = std::io::copy(&mut response.body_mut().as_reader(), to);
                copied.map(drop).map_err(|error| refused(format!("it broke off halfway: {error}")))
            }
            other => self.read(other).map(drop),
        }
    }

    /// The link that logs a browser in.
    pub(crate) fn link(&self) -> String {
        link(self.place.address, &self.token)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token.reveal())
    }

    /// Rows of a listing, page after page until there are enough or no more. Where to go on, if there is
    /// more.
    pub(crate) fn rows(
        &self,
        listing: &Listing,
        mut query: Vec<(&str, String)>,
        limit: usize,
    ) -> anyhow::Result<(Vec<Value>, Value)> {
        let mut rows = Vec::new();
        loop {
            let wanted = (limit - rows.len()).clamp(1, turnwise::limits::PAGE_ROWS);
            query.retain(|(name, _)| *name != "limit");
            query.push(("limit", wanted.to_string()));
            let mut page = self.get(listing.path, &query)?;
            if let Value::Array(found) = page[listing.name].take() {
                rows.extend(found);
            }
            let Some(next) = page["next"].as_str().filter(|_| rows.len() < limit) else {
                return Ok((rows, page["next"].take()));
            };
            query.retain(|(name, _)| *name != "cursor");
            query.push(("cursor", next.to_owned()));
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.place.address)
    }

    fn read(&self, answered: Result<Response<ureq::Body>, ureq::Error>) -> anyhow::Result<Value> {
        let mut response = answered.map_err(|error| self.explained(&error))?;
        let status = response.status();
        if status == StatusCode::NO_CONTENT {
            return Ok(Value::Null);
        }
        let body = response.body_mut().with_config().limit(ANSWER_BYTES).read_json::<Value>();
        let value =
            body.map_err(|error| unreachable(format!("{} gave no proper answer: {error}", self.address())))?;
        if status.is_success() {
            return Ok(value);
        }
        if status == StatusCode::UNAUTHORIZED {
            return Err(refused(format!(
                "the engine at {} does not accept the token in {}: start it again on this directory, or use \
                 the --data directory that it runs on",
                self.address(),
                self.data.join("token").display(),
            )));
        }
        Err(refused(value["detail"].as_str().unwrap_or("the engine refused without saying why")))
    }

    fn explained(&self, error: &ureq::Error) -> anyhow::Error {
        match error {
            ureq::Error::Timeout(_) => unreachable(format!(
                "the engine at {} takes too long to answer: look at its log",
                self.address()
            )),
            ureq::Error::Io(error) if error.kind() != std::io::ErrorKind::ConnectionRefused => {
                unreachable(format!("the connection to {} broke: {error}", self.address()))
            }
            _ => nobody(&self.data),
        }
    }
}

/// A listing of the API.
pub(crate) struct Listing {
    /// Its path.
    pub(crate) path: &'static str,
    /// The field with the rows.
    pub(crate) name: &'static str,
}

/// A name as a part of an address.
pub(crate) fn segment(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// The link that logs a browser in.
pub(crate) fn link(address: std::net::SocketAddr, token: &Secret) -> String {
    format!("http://{address}/?token={}", token.reveal())
}

fn nobody(data: &Path) -> anyhow::Error {
    let start = with_data("turnwise up", data);
    unreachable(format!("no engine runs on {}: start one with `{start}`", data.display()))
}

/// A command as it must be typed for this data directory.
pub(crate) fn with_data(command: &str, data: &Path) -> String {
    if data == Path::new("./turnwise-data") {
        return command.to_owned();
    }
    let data = data.display().to_string();
    let plain = data.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-+:@%".contains(letter));
    if plain {
        format!("{command} --data {data}")
    } else {
        format!("{command} --data '{}'", data.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_an_address() {
        assert_eq!(segment("a-b_c"), "a-b_c");
        assert_eq!(segment("a/b ü.%"), "a%2Fb%20%C3%BC%2E%25");
    }

    #[test]
    fn what_to_type() {
        assert_eq!(with_data("turnwise up", Path::new("./turnwise-data")), "turnwise up");
        assert_eq!(with_data("turnwise up", Path::new("/a b")), "turnwise up --data '/a b'");
        let home = tempfile::tempdir().unwrap();
        let error = Client::open(home.path()).err().unwrap();
        assert!(error.to_string().contains("turnwise up --data /"), "{error}");
        assert_eq!(crate::failure::Failure::exit_code(&error), 3);
    }
}
