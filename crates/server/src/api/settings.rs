//! What is in force in this process, and what applications add to the dashboard.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::Answer;
use crate::access::Caller;
use crate::problem::Problems;
use crate::state::{Setting, Shared};

/// The settings in force.
#[derive(Serialize, ToSchema)]
pub(crate) struct Settings {
    settings: Vec<Setting>,
}

/// See the settings in force, without secrets.
#[utoipa::path(get, path = "/api/v1/settings", tag = "operating", security(("token" = ["read"])),
    responses((status = 200, body = Settings), Problems))]
pub(crate) async fn settings(State(server): State<Arc<Shared>>, caller: Caller) -> Answer<Settings> {
    caller.must_be_free()?;
    Ok(Json(Settings { settings: server.settings.clone() }))
}

/// What applications add.
#[derive(Serialize, ToSchema)]
pub(crate) struct Pages {
    pages: Vec<Page>,
}

/// What an application adds to the dashboard.
#[derive(Serialize, ToSchema)]
struct Page {
    /// Its name.
    name: &'static str,
    /// What people call it.
    title: &'static str,
    /// Its page.
    path: String,
    /// A module for a panel on the overview, if it has one.
    panel: Option<String>,
}

/// List the pages that applications add to the dashboard.
#[utoipa::path(get, path = "/api/v1/pages", tag = "operating", security(("token" = ["read"])),
    responses((status = 200, body = Pages), Problems))]
pub(crate) async fn pages(State(server): State<Arc<Shared>>) -> Answer<Pages> {
    let pages = server.applications.iter().map(|application| Page {
        name: application.name,
        title: application.title,
        path: application.page(),
        panel: application.panel.map(|file| format!("{}{file}", application.page())),
    });
    Ok(Json(Pages { pages: pages.collect() }))
}
