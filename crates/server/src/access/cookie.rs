//! The cookie of a browser: which token it was exchanged for and until when, signed. Nothing is kept of it here, so it
//! outlives a restart; it ends with its token.

use std::time::Duration;

use axum::http::{HeaderMap, header};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use turnwise::Time;

use super::secret::{hex, unhex};

/// Its name.
const NAME: &str = "turnwise_session";
/// How long a browser stays logged in.
const SPAN: Duration = Duration::from_secs(30 * 24 * 3600);

/// The header that sets it.
pub(crate) fn set(key: &[u8; 32], hash: &[u8; 32], now: Time) -> String {
    let text = format!("{}.{}", (now + SPAN).as_micros(), hex(hash));
    let value = format!("{text}.{}", hex(&signature(key, &text)));
    format!("{NAME}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict", SPAN.as_secs())
}

/// The header that removes it.
pub(crate) fn unset() -> String {
    format!("{NAME}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
}

/// The digest of the token that the cookie of a request stands for, if it is ours and has not run out.
pub(crate) fn read(key: &[u8; 32], headers: &HeaderMap, now: Time) -> Option<[u8; 32]> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let ours = all.flat_map(|value| value.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == NAME).then_some(value)
    })?;
    let (text, signed) = ours.rsplit_once('.')?;
    let (until, hash) = text.split_once('.')?;
    let signed: [u8; 32] = unhex(signed)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(text.as_bytes());
    mac.verify_slice(&signed).ok()?;
    let until = Time::from_micros(until.parse().ok()?);
    if until <= now { None } else { unhex(hash) }
}

fn signature(key: &[u8; 32], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn sent(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_str(value).unwrap());
        headers
    }

    #[test]
    fn signed_and_for_a_time() {
        let (key, hash, now) = ([7; 32], [9; 32], Time::from_millis(1_000));
        let set = set(&key, &hash, now);
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"));
        let pair = set.split(';').next().unwrap().to_owned();
        let mixed = sent(&format!("other=1; {pair}"));
        assert_eq!(read(&key, &mixed, now), Some(hash));
        assert_eq!(read(&key, &mixed, now + SPAN), None, "it has run out");
        assert_eq!(read(&[8; 32], &mixed, now), None, "signed by another");
        for forged in ["", "turnwise_session=", "turnwise_session=1.2.3", &pair[..pair.len() - 1]] {
            assert_eq!(read(&key, &sent(forged), now), None, "{forged}");
        }
        let longer = pair.replacen("turnwise_session=", "turnwise_session=9", 1);
        assert_eq!(read(&key, &sent(&longer), now), None, "the time was changed");
    }
}
