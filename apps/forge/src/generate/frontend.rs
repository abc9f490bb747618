//! The page: it lists, creates and removes records through the API that serves it.

use super::{Files, filled};
use crate::request::Request;

pub(super) fn files(request: &Request) -> Files {
    let entities: Vec<_> = request
        .entities
        .iter()
        .map(|entity| {
            let fields = entity.fields.iter().map(|field| {
                serde_json::json!({"name": field.name, "type": field.r#type, "required": field.required})
            });
            serde_json::json!({"name": entity.name, "fields": fields.collect::<Vec<_>>()})
        })
        .collect();
    let entities = serde_json::Value::from(entities).to_string();
    let service = request.service.as_str();
    let page = include_str!("../../templates/web/index.html");
    let script = include_str!("../../templates/web/app.js");
    let style = include_str!("../../templates/web/style.css");
    Files::from([
        ("web/index.html".to_owned(), filled(page, &[("service", service)])),
        ("web/app.js".to_owned(), filled(script, &[("entities", &entities)])),
        ("web/style.css".to_owned(), style.as_bytes().to_vec()),
    ])
}
