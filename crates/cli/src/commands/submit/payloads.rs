//! Where payloads come from. Each is checked here, so that a mistake names its line and column.

use std::io::{BufRead, Read};

use serde_json::Value;
use turnwise::limits;

use crate::failure::usage;

/// A payload and its size.
type Sized = anyhow::Result<(Value, usize)>;

/// Payloads, one after the other.
pub(super) struct Payloads<'a>(Box<dyn Iterator<Item = Sized> + 'a>);

impl<'a> Payloads<'a> {
    /// The same one, so many times.
    pub(super) fn repeated(payload: Value, count: u32) -> Payloads<'a> {
        let size = payload.to_string().len();
        Payloads(Box::new((0..count).map(move |_| Ok((payload.clone(), size)))))
    }

    /// One per line. They are taken while they are sent, so a long input needs no memory.
    pub(super) fn lines(mut from: impl BufRead + 'a) -> Payloads<'a> {
        let mut number = 0;
        let next = move || loop {
            let mut line = Vec::new();
            number += 1;
            let read = (&mut from).take(limits::PAYLOAD_BYTES as u64 + 2).read_until(b'\n', &mut line);
            match read {
                Ok(0) => return None,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(size) => {
                    return Some(parse(&line, &format!("line {number}")).map(|payload| (payload, size)));
                }
                Err(error) => return Some(Err(usage(format!("cannot read line {number}: {error}")))),
            }
        };
        Payloads(Box::new(std::iter::from_fn(next)))
    }
}

impl Iterator for Payloads<'_> {
    type Item = Sized;

    fn next(&mut self) -> Option<Sized> {
        self.0.next()
    }
}

/// A payload that was given as an argument; `-` stands for standard input.
pub(crate) fn one(text: &str) -> anyhow::Result<Value> {
    if text != "-" {
        return parse(text.as_bytes(), "the payload");
    }
    let mut bytes = Vec::new();
    let most = limits::PAYLOAD_BYTES as u64 + 1;
    std::io::stdin()
        .lock()
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| usage(format!("cannot read standard input: {error}")))?;
    parse(&bytes, "standard input")
}

fn parse(bytes: &[u8], what: &str) -> anyhow::Result<Value> {
    if bytes.trim_ascii().len() > limits::PAYLOAD_BYTES {
        let most = limits::PAYLOAD_BYTES >> 20;
        return Err(usage(format!(
            "{what} is larger than {most} MiB: keep the data elsewhere and submit where it is"
        )));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        usage(format!(
            "{what} is no JSON: {error}. Put it in single quotes, such as '{{\"name\":\"value\"}}'"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_are_taken_one_by_one() {
        let text = b"{\"a\":1}\n\n  2\n\"x\"";
        let values: Vec<Value> = Payloads::lines(&text[..]).map(|payload| payload.unwrap().0).collect();
        assert_eq!(values, [json!({"a": 1}), json!(2), json!("x")]);
        let mut bad = Payloads::lines(&b"1\n{,\n"[..]);
        assert!(bad.next().unwrap().is_ok());
        let error = bad.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("line 2 is no JSON") && error.contains("column 2"), "{error}");
    }

    #[test]
    fn what_is_too_large() {
        let long = format!("\"{}\"", "x".repeat(limits::PAYLOAD_BYTES));
        assert!(one(&long).unwrap_err().to_string().contains("larger than 1 MiB"));
        let error = Payloads::lines(long.as_bytes()).next().unwrap().unwrap_err().to_string();
        assert!(error.contains("line 1 is larger"), "{error}");
        let fits = format!("\"{}\"\n", "x".repeat(limits::PAYLOAD_BYTES - 2));
        assert!(Payloads::lines(fits.as_bytes()).next().unwrap().is_ok());
    }
}
