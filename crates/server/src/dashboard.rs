//! The dashboard: files that are part of the program.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::access::guard::Peer;
use crate::api::session;
use crate::application::File;
use crate::problem::{self, Problem};
use crate::state::Shared;

macro_rules! files {
    ($($path:literal)*) => {
        &[$(($path, include_bytes!(concat!("dashboard/", $path)))),*]
    };
}

const INDEX: &[u8] = include_bytes!("dashboard/index.html");

/// Everything that a page refers to.
const FILES: &[File] = files! {
    "app/act.js"
    "app/api.js"
    "app/bar.js"
    "app/extensions.js"
    "app/frame.js"
    "app/fresh.js"
    "app/keys.js"
    "app/live.js"
    "app/login.js"
    "app/navigation.js"
    "app/pace.js"
    "app/paged.js"
    "app/rates.js"
    "app/router.js"
    "app/routes.js"
    "app/search.js"
    "app/session.js"
    "app/sse.js"
    "app/theme.js"
    "css/base.css"
    "css/controls.css"
    "css/frame.css"
    "css/job.css"
    "css/parts.css"
    "css/plot.css"
    "css/table.css"
    "css/tokens.css"
    "css/turnwise.css"
    "icon.svg"
    "kit/clock.js"
    "kit/dialog.js"
    "kit/dom.js"
    "kit/form.js"
    "kit/icon.js"
    "kit/meter.js"
    "kit/number.js"
    "kit/part.js"
    "kit/parts.js"
    "kit/plot.js"
    "kit/say.js"
    "kit/shares.js"
    "kit/state.js"
    "kit/table.js"
    "kit/time.js"
    "pages/batch-parts.js"
    "pages/batch.js"
    "pages/batches.js"
    "pages/dead.js"
    "pages/events.js"
    "pages/job-columns.js"
    "pages/job.js"
    "pages/jobs.js"
    "pages/kind-state.js"
    "pages/kinds.js"
    "pages/lanes.js"
    "pages/nodes.js"
    "pages/overview.js"
    "pages/owners.js"
    "pages/schedules.js"
    "pages/settings.js"
    "pages/submit.js"
    "pages/tokens.js"
    "start.js"
    "theme-first.js"
};

/// What a file is, by the end of its name.
fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("html") => "text/html; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// A link that logs in carries a token.
#[derive(Deserialize)]
pub(crate) struct Link {
    token: Option<String>,
}

/// The first page. With a token it logs in, and goes on without it, so that it stays in no history.
pub(crate) async fn home(
    State(server): State<Arc<Shared>>,
    peer: Option<axum::Extension<Peer>>,
    Query(link): Query<Link>,
) -> Result<Response, Problem> {
    let Some(token) = link.token else { return Ok(index()) };
    let cookie = session::exchange(&server, peer.map(|peer| peer.0), &token).await?;
    Ok((
        StatusCode::SEE_OTHER,
        [(header::SET_COOKIE, cookie), (header::LOCATION, "/".parse().expect("a fixed path"))],
    )
        .into_response())
}

/// A page of the dashboard: the same file, which looks at the address itself. Anything else does not exist.
pub(crate) async fn page(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let asks_for_page = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accepted| accepted.contains("text/html"));
    let path = uri.path();
    let is_page =
        !path.starts_with("/api/") && !path.rsplit('/').next().is_some_and(|last| last.contains('.'));
    match method == Method::GET && asks_for_page && is_page {
        true => index(),
        false => problem::no_such_page().await.into_response(),
    }
}

/// A file that a page refers to.
pub(crate) async fn asset(Path(path): Path<String>) -> Response {
    served(FILES, &path).await
}

/// One of these files.
pub(crate) async fn served(files: &'static [File], path: &str) -> Response {
    match files.iter().find(|(known, _)| *known == path) {
        // A browser asks whether it is still the same, so that a new version is seen at once.
        Some((path, body)) => {
            ([(header::CONTENT_TYPE, kind(path)), (header::CACHE_CONTROL, "no-cache")], *body).into_response()
        }
        None => problem::no_such_page().await.into_response(),
    }
}

fn index() -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")], INDEX)
        .into_response()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Whoever adds a file must serve it too.
    #[test]
    fn every_file_is_served() {
        let base = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/dashboard"));
        let mut folders = vec![base.to_owned()];
        let mut found = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                found += 1;
                let name = path.strip_prefix(base).unwrap().to_str().unwrap();
                let served = name == "index.html" || FILES.iter().any(|(known, _)| *known == name);
                assert!(
                    served && (name == "index.html" || kind(name) != "application/octet-stream"),
                    "{name}"
                );
            }
        }
        assert_eq!(found, FILES.len() + 1);
    }
}
