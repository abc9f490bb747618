//! A request for tests.

use serde_json::json;

use crate::request::Request;

/// A checked request for a service.
pub(crate) fn request(service: &str) -> Request {
    let value = json!({
        "id": format!("{service}-1"), "trace_id": "trace-1", "service": service, "owner": "acme",
        "entities": [
            {"name": "customer", "fields": [
                {"name": "email", "type": "text", "unique": true, "required": true, "max_length": 80},
            ]},
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
    });
    crate::check::request(&value).unwrap()
}
