//! HTTP/1.1, as much of it as one request for each connection needs. Everything that comes in has a limit.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::json::Value;

/// The longest line of a head.
const LINE: usize = 8 << 10;
/// Most headers.
const HEADERS: usize = 64;
/// The largest body.
const BODY: usize = 1 << 20;

/// What a client asks for.
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What it gets.
pub struct Response {
    pub status: u16,
    pub kind: &'static str,
    pub body: Vec<u8>,
    pub location: Option<String>,
}

impl Request {
    /// Reads a request. One that makes no sense is answered instead.
    pub fn read(connection: &TcpStream) -> std::io::Result<Result<Request, Response>> {
        let mut input = BufReader::new(connection);
        let Some(first) = line(&mut input)? else { return Ok(Err(Response::error(431, "a line is too long"))) };
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Ok(Err(Response::error(400, "the request line makes no sense")));
        };
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return Ok(Err(Response::error(400, "the request line makes no sense")));
        }
        let (method, target) = (method.to_owned(), target.to_owned());
        let length = match head(&mut input)? {
            Ok(length) => length,
            Err(response) => return Ok(Err(response)),
        };
        let mut body = vec![0; length];
        input.read_exact(&mut body)?;
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let (Some(path), Some(query)) = (decoded(path), pairs(query)) else {
            return Ok(Err(Response::error(400, "the address cannot be read")));
        };
        Ok(Ok(Request { method, path, query, body }))
    }
}

/// Reads headers up to the empty line; how long the body is.
fn head(input: &mut impl BufRead) -> std::io::Result<Result<usize, Response>> {
    let mut length = 0;
    for _ in 0..=HEADERS {
        let Some(header) = line(input)? else { return Ok(Err(Response::error(431, "a header is too long"))) };
        if header.is_empty() {
            return Ok(Ok(length));
        }
        let Some((name, value)) = header.split_once(':') else {
            return Ok(Err(Response::error(400, "a header has no colon")));
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => match value.trim().parse() {
                Ok(said) if said <= BODY => length = said,
                Ok(_) => return Ok(Err(Response::error(413, "the body is larger than 1 MiB"))),
                Err(_) => return Ok(Err(Response::error(400, "the length of the body is no number"))),
            },
            "transfer-encoding" => {
                return Ok(Err(Response::error(411, "send the body in one piece, with its length")));
            }
            _ => {}
        }
    }
    Ok(Err(Response::error(431, "there are too many headers")))
}

/// One line without its end; nothing if it is too long.
fn line(input: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut line = Vec::new();
    input.take(LINE as u64).read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&line);
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn pairs(query: &str) -> Option<Vec<(String, String)>> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(&value.replace('+', " "))?))
        })
        .collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

impl Response {
    /// JSON.
    pub fn json(status: u16, value: &Value) -> Response {
        let body = value.to_string().into_bytes();
        Response { status, kind: "application/json", body, location: None }
    }

    /// Nothing to say.
    pub fn empty() -> Response {
        Response { status: 204, kind: "application/json", body: Vec::new(), location: None }
    }

    /// What went wrong.
    pub fn error(status: u16, detail: &str) -> Response {
        Response::json(status, &Value::Object(vec![("error".into(), Value::Text(detail.into()))]))
    }

    /// Writes it.
    pub fn send(&self, mut connection: &TcpStream, head_only: bool) -> std::io::Result<()> {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\
             X-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'self'\r\n",
            self.status,
            reason(self.status),
            self.kind,
            self.body.len()
        );
        if let Some(location) = &self.location {
            head.push_str(&format!("Location: {location}\r\n"));
        }
        head.push_str("\r\n");
        connection.write_all(head.as_bytes())?;
        if !head_only {
            connection.write_all(&self.body)?;
        }
        connection.flush()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
