//! Pages for people: the API as a readable page, and what each error means.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::Path;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use serde_json::Value;
use utoipa::openapi::OpenApi;

use crate::problem::{self, CODES};

/// What stands before the page's content. It needs no script; the one it has keeps the reader's theme.
const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>API – Turnwise</title>\
    <link rel=\"icon\" href=\"/assets/icon.svg\" type=\"image/svg+xml\">\
    <link rel=\"stylesheet\" href=\"/assets/css/turnwise.css\"><script src=\"/assets/theme-first.js\"></script></head>\
    <body><header class=\"bar alone\"><a class=\"brand\" href=\"/\"><img src=\"/assets/icon.svg\" alt=\"\">Turnwise</a></header>\
    <main class=\"main\"><div class=\"page\"><h1>API</h1>";

/// The API as a readable page, made from its description.
pub(crate) async fn api(description: Arc<OpenApi>) -> Html<String> {
    let description = serde_json::to_value(&*description).unwrap_or_default();
    let mut page = String::from(HEAD);
    let tags: Vec<&Value> = description["tags"].as_array().into_iter().flatten().collect();
    // Writing to a text never fails.
    let _ = write!(
        page,
        "<p>{}</p><p>For programs: <a href=\"/api/openapi.json\">openapi.json</a>.</p><nav class=\"row\" aria-label=\"Parts\">",
        text(&description["info"]["description"])
    );
    for tag in &tags {
        let name = text(&tag["name"]);
        let _ = write!(page, "<a href=\"#{name}\">{name}</a>");
    }
    page.push_str("</nav>");
    for tag in tags {
        let name = text(&tag["name"]);
        let _ = write!(page, "<h2 id=\"{name}\">{name}: {}</h2>", text(&tag["description"]));
        for (path, methods) in description["paths"].as_object().into_iter().flatten() {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                if operation["tags"][0] == tag["name"] {
                    describe(&mut page, &description, path, method, operation);
                }
            }
        }
    }
    page.push_str("</div></main></body></html>");
    Html(page)
}

/// One operation: its address, what it does, who may ask for it, and what it takes.
fn describe(page: &mut String, description: &Value, path: &str, method: &str, operation: &Value) {
    let scope = operation["security"][0]["token"][0].as_str().unwrap_or("no scope");
    let _ = write!(
        page,
        "<section class=\"card\"><div class=\"card-head\"><h3><code>{} {}</code></h3><span class=\"tag\">{}</span></div>\
         <p>{} {}</p>",
        method.to_uppercase(),
        escaped(path),
        escaped(scope),
        text(&operation["summary"]),
        text(&operation["description"]),
    );
    let mut rows = String::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        row(&mut rows, &text(&parameter["name"]), &text(&parameter["in"]), &text(&parameter["description"]));
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    let body = resolved(description, if body["items"].is_null() { body } else { &body["items"] });
    for (name, field) in body["properties"].as_object().into_iter().flatten() {
        row(&mut rows, &escaped(name), "body", &text(&field["description"]));
    }
    if !rows.is_empty() {
        let _ = write!(
            page,
            "<table><thead><tr><th scope=\"col\">Name</th><th scope=\"col\">In</th><th scope=\"col\">Meaning</th></tr></thead>\
             <tbody>{rows}</tbody></table>"
        );
    }
    page.push_str("</section>");
}

fn row(rows: &mut String, name: &str, place: &str, meaning: &str) {
    let _ = write!(
        rows,
        "<tr><th scope=\"row\" class=\"tight\"><code>{name}</code></th><td class=\"tight soft\">{place}</td><td>{meaning}</td></tr>"
    );
}

/// A schema, or the one that it refers to.
fn resolved<'a>(description: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| description.pointer(pointer)).unwrap_or(schema)
}

/// A text of the description. Names between backticks become code.
fn text(value: &Value) -> String {
    let parts = value.as_str().unwrap_or_default().split('`').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { format!("<code>{}</code>", escaped(part)) } else { escaped(part) })
        .collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// What an error means.
pub(crate) async fn error(Path(code): Path<String>) -> Response {
    match CODES.iter().find(|(known, _)| *known == code) {
        Some((_, text)) => ([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], *text).into_response(),
        None => problem::no_such_page().await.into_response(),
    }
}
