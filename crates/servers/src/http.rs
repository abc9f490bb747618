//! Just enough HTTP for the management interface of a server on this machine.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};

/// How long one question may take.
const LIMIT: Duration = Duration::from_secs(10);
/// `guest:guest`, the account that RabbitMQ accepts from its own machine only.
const ACCOUNT: &str = "Z3Vlc3Q6Z3Vlc3Q=";

/// Asks and returns the status and the body. The address is `http://HOST:PORT`.
pub(crate) fn ask(method: &str, address: &str, path: &str, body: &str) -> Result<(u16, String)> {
    let host = address.strip_prefix("http://").context("the address of a server must begin with http://")?;
    let host = host.trim_end_matches('/');
    let mut stream = TcpStream::connect(host).with_context(|| format!("nobody listens at {address}"))?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Basic {ACCOUNT}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).with_context(|| format!("no answer from {address}{path}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    Ok((status.with_context(|| format!("{address}{path} does not speak HTTP"))?, body.to_owned()))
}
