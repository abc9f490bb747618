//! Bad requests, each with the place and the reason that it is answered with.

use serde_json::{Value, json};

use super::*;

fn good() -> Value {
    json!({
        "id": "r-1", "service": "shop", "owner": "acme",
        "entities": [
            {"name": "customer", "fields": [{"name": "email", "type": "text", "unique": true, "required": true}]},
            {"name": "invoice", "fields": [
                {"name": "customer", "type": "reference", "to": "customer", "required": true},
                {"name": "total", "type": "number"},
                {"name": "open", "type": "boolean"},
            ]},
        ],
        "endpoints": [
            {"method": "GET", "path": "/open-invoices", "entity": "invoice", "where": {"open": true}},
            {"method": "POST", "path": "/invoices/{id}/close", "entity": "invoice", "set": {"open": false}},
        ],
    })
}

/// The good request with something else at a place, and what is said about it.
fn with(pointer: &str, value: Value) -> String {
    let mut changed = good();
    match changed.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            changed.pointer_mut(parent).unwrap()[name] = value;
        }
    }
    request(&changed).unwrap_err().to_string()
}

#[test]
fn a_good_request_has_its_defaults() {
    let made = request(&good()).unwrap();
    assert_eq!((made.port, made.replicas, made.storage), (8_080, 1, Storage::File));
    assert!(made.make.api && made.make.frontend && made.make.devops && !made.allow_breaking);
    assert_eq!(made.endpoints.len(), 2);
    let other =
        request(&json!({"service": "shop", "owner": "acme", "entities": good()["entities"]})).unwrap();
    assert_eq!(other.id.len(), 32);
    assert_ne!(other.id, other.trace_id);
}

#[test]
fn a_key_that_is_given_twice_is_refused_wherever_it_is() {
    let text = good().to_string();
    let twice = |key: &str| read(text.replacen(key, &format!("{key}1,{key}"), 1).as_bytes()).unwrap_err();
    assert_eq!(twice("\"owner\":").place, "request");
    for key in ["owner", "type", "open"] {
        let error = twice(&format!("\"{key}\":")).to_string();
        assert!(error.contains(&format!("`{key}` is given twice: keep one of them at line 1")), "{error}");
    }
}

#[test]
fn a_truncated_or_huge_request_is_refused() {
    let text = good().to_string();
    let error = read(&text.as_bytes()[..text.len() / 2]).unwrap_err().to_string();
    assert!(error.starts_with("request: breaks off"), "{error}");
    let error = read(&vec![b' '; REQUEST_BYTES + 1]).unwrap_err().to_string();
    assert!(error.contains("at most 262144"), "{error}");
    assert!(read(b"\xff{}").unwrap_err().to_string().contains("no JSON"));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(deep.as_bytes()).is_err());
    assert!(read(b"[]").unwrap_err().to_string().contains("must be an object"));
    let many: Vec<Value> = (0..51)
        .map(|n| json!({"name": format!("e{n}"), "fields": [{"name": "a", "type": "text"}]}))
        .collect();
    assert_eq!(with("/entities", many.into()), "entities: has 51 entries: at most 50 are allowed");
}

#[test]
fn a_ring_of_references_is_refused() {
    let reference = |to: &str| json!([{"name": "other", "type": "reference", "to": to}]);
    let ring = json!([
        {"name": "a1", "fields": reference("b1")},
        {"name": "b1", "fields": reference("c1")},
        {"name": "c1", "fields": reference("a1")},
    ]);
    let error = with("/entities", ring);
    assert!(error.starts_with("entities[2].fields[0].to: a1 → b1 → c1 → a1 is a ring"), "{error}");
    let error = with("/entities", json!([{"name": "a1", "fields": reference("a1")}]));
    assert!(error.starts_with("entities[0].fields[0].to: a1 → a1 is a ring"), "{error}");
    let error = with("/entities", json!([{"name": "a1", "fields": reference("nobody")}]));
    assert!(error.contains("there is no entity `nobody`"), "{error}");
}

#[test]
fn numbers_have_bounds() {
    for bad in [json!(0), json!(-1), json!(65_536), json!(1.5), json!(1e300)] {
        assert!(with("/port", bad.clone()).starts_with("port: is "), "{bad}");
    }
    assert_eq!(with("/replicas", json!(-3)), "replicas: is -3: use a whole number from 1 to 50");
    assert!(with("/replicas", json!("2")).starts_with("replicas: must be a whole number"));
    let error = with("/entities/0/fields/0/max_length", json!(0));
    assert!(error.starts_with("entities[0].fields[0].max_length: is 0"), "{error}");
}

#[test]
fn unknown_keys_are_refused_where_they_are() {
    assert!(with("/entitys", json!([])).starts_with("entitys: is not known: use id, "));
    let error = with("/entities/1/fields/0/size", json!(3));
    assert!(error.starts_with("entities[1].fields[0].size: is not known"), "{error}");
    assert!(with("/make", json!({"apis": true})).starts_with("make.apis: is not known"));
    assert!(with("/endpoints/0/set", json!({})).starts_with("endpoints[0].set: belongs to the other method"));
}

#[test]
fn path_tricks_and_strange_letters_are_refused() {
    for bad in
        ["../x", "a/b", "a\\b", ".", "x\0", "-x", "x-", "a--b", "1a", "", "Shop", "sh op", "shöp", "ѕhop"]
    {
        let error = with("/service", json!(bad));
        assert!(error.starts_with("service: "), "{bad}: {error}");
        let error = with("/entities/1/name", json!(bad));
        assert!(error.starts_with("entities[1].name: "), "{bad}: {error}");
    }
    for bad in ["../x", "a..b", "a/b", ".x", "ü", &"a".repeat(65)] {
        assert!(with("/id", json!(bad)).starts_with("id: "), "{bad}");
    }
    for bad in ["x", "/../etc", "/api/x", "/health", "/a//b", "/a b", "/{id}", "/x/{no}"] {
        let error = with("/endpoints/0/path", json!(bad));
        assert!(error.starts_with("endpoints[0].path: "), "{bad}: {error}");
    }
    for bad in ["..", "-x", "@"] {
        assert!(with("/owner", json!(bad)).starts_with("owner: "), "{bad}");
    }
    assert!(with("/address", json!("300.1.1.1")).starts_with("address: `300.1.1.1` is no address"));
}

#[test]
fn reserved_words_are_refused() {
    assert_eq!(
        with("/service", json!("crate")),
        "service: `crate` means something in Rust: choose another name"
    );
    let error = with("/entities/1/name", json!("order"));
    assert_eq!(error, "entities[1].name: `order` means something in SQL: choose another name");
    let error = with("/entities/1/fields/0/name", json!("select"));
    assert!(error.starts_with("entities[1].fields[0].name: `select` means something in SQL"), "{error}");
    assert!(with("/entities/1/fields/0/name", json!("id")).contains("there is a field `id` already"));
}

#[test]
fn types_and_values_are_looked_at() {
    let error = with("/entities/1/fields/0/type", json!("varchar"));
    assert!(
        error.starts_with("entities[1].fields[0].type: `varchar` is no type: use one of text"),
        "{error}"
    );
    assert!(with("/entities/1/fields/0/to", Value::Null).contains("a reference needs `to`"));
    let error = with("/endpoints/0/where", json!({"open": "yes"}));
    assert_eq!(error, "endpoints[0].where.open: must be true or false, and is a text");
    assert!(
        with("/endpoints/1/entity", json!("nobody")).starts_with("endpoints[1].entity: there is no entity")
    );
    assert!(with("/make", json!({})).starts_with("make: asks for nothing"));
    let endpoint =
        |path: &str| json!({"method": "POST", "path": path, "entity": "invoice", "set": {"open": true}});
    let error = with("/endpoints", json!([endpoint("/a/{id}/7"), endpoint("/a/b"), endpoint("/a/5/{id}")]));
    assert!(error.contains("/a/b"), "an id is missing in it: {error}");
    let error = with("/endpoints", json!([endpoint("/a/{id}/7"), endpoint("/a/5/{id}")]));
    assert_eq!(
        error,
        "endpoints[1]: `/a/5/{id}` and `/a/{id}/7` can be the same address: choose another path"
    );
    assert!(with("/entities/1/name", json!("customer")).contains("two entities called `customer`"));
}
