//! A name server that takes updates (RFC 2136). The mark that was seen there is the condition of the change: if
//! somebody changed it meanwhile, the server refuses the whole of it.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::wire::{self, Answer, Message};
use super::{Key, Mark, Published, Record};
use crate::fault::{Class, Fault};

/// How long the server may take for anything.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long others may remember a name.
const TTL: u32 = 300;

/// A name server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameServer {
    /// Where it listens.
    pub address: SocketAddr,
    /// What updates are signed with. Without one, the server must trust the address alone.
    pub key: Option<Key>,
}

impl NameServer {
    /// Publishes a record below an origin, once.
    pub(crate) fn publish(&self, origin: &str, record: &Record) -> Result<Published, Fault> {
        let marked = format!("_forge.{}.{origin}", record.service);
        let current = self.mark(&marked)?;
        let published = record.mark.after(current.as_ref())?;
        if published != Published::Changed {
            return Ok(published);
        }
        let mut update = Message::new(id()?, wire::UPDATE);
        update.ask(origin, wire::SOA);
        match &current {
            Some(seen) => {
                let seen = wire::texts(&seen.texts());
                update.record(wire::PREREQUISITES, &marked, wire::TXT, wire::IN, 0, &seen);
            }
            None => update.record(wire::PREREQUISITES, &marked, wire::TXT, wire::NONE, 0, &[]),
        }
        let name = format!("{}.{origin}", record.service);
        for (name, kind) in [(&name, wire::A), (&name, wire::AAAA), (&marked, wire::TXT)] {
            update.record(wire::UPDATES, name, kind, wire::ANY, 0, &[]);
        }
        let (kind, data) = match record.address {
            IpAddr::V4(address) => (wire::A, address.octets().to_vec()),
            IpAddr::V6(address) => (wire::AAAA, address.octets().to_vec()),
        };
        update.record(wire::UPDATES, &name, kind, wire::IN, TTL, &data);
        let texts = wire::texts(&record.mark.texts());
        update.record(wire::UPDATES, &marked, wire::TXT, wire::IN, TTL, &texts);
        self.exchange(update, |_| Ok(()))?;
        Ok(Published::Changed)
    }

    /// The mark beside a name, if there is one.
    fn mark(&self, name: &str) -> Result<Option<Mark>, Fault> {
        let mut question = Message::new(id()?, wire::QUERY);
        question.ask(name, wire::TXT);
        self.exchange(question, |answer| {
            let Some(found) = answer.records.iter().find(|record| record.kind == wire::TXT) else {
                return Ok(None);
            };
            let mark = wire::read_texts(found.data).and_then(|texts| Mark::read(texts.into_iter()));
            let odd = || {
                Fault::new(Class::Dns, format!("the text at {name} was not written by a forge: remove it"))
            };
            mark.map(Some).ok_or_else(odd)
        })
    }

    /// Sends a message and looks at the answer.
    fn exchange<T>(
        &self,
        mut message: Message,
        look: impl FnOnce(&Answer<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let id = u16::from_be_bytes([message.bytes[0], message.bytes[1]]);
        let signature = self.key.as_ref().map(|key| key.sign(&mut message, id, seconds()));
        let bytes = self.carried(&message.bytes).map_err(|error| {
            Fault::new(Class::Dns, format!("the name server at {} does not answer: {error}", self.address))
        })?;
        let Some(answer) = Answer::read(&bytes, id) else {
            return Err(Fault::new(Class::Dns, "the name server's answer cannot be read"));
        };
        if let (Some(key), Some(signature)) = (&self.key, &signature) {
            key.verify(&answer, signature, seconds())?;
        }
        match answer.code {
            // There is no such name: nothing was found there.
            0 | 3 => look(&answer),
            5 | 9 => Err(Fault::new(
                Class::Authorization,
                "the name server refuses the update: allow it for this key (allow-update, update-policy)",
            )),
            6..=8 => {
                Err(Fault::new(Class::Dns, "somebody changed the name meanwhile: it is looked at again"))
            }
            code => Err(Fault::new(
                Class::Dns,
                format!("the name server answers with code {code}: look at its log"),
            )),
        }
    }

    fn carried(&self, message: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut connection = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        let length = u16::try_from(message.len()).map_err(std::io::Error::other)?;
        connection.write_all(&[&length.to_be_bytes(), message].concat())?;
        let mut length = [0; 2];
        connection.read_exact(&mut length)?;
        let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
        connection.read_exact(&mut answer)?;
        Ok(answer)
    }
}

/// A number that an answer is recognised by.
fn id() -> Result<u16, Fault> {
    let chance = getrandom::u32().map_err(Fault::internal("make a number by chance"))?;
    Ok(chance as u16)
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
