//! What is asked for: a service, its entities and its endpoints. These are values that were checked; see
//! [`check`](crate::check) for what is refused.

use std::fmt;
use std::net::IpAddr;

use serde::de::Error as _;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A request to generate a service. Wherever one is read, it is [checked](crate::check::request).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Request {
    /// What the request is recognised by: the same id answers with the same job.
    pub id: String,
    /// What its log lines carry, through every process.
    pub trace_id: String,
    /// The service: a label of the name system, and the name of its repository.
    pub service: String,
    /// Whose turn it takes, and whose service it is.
    pub owner: String,
    /// What is made.
    pub make: Make,
    /// Where the service keeps what it is given.
    pub storage: Storage,
    /// Where it listens.
    pub port: u16,
    /// How many of it run.
    pub replicas: u32,
    /// What its name leads to; the forge's own address unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// What it serves.
    pub entities: Vec<Entity>,
    /// What it can be asked for beyond each entity.
    pub endpoints: Vec<Endpoint>,
    /// Fields may go or change their type.
    pub allow_breaking: bool,
    /// Another request with the same content that still waits may stand for this one.
    pub collapse: bool,
}

impl<'de> Deserialize<'de> for Request {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(reader)?;
        crate::check::request(&value).map_err(D::Error::custom)
    }
}

/// The parts of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Make {
    /// The HTTP API.
    pub api: bool,
    /// The page that uses it.
    pub frontend: bool,
    /// Image, compose file, checks and manifests.
    pub devops: bool,
}

/// Where a service keeps what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Storage {
    /// In a file that only grows, read again at the next start.
    File,
    /// Nowhere: it is gone with the process.
    Memory,
}

/// A sort of thing that the service keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// Its name.
    pub name: String,
    /// What is known of each.
    pub fields: Vec<Field>,
}

/// One thing that is known of an entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it may hold.
    pub r#type: Type,
    /// Whether it must be there.
    pub required: bool,
    /// Whether no two may have the same.
    pub unique: bool,
    /// For a text: its longest, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
    /// For a reference: to which entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl Field {
    /// The most characters of a text in it.
    pub fn longest(&self) -> u32 {
        self.max_length.unwrap_or(1_000)
    }
}

/// What a field may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// Characters.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// The id of another entity's record.
    Reference,
}

impl Type {
    /// Every type.
    pub const ALL: [Type; 5] = [Type::Text, Type::Integer, Type::Number, Type::Boolean, Type::Reference];

    /// Its word in a request.
    pub fn word(self) -> &'static str {
        match self {
            Type::Text => "text",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Boolean => "boolean",
            Type::Reference => "reference",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Something that the service can be asked for beyond creating, reading, changing and removing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Endpoint {
    /// How it is asked.
    pub method: Method,
    /// Where: `/open-orders`, or `/orders/{id}/close`.
    pub path: String,
    /// About which entity.
    pub entity: String,
    /// For `GET`: only those whose fields have these values. For `POST`: the fields that are set.
    #[serde(alias = "where", alias = "set")]
    pub values: serde_json::Map<String, serde_json::Value>,
}

/// As it stands in a request.
impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        let mut fields = writer.serialize_struct("Endpoint", 4)?;
        fields.serialize_field("method", &self.method)?;
        fields.serialize_field("path", &self.path)?;
        fields.serialize_field("entity", &self.entity)?;
        let word = match self.method {
            Method::Get => "where",
            Method::Post => "set",
        };
        fields.serialize_field(word, &self.values)?;
        fields.end()
    }
}

/// How an endpoint is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Lists the records that match.
    Get,
    /// Sets fields of one record.
    Post,
}

impl Request {
    /// What describes the service, without who asked when: the text that is committed beside the code, and compared
    /// with the next request.
    pub fn description(&self) -> Description {
        Description {
            service: self.service.clone(),
            owner: self.owner.clone(),
            storage: self.storage,
            port: self.port,
            replicas: self.replicas,
            entities: self.entities.clone(),
            endpoints: self.endpoints.clone(),
        }
    }

    /// The same for two requests that ask for the same.
    pub fn content(&self) -> String {
        use sha2::{Digest as _, Sha256};
        let asked = serde_json::json!([self.description(), self.make, self.address, self.allow_breaking]);
        let digest = Sha256::digest(asked.to_string());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A service as it is described in its repository, in `forge.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Its name.
    pub service: String,
    /// Whose it is.
    pub owner: String,
    /// Where it keeps what it is given.
    pub storage: Storage,
    /// Where it listens.
    pub port: u16,
    /// How many of it run.
    pub replicas: u32,
    /// What it serves.
    pub entities: Vec<Entity>,
    /// What else it can be asked for.
    pub endpoints: Vec<Endpoint>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_back_and_is_checked_again() {
        let request = crate::sample::request("shop");
        let mut written = serde_json::to_value(&request).unwrap();
        assert_eq!(serde_json::from_value::<Request>(written.clone()).unwrap(), request);
        written["service"] = "../x".into();
        let error = serde_json::from_value::<Request>(written).unwrap_err().to_string();
        assert!(error.starts_with("service: "), "{error}");
    }

    #[test]
    fn the_content_is_the_same_whoever_asks_when() {
        let one = crate::sample::request("shop");
        let other = Request { id: "r-2".into(), trace_id: "t-2".into(), ..one.clone() };
        assert_eq!(one.content(), other.content());
        assert_ne!(one.content(), Request { port: 9_000, ..other }.content());
    }
}
