//! What a request must be like. Everything is looked at before anything is queued, and what is wrong is said together
//! with its place.

mod endpoints;
mod names;
mod once;
mod reader;
mod rings;
mod words;

use std::collections::BTreeSet;
use std::net::IpAddr;

pub use once::Once;
pub use reader::Wrong;
use reader::{At, Fields};
use serde_json::Value;
use serde_json::error::Category;

use crate::request::{Entity, Field, Make, Request, Storage, Type};

/// The largest request.
pub const REQUEST_BYTES: usize = 256 << 10;
/// Most entities in a service.
const ENTITIES: usize = 50;
/// Most fields of an entity.
const FIELDS: usize = 60;
/// Most endpoints beside the entities.
const ENDPOINTS: usize = 100;
/// Most of a service that run at once.
const REPLICAS: i64 = 50;
/// The longest text that a field may hold.
const TEXT: i64 = 10_000;
/// Where a service listens unless said.
const PORT: u16 = 8_080;

/// Reads a request from text.
pub fn read(text: &[u8]) -> Result<Request, Wrong> {
    let whole = |what: String| Wrong { place: "request".into(), what };
    if text.len() > REQUEST_BYTES {
        let (size, most) = (text.len(), REQUEST_BYTES);
        return Err(whole(format!("has {size} bytes: at most {most} are allowed")));
    }
    let Once(value) = serde_json::from_slice(text).map_err(|error| match error.classify() {
        Category::Eof => whole(format!("breaks off: {error}. Send the whole of it")),
        Category::Data => whole(error.to_string()),
        Category::Syntax | Category::Io => whole(format!("is no JSON: {error}")),
    })?;
    request(&value)
}

/// Reads a request from JSON. An id and a trace id are made if they are missing.
pub fn request(value: &Value) -> Result<Request, Wrong> {
    let whole = At { value, place: String::new() };
    let Value::Object(_) = value else {
        return Err(Wrong { place: "request".into(), what: "must be an object".into() });
    };
    let mut fields = whole.fields()?;
    let id = fields.maybe("id").map(|at| names::id(&at)).transpose()?.unwrap_or_else(chance);
    let request = Request {
        trace_id: fields.maybe("trace_id").map(|at| names::id(&at)).transpose()?.unwrap_or_else(chance),
        service: names::service(&fields.must("service")?)?,
        owner: names::owner(&fields.must("owner")?)?,
        make: fields
            .maybe("make")
            .map_or(Ok(Make { api: true, frontend: true, devops: true }), |at| make(&at))?,
        storage: fields.maybe("storage").map_or(Ok(Storage::File), |at| storage(&at))?,
        port: fields.maybe("port").map_or(Ok(i64::from(PORT)), |at| at.whole(1, 65_535))? as u16,
        replicas: fields.maybe("replicas").map_or(Ok(1), |at| at.whole(1, REPLICAS))? as u32,
        address: fields.maybe("address").map(|at| address(&at)).transpose()?,
        entities: entities(&fields.must("entities")?)?,
        endpoints: Vec::new(),
        allow_breaking: switch(&mut fields, "allow_breaking")?,
        collapse: switch(&mut fields, "collapse")?,
        id,
    };
    let endpoints = match fields.maybe("endpoints") {
        Some(at) => endpoints::read(&at.list(ENDPOINTS)?, &request.entities)?,
        None => Vec::new(),
    };
    fields.end()?;
    Ok(Request { endpoints, ..request })
}

fn switch(fields: &mut Fields<'_>, name: &'static str) -> Result<bool, Wrong> {
    fields.maybe(name).map_or(Ok(false), |at| at.switch())
}

fn make(at: &At<'_>) -> Result<Make, Wrong> {
    let mut fields = at.fields()?;
    let make = Make {
        api: switch(&mut fields, "api")?,
        frontend: switch(&mut fields, "frontend")?,
        devops: switch(&mut fields, "devops")?,
    };
    fields.end()?;
    match make.api || make.frontend || make.devops {
        true => Ok(make),
        false => at.wrong("asks for nothing: set api, frontend or devops to true"),
    }
}

fn storage(at: &At<'_>) -> Result<Storage, Wrong> {
    match at.text()? {
        "file" => Ok(Storage::File),
        "memory" => Ok(Storage::Memory),
        other => at.wrong(format!("`{}` is no storage: use file or memory", reader::shown(other))),
    }
}

fn address(at: &At<'_>) -> Result<IpAddr, Wrong> {
    let text = at.text()?;
    match text.parse() {
        Ok(address) => Ok(address),
        Err(_) => {
            at.wrong(format!("`{}` is no address: write it as 192.0.2.7 or 2001:db8::7", reader::shown(text)))
        }
    }
}

fn entities(at: &At<'_>) -> Result<Vec<Entity>, Wrong> {
    let list = at.list(ENTITIES)?;
    if list.is_empty() {
        return at.wrong("is empty: a service serves at least one entity");
    }
    let mut known = BTreeSet::new();
    let mut entities = Vec::new();
    for at in &list {
        let mut fields = at.fields()?;
        let name_at = fields.must("name")?;
        let name = names::word(&name_at)?;
        if !known.insert(name.clone()) {
            return name_at.wrong(format!("there are two entities called `{name}`: rename one"));
        }
        let list = fields.must("fields")?;
        fields.end()?;
        entities.push(Entity { name, fields: fields_of(&list)? });
    }
    for (entity, found) in entities.iter().enumerate() {
        for (number, field) in found.fields.iter().enumerate() {
            if let Some(to) = field.to.as_ref().filter(|to| !known.contains(*to)) {
                return Err(Wrong {
                    place: format!("entities[{entity}].fields[{number}].to"),
                    what: format!("there is no entity `{to}`: name one of this request"),
                });
            }
        }
    }
    rings::refuse(&entities)?;
    Ok(entities)
}

fn fields_of(at: &At<'_>) -> Result<Vec<Field>, Wrong> {
    let list = at.list(FIELDS)?;
    if list.is_empty() {
        return at.wrong("is empty: an entity has at least one field beside its id");
    }
    let mut known = BTreeSet::from(["id".to_owned()]);
    let mut found = Vec::new();
    for at in &list {
        let field = field(at)?;
        if !known.insert(field.name.clone()) {
            let place = format!("{}.name", at.place);
            let what = format!("there is a field `{}` already: choose another name", field.name);
            return Err(Wrong { place, what });
        }
        found.push(field);
    }
    Ok(found)
}

fn field(at: &At<'_>) -> Result<Field, Wrong> {
    let mut fields = at.fields()?;
    let name = names::word(&fields.must("name")?)?;
    let type_at = fields.must("type")?;
    let word = type_at.text()?;
    let Some(r#type) = Type::ALL.into_iter().find(|known| known.word() == word) else {
        let known = Type::ALL.map(Type::word).join(", ");
        return type_at.wrong(format!("`{}` is no type: use one of {known}", reader::shown(word)));
    };
    let (required, unique) = (switch(&mut fields, "required")?, switch(&mut fields, "unique")?);
    let length_at = fields.maybe("max_length");
    let to_at = fields.maybe("to");
    fields.end()?;
    let max_length = match (&length_at, r#type) {
        (Some(at), Type::Text) => Some(at.whole(1, TEXT)? as u32),
        (Some(at), _) => return at.wrong(format!("means nothing for {type}: only a text has a length")),
        (None, _) => None,
    };
    let to = match (&to_at, r#type) {
        (Some(at), Type::Reference) => Some(names::word(at)?),
        (Some(at), _) => {
            return at.wrong(format!("means nothing for {type}: only a reference leads somewhere"));
        }
        (None, Type::Reference) => return type_at.wrong("a reference needs `to`: name the entity"),
        (None, _) => None,
    };
    Ok(Field { name, r#type, required, unique, max_length, to })
}

/// An id that nobody else has.
fn chance() -> String {
    // Without chance the machine cannot run anything of this; the time alone is no id.
    let one = getrandom::u64().unwrap_or_default();
    let two = getrandom::u64().unwrap_or_default();
    format!("{one:016x}{two:016x}")
}

#[cfg(test)]
mod tests;
