//! Applications: systems that stand on the engine, and come with routes, pages and panels of their own.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;

use crate::dashboard;
use crate::problem;
use crate::state::Shared;

/// A file that is part of the program: its path, and what is in it.
pub type File = (&'static str, &'static [u8]);

/// What an application brings to a server.
pub struct Application {
    /// Its name: pages are below `/apps/NAME/`, routes below `/api/v1/NAME/`.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What is below `/apps/NAME/`. `index.html` answers every address there that names no file, so that a page can be
    /// linked to as it is shown.
    pub files: &'static [File],
    /// The file that is a panel on the overview, if there is one.
    pub panel: Option<&'static str>,
    /// What can be asked of it.
    pub routes: Routes,
}

/// Routes with their description, by the scope that a token must have for them. Their state is theirs.
#[derive(Default)]
pub struct Routes {
    /// Those that only look.
    pub read: OpenApiRouter,
    /// Those that hand in work.
    pub submit: OpenApiRouter,
    /// Those that operate. Each request is written down with who sent it, before it is done.
    pub admin: OpenApiRouter,
}

impl Application {
    pub(crate) fn page(&self) -> String {
        format!("/apps/{}/", self.name)
    }
}

/// The first page of an application.
pub(crate) async fn home(server: State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    file(server, Path((name, String::new()))).await
}

/// An address without its last stroke: what a page refers to would be looked for beside it.
pub(crate) async fn beside(State(server): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    match server.applications.iter().find(|application| application.name == name) {
        Some(found) => (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, found.page())]).into_response(),
        None => problem::no_such_page().await.into_response(),
    }
}

/// A file of an application, or its page.
pub(crate) async fn file(
    State(server): State<Arc<Shared>>,
    Path((name, path)): Path<(String, String)>,
) -> Response {
    let Some(found) = server.applications.iter().find(|application| application.name == name) else {
        return problem::no_such_page().await.into_response();
    };
    let names_file = path.rsplit('/').next().is_some_and(|last| last.contains('.'));
    let path = if names_file { path.as_str() } else { "index.html" };
    dashboard::served(found.files, path).await
}
