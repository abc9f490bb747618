//! The description of the API, held against the API itself: every route with every scope, and requests made up from the
//! schemas, whose answers must fit them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{ROOT, Site};

const SCOPES: [&str; 4] = ["read", "submit", "work", "admin"];

/// A route as it is described.
#[derive(Clone)]
struct Operation {
    method: String,
    path: String,
    /// `None`: no token. Empty: any token.
    scope: Option<String>,
    described: Value,
}

fn operations(api: &Value) -> Vec<Operation> {
    let mut all = Vec::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        for (method, described) in methods.as_object().unwrap() {
            let scopes = described["security"][0]["token"].as_array();
            let scope =
                scopes.map(|scopes| scopes.first().and_then(Value::as_str).unwrap_or_default().to_owned());
            let (method, path, described) = (method.to_uppercase(), path.clone(), described.clone());
            all.push(Operation { method, path, scope, described });
        }
    }
    assert!(all.len() > 35, "only {} routes are described", all.len());
    all
}

/// An address with something in the place of each name.
fn filled(path: &str, mut value: impl FnMut(&str) -> String) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => parts.push(value(name)),
            None => parts.push(part.to_owned()),
        }
    }
    parts.join("/")
}

#[test]
fn every_route_asks_for_its_scope() {
    let site = Site::new();
    let api = site.get("/api/openapi.json").1;
    let tokens: Vec<(&str, String)> = SCOPES.map(|scope| (scope, site.token(&[scope], None))).into();
    for Operation { method, path, scope, .. } in operations(&api) {
        let place =
            filled(&path, |name| if name == "verb" { "pause".into() } else { "0000000000001".into() });
        let ask = |token: &str| {
            let body = (method != "GET" && method != "DELETE").then(|| json!({}));
            site.ask(&method, &place, body.as_ref(), token)
        };
        let Some(scope) = scope else {
            assert_ne!(ask("").1["code"], "missing_scope", "{method} {path}");
            continue;
        };
        assert_eq!(ask("").0, 401, "{method} {path} without a token");
        for (has, token) in &tokens {
            let (status, answer) = ask(token);
            let may = scope.is_empty() || scope == *has;
            let refused = status == 403 && answer["code"] == "missing_scope";
            assert_eq!(!refused, may, "{method} {path} with the scope {has}: {status} {answer}");
            assert_ne!(status, 401, "{method} {path} with the scope {has}");
        }
    }
}

/// Chance from a seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn text(&mut self) -> String {
        const TEXTS: [&str; 14] = [
            "",
            "echo",
            "hold",
            "acme",
            "read",
            "0 3 * * *",
            "UTC",
            "ü/%?#",
            "<script>",
            "\u{0}",
            "-1",
            "..",
            "a\nb",
            "😀",
        ];
        match self.below(TEXTS.len() + 1) {
            place if place < TEXTS.len() => TEXTS[place].to_owned(),
            _ => "x".repeat(self.below(5_000)),
        }
    }

    fn anything(&mut self) -> Value {
        match self.below(7) {
            0 => Value::Null,
            1 => json!(self.one_in(2)),
            2 => json!(self.next()),
            3 => json!(-1.5e300),
            4 => json!([self.text()]),
            5 => json!({self.text(): self.text()}),
            _ => json!(self.text()),
        }
    }

    /// Something that a schema allows, most of the time.
    fn value(&mut self, api: &Value, schema: &Value) -> Value {
        if self.one_in(12) {
            return self.anything();
        }
        if let Some(place) = schema["$ref"].as_str() {
            return self.value(api, &api.pointer(place.trim_start_matches('#')).unwrap().clone());
        }
        for choice in ["oneOf", "anyOf", "enum"] {
            if let Some(choices) = schema[choice].as_array() {
                let chosen = choices[self.below(choices.len())].clone();
                return if choice == "enum" { chosen } else { self.value(api, &chosen) };
            }
        }
        let sorts: Vec<&str> = match &schema["type"] {
            Value::Array(sorts) => sorts.iter().filter_map(Value::as_str).collect(),
            sort => sort.as_str().into_iter().collect(),
        };
        match sorts.get(self.below(sorts.len().max(1))) {
            Some(&"string") => json!(self.text()),
            Some(&"integer") => json!(self.below(20)),
            Some(&"number") => json!(0.5),
            Some(&"boolean") => json!(self.one_in(2)),
            Some(&"null") => Value::Null,
            Some(&"array") => {
                let count = self.below(4);
                json!((0..count).map(|_| self.value(api, &schema["items"])).collect::<Vec<_>>())
            }
            Some(&"object") => {
                let needed: Vec<&str> =
                    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let mut object = serde_json::Map::new();
                for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                    if needed.contains(&name.as_str()) || self.one_in(4) {
                        object.insert(name.clone(), self.value(api, schema));
                    }
                }
                Value::Object(object)
            }
            _ => self.anything(),
        }
    }
}

/// Text as a part of an address.
fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The schema that an answer must fit.
fn wanted<'a>(operation: &'a Operation, status: u16, kind: &str) -> Option<&'a Value> {
    let responses = &operation.described["responses"];
    let range = format!("{}XX", status / 100);
    let response = [status.to_string(), range].into_iter().find_map(|key| responses.get(&key));
    let response =
        response.unwrap_or_else(|| panic!("{} {} may not answer {status}", operation.method, operation.path));
    let Some(content) = response["content"].as_object() else {
        assert_eq!(kind, "", "{} {}: a body where none is described", operation.method, operation.path);
        return None;
    };
    let described = content.get(kind).unwrap_or_else(|| {
        panic!("{} {} may not answer {status} as `{kind}`", operation.method, operation.path)
    });
    Some(&described["schema"])
}

/// Requests that are made up from the description: no answer is a fault of the server, and each fits its schema.
#[test]
fn whatever_is_asked_the_answer_is_as_described() {
    const EACH: usize = 120;
    let site = Site::new();
    let api = site.get("/api/openapi.json").1;
    let job = site.submit(&json!({"kind": "echo", "owner": "acme", "lane": "l"}));
    let dead = site.submit(&json!({"kind": "fail", "payload": {"say": "no"}}));
    site.ended(&dead);
    let batch =
        site.post("/api/v1/batches", &json!({"name": "b", "jobs": [{"kind": "echo"}]})).1["batch"].clone();
    let known = [
        job,
        dead,
        batch.as_str().unwrap().to_owned(),
        "echo".into(),
        "acme".into(),
        "l".into(),
        "pause".into(),
    ];
    let mut validators: BTreeMap<String, jsonschema::Validator> = BTreeMap::new();
    let mut chance = Chance(7);
    let mut answers: BTreeMap<u16, usize> = BTreeMap::new();
    for operation in operations(&api) {
        for _ in 0..EACH {
            let (place, body) = made_up(&api, &operation, &known, &mut chance);
            let headers = [("authorization", format!("Bearer {ROOT}"))];
            let headers: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let answer = site.raw(&operation.method, &place, body.as_deref(), &headers);
            let status = answer.status().as_u16();
            let kind =
                answer.headers().get("content-type").map_or("", |kind| kind.to_str().unwrap()).to_owned();
            let (_, value) = crate::harness::read(answer);
            let context = || format!("{} {place} {body:?} answered {status} {value}", operation.method);
            assert!(status < 500, "{}", context());
            *answers.entry(status).or_default() += 1;
            let Some(schema) = wanted(&operation, status, &kind) else { continue };
            let validator = validators.entry(schema.to_string()).or_insert_with(|| {
                let whole = json!({"allOf": [schema], "components": api["components"]});
                jsonschema::validator_for(&whole).unwrap()
            });
            if let Err(error) = validator.validate(&value) {
                panic!("{}: {error}", context());
            }
        }
    }
    println!("{answers:?}");
    for status in [200, 201, 204, 400, 404, 409] {
        assert!(answers.contains_key(&status), "no request was answered {status}: {answers:?}");
    }
    assert_eq!(site.get("/api/v1/jobs").0, 200);
}

fn made_up(
    api: &Value,
    operation: &Operation,
    known: &[String],
    chance: &mut Chance,
) -> (String, Option<String>) {
    let mut place = filled(&operation.path, |_| match chance.below(3) {
        0 => {
            let text = chance.text();
            escaped(if text.is_empty() { "x" } else { &text })
        }
        _ => known[chance.below(known.len())].clone(),
    });
    let mut query = Vec::new();
    for parameter in operation.described["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap();
        let is_wanted = parameter["required"] == true || chance.one_in(3);
        if parameter["in"] != "query" || !is_wanted {
            continue;
        }
        // Whoever waits for something that never happens would keep the test.
        let value = match (name, chance.below(3)) {
            ("wait_ms", _) => "1".to_owned(),
            (_, 0) => known[chance.below(known.len())].clone(),
            _ => match chance.value(api, &parameter["schema"]) {
                Value::String(text) => text,
                value => value.to_string(),
            },
        };
        query.push(format!("{name}={}", escaped(&value)));
    }
    if !query.is_empty() {
        place.push('?');
        place.push_str(&query.join("&"));
    }
    let schema = &operation.described["requestBody"]["content"]["application/json"]["schema"];
    let body = (!schema.is_null()).then(|| chance.value(api, schema).to_string());
    (place, body)
}

#[test]
fn the_readable_page_names_every_route() {
    let site = Site::new();
    let api = site.get("/api/openapi.json").1;
    let page = site.raw("GET", "/api", None, &[]);
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    let page = crate::harness::read(page).1;
    let page = page.as_str().unwrap();
    for Operation { method, path, .. } in operations(&api) {
        assert!(page.contains(&format!("{method} {path}")), "{method} {path}");
    }
}
