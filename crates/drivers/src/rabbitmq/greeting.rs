//! What RabbitMQ says of itself before anybody has logged in. The library does not pass it on.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;

use futures_io::{AsyncRead, AsyncWrite};
use lapin::tcp::AMQPUriTcpExt;

use super::address::Address;

/// What a client says first: version 0-9-1 of the protocol.
const HELLO: &[u8] = b"AMQP\x00\x00\x09\x01";
/// The server's first frame: kind, channel and length, then as many bytes.
const HEAD: usize = 7;
/// The longest first frame that is read.
const LONGEST: usize = 16 << 10;
/// In the table of its properties: the length of a key, the key, and the mark of a text.
const VERSION: &[u8] = b"\x07versionS";

/// The version of the server, if it says.
pub(super) async fn version(address: &Address) -> Option<String> {
    let runtime = lapin::runtime::default_runtime().ok()?;
    let (uri, tls) = (address.uri(), address.tls());
    let mut stream = uri.connect_with_config_async(tls.as_ref(), &runtime).await.ok()?;
    let first = greeted(&mut stream).await.ok()?;
    version_in(&first)
}

async fn greeted(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<Vec<u8>> {
    let mut sent = 0;
    while sent < HELLO.len() {
        match poll_fn(|context| Pin::new(&mut *stream).poll_write(context, &HELLO[sent..])).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            some => sent += some,
        }
    }
    let (mut frame, mut part) = (Vec::new(), [0; 1_024]);
    while frame.len() < whole(&frame).min(LONGEST) {
        match poll_fn(|context| Pin::new(&mut *stream).poll_read(context, &mut part)).await? {
            0 => break,
            some => frame.extend_from_slice(&part[..some]),
        }
    }
    Ok(frame)
}

/// How long a frame is, as far as its beginning tells.
fn whole(frame: &[u8]) -> usize {
    match frame.get(3..HEAD).and_then(|length| length.try_into().ok()) {
        Some(length) => HEAD + u32::from_be_bytes(length) as usize,
        None => HEAD,
    }
}

fn version_in(frame: &[u8]) -> Option<String> {
    let at = frame.windows(VERSION.len()).position(|bytes| bytes == VERSION)? + VERSION.len();
    let length = u32::from_be_bytes(frame.get(at..at + 4)?.try_into().ok()?) as usize;
    String::from_utf8(frame.get(at + 4..at + 4 + length)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_wherever_the_greeting_ends() {
        let mut frame = b"\x01\x00\x00\x00\x00\x00\x20..\x07productS\x00\x00\x00\x01R".to_vec();
        frame.extend_from_slice(b"\x07versionS\x00\x00\x00\x063.10.8rest");
        assert_eq!(version_in(&frame).as_deref(), Some("3.10.8"));
        for end in 0..frame.len() - 4 {
            assert_eq!(version_in(&frame[..end]), None, "{end}");
        }
        assert_eq!([whole(b""), whole(&frame)], [7, 39]);
    }
}
