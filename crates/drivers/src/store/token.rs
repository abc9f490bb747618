//! Tokens: who may do what. Only a token's digest is ever known here, so nobody who reads the store can use one.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use turnwise_core::name::Name;
use turnwise_core::time::Time;

/// What a token allows. None of them includes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// To look.
    Read,
    /// To submit jobs.
    Submit,
    /// To run jobs.
    Work,
    /// To operate: cancel, replay, pause, change settings, make tokens.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 4] = [Scope::Read, Scope::Submit, Scope::Work, Scope::Admin];

    /// As people write it.
    pub const fn word(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Submit => "submit",
            Scope::Work => "work",
            Scope::Admin => "admin",
        }
    }
}

/// A token for access.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// What people call it.
    pub name: Name,
    /// SHA-256 of the token itself; 64 hexadecimal digits where it is written.
    #[serde(with = "digits")]
    pub hash: [u8; 32],
    /// What it allows.
    pub scopes: BTreeSet<Scope>,
    /// Whose jobs alone it is good for; everybody's if nothing is said.
    pub owners: Option<BTreeSet<Name>>,
    /// When it was made.
    pub made: Time,
    /// When it ends.
    pub until: Option<Time>,
}

/// The digest is shown to nobody who need not compare it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("name", &self.name)
            .field("scopes", &self.scopes)
            .field("owners", &self.owners)
            .field("made", &self.made)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

mod digits {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(hash: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        let text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(deserializer)?;
        let bad = || D::Error::custom("a digest has 64 hexadecimal digits");
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let mut hash = [0; 32];
        for (place, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).map_err(|_| bad())?;
        }
        Ok(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_it_is_written() {
        let token = Token {
            name: Name::new("first").unwrap(),
            hash: std::array::from_fn(|place| place as u8 * 8),
            scopes: BTreeSet::from([Scope::Admin, Scope::Read]),
            owners: Some(BTreeSet::from([Name::new("acme").unwrap()])),
            made: Time::from_micros(5),
            until: None,
        };
        let text = serde_json::to_string(&token).unwrap();
        assert!(text.contains("\"00081018202830") && text.contains("[\"read\",\"admin\"]"), "{text}");
        assert_eq!(serde_json::from_str::<Token>(&text).unwrap(), token);
        assert!(!format!("{token:?}").contains("0008"));
        for bad in ["00", "é", &"g".repeat(64), &"é".repeat(32)] {
            let bad = text.replace(&"00081018202830".to_owned(), bad);
            assert!(serde_json::from_str::<Token>(&bad).is_err(), "{bad}");
        }
    }
}
