//! Signed messages (RFC 8945, HMAC-SHA256): the name server knows who asks, and the forge knows who answers.

use std::fmt;

use base64::Engine as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::wire::{ANY, Answer, Message, TSIG, after_name, name_at, wire_name};
use crate::fault::{Class, Fault};

const ALGORITHM: &str = "hmac-sha256.";
/// By how many seconds clocks may differ.
const FUDGE: u16 = 300;

/// A key that a name server knows too. It is never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    name: String,
    secret: Vec<u8>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Key {
    /// Reads `NAME:SECRET`, with the secret in base64 as `tsig-keygen` prints it.
    pub fn parse(text: &str) -> Result<Key, String> {
        let bad = "is no key: write it as NAME:SECRET, with the secret as `tsig-keygen` prints it";
        let (name, secret) = text.split_once(':').ok_or(bad)?;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        let labels_fit = name.split('.').all(|label| label.len() <= 63);
        if name.is_empty() || name.len() > 200 || !labels_fit || !name.chars().all(plain) {
            return Err(bad.into());
        }
        let secret = base64::engine::general_purpose::STANDARD.decode(secret.trim()).map_err(|_| bad)?;
        if secret.len() < 16 {
            return Err("is too short: a secret has at least 16 bytes".into());
        }
        Ok(Key { name: name.to_owned(), secret })
    }

    fn mac(&self) -> Hmac<Sha256> {
        // Any length is a key for this.
        Hmac::new_from_slice(&self.secret).expect("a key of any length")
    }

    /// Signs a message; the signature, which the answer's is made from.
    pub(super) fn sign(&self, message: &mut Message, id: u16, now: u64) -> Vec<u8> {
        let time = &now.to_be_bytes()[2..];
        let mut mac = self.mac();
        mac.update(&message.bytes);
        mac.update(&self.variables(time, FUDGE, 0, &[]));
        let signature = mac.finalize().into_bytes().to_vec();
        let mut data = wire_name(ALGORITHM);
        data.extend(time);
        data.extend(FUDGE.to_be_bytes());
        data.extend((signature.len() as u16).to_be_bytes());
        data.extend(&signature);
        data.extend(id.to_be_bytes());
        data.extend([0, 0, 0, 0]);
        message.record(3, &self.name, TSIG, ANY, 0, &data);
        signature
    }

    /// What is signed beside the message itself.
    fn variables(&self, time: &[u8], fudge: u16, error: u16, other: &[u8]) -> Vec<u8> {
        let mut bytes = wire_name(&self.name);
        bytes.extend(ANY.to_be_bytes());
        bytes.extend(0_u32.to_be_bytes());
        bytes.extend(wire_name(ALGORITHM));
        bytes.extend(time);
        bytes.extend(fudge.to_be_bytes());
        bytes.extend(error.to_be_bytes());
        bytes.extend((other.len() as u16).to_be_bytes());
        bytes.extend(other);
        bytes
    }

    /// Whether the answer to a signed message comes from whom it should.
    pub(super) fn verify(&self, answer: &Answer<'_>, asked: &[u8], now: u64) -> Result<(), Fault> {
        let wrong = |what: &str| Fault::new(Class::Authorization, format!("the name server's answer {what}"));
        let Some(last) = answer.records.last().filter(|last| last.kind == TSIG) else {
            return Err(wrong("is not signed: does it know the key?"));
        };
        let parts = || {
            let name = name_at(answer.bytes, last.begin)?;
            let rest = last.data.get(after_name(last.data, 0)?..)?;
            let (time, rest) = rest.split_at_checked(6)?;
            let (head, rest) = rest.split_at_checked(4)?;
            let (signature, rest) =
                rest.split_at_checked(usize::from(u16::from_be_bytes([head[2], head[3]])))?;
            let (tail, other) = rest.split_at_checked(6)?;
            let (fudge, error) =
                (u16::from_be_bytes([head[0], head[1]]), u16::from_be_bytes([tail[2], tail[3]]));
            Some((name, time, fudge, signature, error, other))
        };
        let Some((name, time, fudge, signature, error, other)) = parts() else {
            return Err(wrong("has a signature that cannot be read"));
        };
        if error != 0 || name != wire_name(&self.name) {
            return Err(wrong(&format!(
                "refuses the signature with error {error}: do both have the same key and time?"
            )));
        }
        let mut unsigned = answer.bytes[..last.begin].to_vec();
        let additional = u16::from_be_bytes([unsigned[10], unsigned[11]]).saturating_sub(1);
        unsigned[10..12].copy_from_slice(&additional.to_be_bytes());
        let mut mac = self.mac();
        mac.update(&(asked.len() as u16).to_be_bytes());
        mac.update(asked);
        mac.update(&unsigned);
        mac.update(&self.variables(time, fudge, error, other));
        mac.verify_slice(signature).map_err(|_| wrong("has a wrong signature"))?;
        let signed = time.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        match signed.abs_diff(now) <= u64::from(FUDGE) {
            true => Ok(()),
            false => Err(wrong("was signed at another time: set the clocks")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_and_never_printed() {
        let key = Key::parse("forge:c2VjcmV0LXNlY3JldC1zZWNyZXQ=").unwrap();
        assert_eq!(key.secret, b"secret-secret-secret");
        let printed = format!("{key:?}");
        assert!(
            printed.contains("forge") && !printed.contains("secret") && !printed.contains("115"),
            "{printed}"
        );
        for bad in [
            "",
            "forge",
            "forge:???",
            "forge:c2g=",
            ":c2VjcmV0LXNlY3JldC1zZWNyZXQ=",
            "a b:c2VjcmV0LXNlY3JldC1zZWNyZXQ=",
        ] {
            assert!(Key::parse(bad).is_err(), "{bad}");
        }
    }
}
