//! Pages for people: the API as a readable page, and what each error means.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::Path;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use utoipa::openapi::OpenApi;

use crate::problem::{self, CODES};

/// The API as a readable page, made from its description.
pub(crate) async fn api(description: Arc<OpenApi>) -> Html<String> {
    let description = serde_json::to_value(&*description).unwrap_or_default();
    let mut page = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Turnwise API</title><link rel=\"stylesheet\" href=\"/assets/css/turnwise.css\"><main><h1>Turnwise API</h1>",
    );
    let text = |value: &serde_json::Value| escaped(value.as_str().unwrap_or_default());
    // Writing to a text never fails.
    let _ = write!(
        page,
        "<p>{}</p><p><a href=\"/api/openapi.json\">openapi.json</a></p>",
        text(&description["info"]["description"])
    );
    for (path, methods) in description["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let scopes = &operation["security"][0]["token"];
            let scope = scopes[0].as_str().map_or("no scope", |scope| scope);
            let summary = text(&operation["summary"]);
            let more = text(&operation["description"]);
            let _ = write!(
                page,
                "<section><h2><code>{} {}</code></h2><p>{summary} {more}</p><p>Scope: <b>{}</b></p><ul>",
                method.to_uppercase(),
                escaped(path),
                escaped(scope),
            );
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let _ = write!(
                    page,
                    "<li><code>{}</code> ({}) {}</li>",
                    text(&parameter["name"]),
                    text(&parameter["in"]),
                    text(&parameter["description"]),
                );
            }
            page.push_str("</ul></section>");
        }
    }
    page.push_str("</main></html>");
    Html(page)
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
