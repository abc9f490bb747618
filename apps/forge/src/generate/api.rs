//! The HTTP API: a Rust project that needs nothing but the standard library, so that it compiles anywhere, without a
//! network. All of its code is the same for every service, except for `schema.rs`.

use std::fmt::Write as _;

use super::Files;
use crate::request::{Endpoint, Field, Method, Request, Storage, Type};

const CODE: [(&str, &str); 5] = [
    ("api/src/main.rs", include_str!("../../templates/api/main.rs")),
    ("api/src/http.rs", include_str!("../../templates/api/http.rs")),
    ("api/src/json.rs", include_str!("../../templates/api/json.rs")),
    ("api/src/routes.rs", include_str!("../../templates/api/routes.rs")),
    ("api/src/store.rs", include_str!("../../templates/api/store.rs")),
];

/// What stands before the constants of a service.
const SHAPES: &str = include_str!("../../templates/api/shapes.rs");

pub(super) fn files(request: &Request) -> Files {
    let mut files: Files =
        CODE.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    let manifest = format!(
        "[package]\nname = \"{}\"\nversion = \"0.1.0\"\nedition = \"2021\"\npublish = false\n\n[dependencies]\n\n\
         # It stands alone, wherever it is checked out.\n[workspace]\n",
        request.service
    );
    let lock = format!("version = 3\n\n[[package]]\nname = \"{}\"\nversion = \"0.1.0\"\n", request.service);
    files.insert("api/Cargo.toml".into(), manifest.into_bytes());
    files.insert("api/Cargo.lock".into(), lock.into_bytes());
    files.insert("api/src/schema.rs".into(), schema(request).into_bytes());
    files
}

/// The constants of a service. Names were checked and texts are quoted, so that nothing in them is code.
fn schema(request: &Request) -> String {
    let mut text = format!(
        "//! What this service is: its entities and endpoints.\n\n{SHAPES}\npub const SERVICE: &str = {:?};\n\
         pub const PORT: u16 = {};\npub const DURABLE: bool = {};\n\npub const ENTITIES: &[Entity] = &[\n",
        request.service,
        request.port,
        request.storage == Storage::File,
    );
    for entity in &request.entities {
        // Writing to a text never fails.
        let _ = writeln!(text, "    Entity {{\n        name: {:?},\n        fields: &[", entity.name);
        for field in &entity.fields {
            let _ = writeln!(text, "            {},", field_of(field));
        }
        text.push_str("        ],\n    },\n");
    }
    text.push_str("];\n\npub const ENDPOINTS: &[Endpoint] = &[\n");
    for endpoint in &request.endpoints {
        let _ = writeln!(text, "    {},", endpoint_of(endpoint));
    }
    text.push_str("];\n");
    text
}

fn field_of(field: &Field) -> String {
    let kind = match field.r#type {
        Type::Text => "Text",
        Type::Integer => "Integer",
        Type::Number => "Number",
        Type::Boolean => "Boolean",
        Type::Reference => "Reference",
    };
    format!(
        "Field {{ name: {:?}, kind: Kind::{kind}, required: {}, unique: {}, max_length: {}, to: {:?} }}",
        field.name,
        field.required,
        field.unique,
        field.longest(),
        field.to.as_deref().unwrap_or_default(),
    )
}

fn endpoint_of(endpoint: &Endpoint) -> String {
    let method = match endpoint.method {
        Method::Get => "GET",
        Method::Post => "POST",
    };
    let values: Vec<String> =
        endpoint.values.iter().map(|(name, value)| format!("({name:?}, {:?})", value.to_string())).collect();
    format!(
        "Endpoint {{ method: {method:?}, path: {:?}, entity: {:?}, values: &[{}] }}",
        endpoint.path,
        endpoint.entity,
        values.join(", ")
    )
}
