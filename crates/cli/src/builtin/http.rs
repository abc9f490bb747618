//! `http` sends one request. Off unless allowed: whoever may submit jobs may then reach what this machine can
//! reach.
//!
//! Header values are secrets: they are never shown with the job and never quoted in an error. Neither is the
//! path of the address, which often carries a key; an error names the host only. Redirects are not followed,
//! because headers would go to a host that nobody named.

use std::io::Read as _;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnwise::{Context, Job, Outcome, Stop};
use ureq::http::{self, HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use ureq::tls::{RootCerts, TlsConfig};

/// The longest request, and how long one may take unless it says. A thread cannot be stopped from outside, so
/// this is also how long a cancelled job may go on.
const LONGEST: Duration = Duration::from_secs(300);
const USUAL: Duration = Duration::from_secs(30);
/// What is kept of the response's body; in JSON it may become six times as long.
const BODY_BYTES: u64 = 128 << 10;

/// A request.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Http {
    #[serde(default = "get")]
    method: String,
    url: String,
    /// Names and values. Read by hand: what serde says of a wrong one would quote it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    headers: Value,
    /// Sent as it is if it is a text, as JSON if it is anything else.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    body: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

fn get() -> String {
    "GET".into()
}

/// What came back.
#[derive(Serialize, Deserialize)]
pub(crate) struct Reply {
    status: u16,
    body: String,
    /// Whether there was more than is kept.
    cut: bool,
}

impl Job for Http {
    const KIND: &'static str = "http";
    const SENSITIVE: &'static [&'static str] = &["headers"];
    type Output = Reply;
}

/// A request that makes sense.
pub(super) struct Ready {
    request: Request<Vec<u8>>,
    limit: Duration,
    /// What an error may say about where it went.
    host: String,
}

impl Http {
    pub(super) fn request(&self) -> Result<Ready, String> {
        let uri: Uri =
            self.url.parse().map_err(|_| "`url` is not an address: write it as https://host/path")?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err("`url` needs a scheme and a host: write it as https://host/path".into());
        };
        if !matches!(scheme, "http" | "https") {
            return Err("`url` must begin with http:// or https://".into());
        }
        if authority.as_str().contains('@') {
            return Err(
                "`url` carries a user name or password: put it into `headers`, they are never shown".into()
            );
        }
        let method = Method::from_bytes(self.method.as_bytes()).map_err(|_| "`method` is not a method")?;
        let limit = match self.timeout_ms {
            None => USUAL,
            Some(0) => return Err("`timeout_ms` is 0: give the request some time".into()),
            Some(millis) => super::within("timeout_ms", millis, LONGEST)?,
        };
        let host = format!("{scheme}://{authority}");
        let mut headers = self.headers()?;
        let body = match &self.body {
            Value::Null => Vec::new(),
            Value::String(text) => text.clone().into_bytes(),
            other => {
                headers
                    .entry(header::CONTENT_TYPE)
                    .or_insert(http::HeaderValue::from_static("application/json"));
                other.to_string().into_bytes()
            }
        };
        let mut request =
            Request::builder().method(method).uri(uri).body(body).map_err(|_| "it is no request")?;
        *request.headers_mut() = headers;
        Ok(Ready { request, limit, host })
    }

    fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        let given = match &self.headers {
            Value::Null => return Ok(headers),
            Value::Object(given) => given,
            _ => return Err("`headers` must be an object of names and values".into()),
        };
        for (name, value) in given {
            let bad = |why: &str| format!("header `{}` {why}", name.escape_default());
            let name: http::HeaderName = name.parse().map_err(|_| bad("has a name that is none"))?;
            let value = value.as_str().ok_or_else(|| bad("needs a text as its value"))?;
            let value = value.parse().map_err(|_| bad("has a value that cannot be sent"))?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a handler owns its job")]
pub(crate) fn http(job: Http, _ctx: Context) -> Outcome<Reply> {
    let Ready { request, limit, host } = job.request().map_err(Stop::never)?;
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(limit))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .allow_non_standard_methods(true)
        // Whom this machine trusts: a company's own authority is not on the world's list.
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .build()
        .new_agent();
    // An empty body would make a GET announce one.
    let sent = if request.body().is_empty() { agent.run(request.map(|_| ())) } else { agent.run(request) };
    let response = sent.map_err(|error| failed(&host, &error))?;
    judge(&host, response.status(), response.headers())?;
    reply(&host, response)
}

/// Whether an answer is one to keep, to try again for, or to give up on.
fn judge(host: &str, status: StatusCode, headers: &HeaderMap) -> Outcome {
    let said = format!("{host} answered {status}");
    if status.is_success() {
        return Ok(());
    }
    if status.is_redirection() {
        return Err(Stop::never(format!(
            "{said}: redirects are not followed, use the address that it points to"
        )));
    }
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(match retry_after(headers, SystemTime::now()) {
            Some(wait) => Stop::retry_after(wait, said),
            None => Stop::retry(said),
        });
    }
    Err(Stop::never(said))
}

/// When the other side wants to be asked again: in seconds, or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(SystemTime::from(date.timestamp()).duration_since(now).unwrap_or(Duration::ZERO))
}

fn reply(host: &str, response: Response<ureq::Body>) -> Outcome<Reply> {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    let read = response.into_body().into_reader().take(BODY_BYTES + 1).read_to_end(&mut body);
    read.map_err(|error| Stop::retry(format!("the answer of {host} broke off: {}", error.kind())))?;
    let cut = body.len() as u64 > BODY_BYTES;
    body.truncate(BODY_BYTES as usize);
    Ok(Reply { status, body: String::from_utf8_lossy(&body).into_owned(), cut })
}

/// What went wrong, in words that quote nothing of the request.
fn failed(host: &str, error: &ureq::Error) -> Stop {
    let why = match error {
        ureq::Error::Timeout(_) => "took too long".to_owned(),
        ureq::Error::HostNotFound => "cannot be found".to_owned(),
        ureq::Error::ConnectionFailed => "cannot be reached".to_owned(),
        // This is how a certificate that is not trusted arrives here.
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            "cannot be trusted".to_owned()
        }
        ureq::Error::Io(error) => format!("cannot be reached ({})", error.kind()),
        ureq::Error::Protocol(_) => "does not speak HTTP properly".to_owned(),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) => "cannot be trusted".to_owned(),
        _ => "could not be asked".to_owned(),
    };
    Stop::retry(format!("{host} {why}"))
}

#[cfg(test)]
#[path = "http/tests.rs"]
mod tests;
