//! The vault: secrets with a time limit, encrypted before they reach the store, wiped when their time is over.
//!
//! A job names a secret; it never carries one. What is in the vault is not in a ticket, a log, an event, an error
//! text or a page.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::time::Time;
use turnwise_drivers::store::{Found, Read, Secret, Unit};
use zeroize::{Zeroize, Zeroizing};

use crate::Error;
use crate::engine::{Inner, odd_answer};

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;

/// Where the vault's key comes from. It is 32 bytes, written as 64 hexadecimal digits.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// An environment variable.
    Env(String),
    /// A file that only its user may read.
    File(PathBuf),
    /// A systemd credential: a file of this name in `$CREDENTIALS_DIRECTORY`.
    Credential(String),
    /// A file that is made on first use, readable for its user only, outside the database.
    MadeIn(PathBuf),
    /// A key that is forgotten with the process.
    Throwaway,
}

/// Encrypts and decrypts.
pub(crate) struct Vault {
    cipher: Aes256Gcm,
}

/// A secret that was taken out: wiped from memory when dropped, never printed.
pub struct Revealed(Zeroizing<Vec<u8>>);

impl Revealed {
    /// The secret itself.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Revealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Revealed([hidden])")
    }
}

impl Vault {
    pub(crate) fn open(source: &KeySource) -> Result<Self, Error> {
        let mut bytes = key(source)?;
        let key = Key::<Aes256Gcm>::try_from(&bytes[..]).map_err(|_| bad_key("it has the wrong length"))?;
        let cipher = Aes256Gcm::new(&key);
        bytes.zeroize();
        Ok(Vault { cipher })
    }

    /// Nonce and ciphertext. The name and the time limit are bound to it: neither can be changed without the key.
    fn seal(&self, name: &Name, until: Time, secret: &[u8]) -> Result<Vec<u8>, Error> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|error| Error::Vault(format!("no random numbers: {error}")))?;
        let bound = bound(name, until);
        let payload = Payload { msg: secret, aad: &bound };
        let sealed = self.cipher.encrypt(&Nonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| Error::Vault("a secret could not be encrypted".into()))?;
        Ok([&nonce[..], &sealed].concat())
    }

    fn reveal(&self, secret: &Secret) -> Result<Revealed, Error> {
        let wrong = || {
            Error::Vault(format!(
                "secret `{}` cannot be read with this key: is it the right one?",
                secret.name
            ))
        };
        let (nonce, sealed) = secret.sealed.split_at_checked(NONCE_BYTES).ok_or_else(wrong)?;
        let nonce = Nonce::try_from(nonce).map_err(|_| wrong())?;
        let bound = bound(&secret.name, secret.until);
        let opened =
            self.cipher.decrypt(&nonce, Payload { msg: sealed, aad: &bound }).map_err(|_| wrong())?;
        Ok(Revealed(Zeroizing::new(opened)))
    }
}

fn bound(name: &Name, until: Time) -> Vec<u8> {
    [name.as_bytes(), &until.as_micros().to_le_bytes()].concat()
}

/// The vault of an engine.
#[derive(Clone, Copy)]
pub struct VaultHandle<'a> {
    inner: &'a Inner,
}

impl fmt::Debug for VaultHandle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault")
    }
}

impl<'a> VaultHandle<'a> {
    pub(crate) fn new(inner: &'a Inner) -> Self {
        VaultHandle { inner }
    }

    /// Puts a secret in for a time. One with the same name is replaced.
    pub async fn put(&self, name: &str, secret: &[u8], keep: Duration) -> Result<(), Error> {
        if keep.is_zero() || keep > limits::DELAY {
            return Err(Error::Vault("a secret needs a time limit between now and a year from now".into()));
        }
        if secret.len() + NONCE_BYTES + 16 > limits::SECRET_BYTES {
            return Err(Error::Vault(format!(
                "a secret may have {} kB: keep it elsewhere",
                limits::SECRET_BYTES >> 10
            )));
        }
        let name = Name::new(name)?;
        let until = self.inner.store_time().await? + keep;
        let sealed = self.inner.vault.seal(&name, until, secret)?;
        let unit = Unit::Secret(name.clone(), Some(Secret { name, sealed, until }));
        self.inner.commit_one(unit).await.map(drop)
    }

    /// Takes a look at a secret. `None` if there is none, or its time is over.
    pub async fn get(&self, name: &str) -> Result<Option<Revealed>, Error> {
        let Found::Secret(found) = self.inner.read(Read::Secret(Name::new(name)?)).await? else {
            return Err(odd_answer());
        };
        let now = self.inner.store_time().await?;
        found.filter(|secret| secret.until > now).map(|secret| self.inner.vault.reveal(&secret)).transpose()
    }

    /// Wipes a secret.
    pub async fn wipe(&self, name: &str) -> Result<(), Error> {
        self.inner.commit_one(Unit::Secret(Name::new(name)?, None)).await.map(drop)
    }
}

fn key(source: &KeySource) -> Result<Zeroizing<Vec<u8>>, Error> {
    match source {
        KeySource::Env(name) => {
            let text =
                std::env::var(name).map_err(|_| bad_key(&format!("the variable {name} is not set")))?;
            from_hex(&Zeroizing::new(text))
        }
        KeySource::File(path) => read_key(path),
        KeySource::Credential(name) => {
            let directory = std::env::var_os("CREDENTIALS_DIRECTORY")
                .ok_or_else(|| bad_key("CREDENTIALS_DIRECTORY is not set: start it as a systemd unit"))?;
            // systemd sets the rights of this file, and knows better than a look at its mode.
            read_text(&Path::new(&directory).join(name))
        }
        KeySource::MadeIn(path) if path.exists() => read_key(path),
        KeySource::MadeIn(path) => make_key(path),
        KeySource::Throwaway => random_key(),
    }
}

fn random_key() -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut bytes = Zeroizing::new(vec![0; KEY_BYTES]);
    getrandom::fill(&mut bytes).map_err(|error| bad_key(&format!("no random numbers: {error}")))?;
    Ok(bytes)
}

fn make_key(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let failed = |error: std::io::Error| bad_key(&format!("{} cannot be written: {error}", path.display()));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let bytes = random_key()?;
    let text: Zeroizing<String> = Zeroizing::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    Ok(bytes)
}

fn read_key(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let failed = |error: std::io::Error| bad_key(&format!("{} cannot be read: {error}", path.display()));
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(bad_key(&format!("{0} can be read by others: chmod 600 {0}", path.display())));
    }
    read_text(path)
}

fn read_text(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let failed = |error: std::io::Error| bad_key(&format!("{} cannot be read: {error}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    let mut text = Zeroizing::new(String::new());
    std::io::Read::take(&mut file, 1_024).read_to_string(&mut text).map_err(failed)?;
    from_hex(&text)
}

fn from_hex(text: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
    let text = text.trim();
    if text.len() != 2 * KEY_BYTES || !text.is_ascii() {
        return Err(bad_key("it must be 64 hexadecimal digits"));
    }
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16);
    let bytes: Result<Vec<u8>, _> = (0..text.len()).step_by(2).map(byte).collect();
    bytes.map(Zeroizing::new).map_err(|_| bad_key("it must be 64 hexadecimal digits"))
}

fn bad_key(why: &str) -> Error {
    Error::Vault(format!("the vault's key cannot be used: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_for_its_user_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/vault.key");
        let made = key(&KeySource::MadeIn(path.clone())).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(key(&KeySource::MadeIn(path.clone())).unwrap(), made);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(key(&KeySource::File(path)).unwrap_err().to_string().contains("chmod 600"));
    }

    #[test]
    fn name_and_time_are_bound_to_the_secret() {
        let vault = Vault::open(&KeySource::Throwaway).unwrap();
        let name = Name::new("a").unwrap();
        let until = Time::from_millis(5);
        let sealed = vault.seal(&name, until, b"hush").unwrap();
        let secret = Secret { name: name.clone(), sealed, until };
        assert_eq!(vault.reveal(&secret).unwrap().expose(), b"hush");
        assert!(vault.reveal(&Secret { until: Time::from_millis(6), ..secret.clone() }).is_err());
        assert!(vault.reveal(&Secret { name: Name::new("b").unwrap(), ..secret.clone() }).is_err());
        assert!(Vault::open(&KeySource::Throwaway).unwrap().reveal(&secret).is_err());
        assert_eq!(format!("{:?}", vault.reveal(&secret).unwrap()), "Revealed([hidden])");
    }

    #[test]
    fn keys_that_are_none() {
        for text in ["", "abc", &"g".repeat(64), &"é".repeat(32)] {
            assert!(from_hex(text).is_err());
        }
        assert!(key(&KeySource::Env("TURNWISE_NO_SUCH_VARIABLE".into())).is_err());
    }
}
