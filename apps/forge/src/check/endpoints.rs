//! What a service can be asked for beyond its entities.

use serde_json::Value;

use super::names;
use super::reader::{At, Wrong, shown};
use crate::request::{Endpoint, Entity, Method, Type};

/// The longest path.
const PATH: usize = 120;
/// First parts that the generated service has a use for itself.
const TAKEN: [&str; 3] = ["api", "health", "assets"];

/// Reads endpoints about these entities.
pub(super) fn read(list: &[At<'_>], entities: &[Entity]) -> Result<Vec<Endpoint>, Wrong> {
    let mut found: Vec<Endpoint> = Vec::new();
    for at in list {
        let endpoint = one(at, entities)?;
        if let Some(other) = found.iter().find(|other| meet(other, &endpoint)) {
            let (path, other) = (&endpoint.path, &other.path);
            return at.wrong(format!("`{path}` and `{other}` can be the same address: choose another path"));
        }
        found.push(endpoint);
    }
    Ok(found)
}

/// Whether one address fits both.
fn meet<'a>(one: &'a Endpoint, other: &'a Endpoint) -> bool {
    let parts = |endpoint: &'a Endpoint| endpoint.path.split('/').collect::<Vec<_>>();
    let (first, second) = (parts(one), parts(other));
    let fits = |(first, second): (&&str, &&str)| first == second || *first == "{id}" || *second == "{id}";
    one.method == other.method && first.len() == second.len() && first.iter().zip(&second).all(fits)
}

fn one(at: &At<'_>, entities: &[Entity]) -> Result<Endpoint, Wrong> {
    let mut fields = at.fields()?;
    let method_at = fields.must("method")?;
    let method = match method_at.text()? {
        "GET" => Method::Get,
        "POST" => Method::Post,
        other => return method_at.wrong(format!("`{}` is no method here: use GET or POST", shown(other))),
    };
    let path_at = fields.must("path")?;
    let path = path(&path_at, method)?;
    let entity_at = fields.must("entity")?;
    let name = names::word(&entity_at)?;
    let Some(entity) = entities.iter().find(|entity| entity.name == name) else {
        return entity_at.wrong(format!("there is no entity `{name}`: name one of this request"));
    };
    let (wanted, other) = match method {
        Method::Get => ("where", "set"),
        Method::Post => ("set", "where"),
    };
    let (values_at, wrong_at) = (fields.maybe(wanted), fields.maybe(other));
    fields.end()?;
    if let Some(at) = wrong_at {
        return at.wrong(format!("belongs to the other method: this one has `{wanted}`"));
    }
    let values = match &values_at {
        Some(at) => values(at, entity)?,
        None => serde_json::Map::new(),
    };
    if method == Method::Post && values.is_empty() {
        return at.wrong("sets nothing: say with `set` which fields become what");
    }
    Ok(Endpoint { method, path, entity: name, values })
}

/// `/open-invoices`, or `/invoices/{id}/close`.
fn path(at: &At<'_>, method: Method) -> Result<String, Wrong> {
    let path = at.text()?;
    let wrong = |why: &str| at.wrong(format!("`{}` {why}", shown(path)));
    if path.len() > PATH {
        return wrong("is too long: use at most 120 characters");
    }
    let Some(parts) = path.strip_prefix('/').map(|rest| rest.split('/').collect::<Vec<_>>()) else {
        return wrong("does not begin with a slash: write it as /open-invoices");
    };
    let plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
    for part in &parts {
        if *part != "{id}" && (part.is_empty() || !part.bytes().all(plain)) {
            return wrong("has a part that is no name: use lower-case letters, digits and dashes, or {id}");
        }
    }
    if TAKEN.contains(&parts[0]) || parts[0] == "{id}" {
        return wrong("begins with a part that the service uses itself: choose another");
    }
    let ids = parts.iter().filter(|part| **part == "{id}").count();
    match (method, ids) {
        (Method::Get, 0) | (Method::Post, 1) => Ok(path.to_owned()),
        (Method::Get, _) => wrong("names an id, but lists records: leave {id} out"),
        (Method::Post, _) => wrong("sets fields of one record: put {id} into it, once"),
    }
}

fn values(at: &At<'_>, entity: &Entity) -> Result<serde_json::Map<String, Value>, Wrong> {
    let given = at.object()?;
    for (name, value) in given {
        let place = At { value, place: format!("{}.{}", at.place, shown(name)) };
        let Some(field) = entity.fields.iter().find(|field| field.name == *name) else {
            return place.wrong(format!("`{}` has no such field", entity.name));
        };
        match field.r#type {
            Type::Text => {
                let text = place.text()?;
                let most = field.longest() as usize;
                if text.chars().count() > most {
                    return place
                        .wrong(format!("is longer than the {most} characters that the field may have"));
                }
            }
            Type::Integer => drop(place.whole(-(1 << 53), 1 << 53)?),
            Type::Number if value.is_number() => {}
            Type::Number => return place.wrong("must be a number"),
            Type::Boolean => drop(place.switch()?),
            Type::Reference => drop(place.whole(1, 1 << 53)?),
        }
    }
    Ok(given.clone())
}
