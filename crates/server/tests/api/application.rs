//! A small application on the server: notes that can be read, left, and wiped away.

use std::sync::{Arc, Mutex};

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::json;
use turnwise_server::{Answer, Application, Caller, Problem, Problems, Routes, Said};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::harness::{Site, refused};

type Board = Arc<Mutex<Vec<Note>>>;

/// What somebody left.
#[derive(Clone, Serialize, ToSchema)]
struct Note {
    by: String,
    text: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Left {
    text: String,
}

/// How many notes there were.
#[derive(Serialize, ToSchema)]
struct Wiped {
    count: usize,
}

#[utoipa::path(get, path = "/api/v1/notes/board", tag = "operating", security(("token" = ["read"])),
    responses((status = 200, body = Vec<Note>), Problems))]
async fn read(State(board): State<Board>) -> Answer<Vec<Note>> {
    Ok(Json(board.lock().unwrap().clone()))
}

#[utoipa::path(post, path = "/api/v1/notes/board", tag = "operating", security(("token" = ["submit"])),
    request_body = Left, responses((status = 200, body = Note), Problems))]
async fn leave(State(board): State<Board>, caller: Caller, Said(left): Said<Left>) -> Answer<Note> {
    if left.text.is_empty() {
        return Err(Problem::bad("invalid", "`text` is empty: say something"));
    }
    let note = Note { by: caller.name.to_string(), text: left.text };
    board.lock().unwrap().push(note.clone());
    Ok(Json(note))
}

#[utoipa::path(delete, path = "/api/v1/notes/board", tag = "operating", security(("token" = ["admin"])),
    responses((status = 200, body = Wiped), Problems))]
async fn wipe(State(board): State<Board>) -> Answer<Wiped> {
    let mut board = board.lock().unwrap();
    let count = board.len();
    board.clear();
    Ok(Json(Wiped { count }))
}

/// The application, as every server of these tests has it.
pub(crate) fn notes() -> Application {
    let board = Board::default();
    let routes = Routes {
        read: OpenApiRouter::new().routes(routes!(read)).with_state(board.clone()),
        submit: OpenApiRouter::new().routes(routes!(leave)).with_state(board.clone()),
        admin: OpenApiRouter::new().routes(routes!(wipe)).with_state(board),
    };
    Application {
        name: "notes",
        title: "Notes",
        files: &[("index.html", b"<!doctype html><title>Notes</title>"), ("panel.js", b"export {}")],
        panel: Some("panel.js"),
        routes,
    }
}

#[test]
fn its_routes_ask_for_their_scopes_and_are_described() {
    let site = Site::new();
    let (status, note) = site.post("/api/v1/notes/board", &json!({"text": "hello"}));
    assert_eq!((status, &note["text"]), (200, &json!("hello")));
    assert_eq!(site.get("/api/v1/notes/board").1, json!([note]));
    refused(&site.post("/api/v1/notes/board", &json!({"text": "x", "more": 1})), 400, "bad_json");
    let reader = site.token(&["read"], None);
    refused(&site.ask("DELETE", "/api/v1/notes/board", None, &reader), 403, "missing_scope");
    let described = site.get("/api/openapi.json").1;
    assert_eq!(described["paths"]["/api/v1/notes/board"]["delete"]["security"][0]["token"], json!(["admin"]));
}

#[test]
fn what_it_lets_an_operator_do_is_written_down() {
    let site = Site::new();
    assert_eq!(site.ask("DELETE", "/api/v1/notes/board", None, &site.token).0, 200);
    let events = site.get("/api/v1/events?after=0&limit=1000").1;
    let audits: Vec<_> =
        events["events"].as_array().unwrap().iter().filter(|event| event["what"] == "audit").collect();
    assert!(
        audits.iter().any(|audit| audit.to_string().contains("DELETE /api/v1/notes/board")),
        "{audits:?}"
    );
}

#[test]
fn its_pages_are_served_below_its_name() {
    let site = Site::new();
    let pages = site.get("/api/v1/pages").1;
    assert_eq!(
        pages["pages"],
        json!([{"name": "notes", "title": "Notes", "path": "/apps/notes/", "panel": "/apps/notes/panel.js"}])
    );
    let page = |path: &str| {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).build().into();
        let mut response =
            agent.get(format!("{}{path}", site.url)).header("accept", "text/html").call().unwrap();
        let place = response.headers().get("location").map(|place| place.to_str().unwrap().to_owned());
        (response.status().as_u16(), place, response.body_mut().read_to_string().unwrap())
    };
    let home = (200, None, "<!doctype html><title>Notes</title>".to_owned());
    assert_eq!(page("/apps/notes/"), home);
    assert_eq!(page("/apps/notes/board/17"), home, "an address inside the application is its page");
    assert_eq!(page("/apps/notes/panel.js"), (200, None, "export {}".to_owned()));
    assert_eq!(page("/apps/notes"), (308, Some("/apps/notes/".to_owned()), String::new()));
    for missing in ["/apps/notes/missing.js", "/apps/nobody/", "/apps/nobody", "/apps/notes/../../token.js"] {
        assert_eq!(page(missing).0, 404, "{missing}");
    }
}
