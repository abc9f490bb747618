//! The API: what can be asked, by whom, and its description made from the same code.

pub(crate) mod batches;
pub(crate) mod dead;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod kinds;
pub(crate) mod lanes;
pub(crate) mod nodes;
pub(crate) mod overview;
pub(crate) mod owners;
pub(crate) mod pausing;
pub(crate) mod queue_status;
pub(crate) mod schedules;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod submit;
pub(crate) mod tokens;
pub(crate) mod workers;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use turnwise::{Scope, limits};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::guard;
use crate::application::{self, Application, Routes};
use crate::input::BODY_BYTES;
use crate::problem::{self, Problem};
use crate::state::{Server, Shared};
use crate::{dashboard, headers, metrics, pages};

/// Rows in a page unless said.
const PAGE: usize = 100;

/// What a handler answers.
pub type Answer<T> = Result<axum::Json<T>, Problem>;

/// How many rows are wanted, within the limits.
pub(crate) fn rows(limit: Option<usize>) -> usize {
    limit.unwrap_or(PAGE).clamp(1, limits::PAGE_ROWS)
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Turnwise",
        description = "A work engine: every job gets its turn, once. Times are microseconds since 1970; ids have 13 letters. \
                       Errors are problem documents (RFC 9457) with a stable code, each with a page at /api/errors/CODE."
    ),
    tags(
        (name = "jobs", description = "Units of work"),
        (name = "batches", description = "Jobs that were submitted together"),
        (name = "operating", description = "What an operator looks at and sets"),
        (name = "workers", description = "Programs in any language that run jobs"),
        (name = "events", description = "What happened, in order"),
        (name = "access", description = "Tokens and sessions"),
        (name = "health", description = "Whether all is well"),
    )
)]
struct Described;

/// What the API takes and gives, as it is at `/api/openapi.json` of a server with these applications.
pub fn openapi(applications: &[Application]) -> OpenApi {
    let (_, api) = described(applications).split_for_parts();
    api
}

/// Every route with its description. Routes that need the same scope are together, and a layer asks for it.
fn described(applications: &[Application]) -> OpenApiRouter<Arc<Shared>> {
    let mut api = Described::openapi();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    api.components.get_or_insert_default().add_security_scheme("token", bearer);
    let scoped = |scope: Scope, routes: OpenApiRouter<Arc<Shared>>| {
        routes.route_layer(from_fn_with_state(scope, guard::scoped))
    };
    let with = |own: OpenApiRouter<Arc<Shared>>, theirs: fn(&Routes) -> &OpenApiRouter| {
        applications.iter().fold(own, |all, one| all.merge(theirs(&one.routes).clone().with_state(())))
    };
    let known = OpenApiRouter::new()
        .routes(routes!(session::show, session::end))
        .merge(scoped(Scope::Read, with(reading(), |routes| &routes.read)))
        .merge(scoped(Scope::Submit, with(submitting(), |routes| &routes.submit)))
        .merge(scoped(Scope::Work, working()))
        .merge(scoped(
            Scope::Admin,
            with(operating(), |routes| &routes.admin).route_layer(from_fn(guard::audited)),
        ))
        .route_layer(from_fn(guard::known));
    OpenApiRouter::with_openapi(api)
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(session::begin))
        .merge(known)
}

fn reading() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(overview::overview))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::one))
        .routes(routes!(batches::list))
        .routes(routes!(batches::one))
        .routes(routes!(lanes::list))
        .routes(routes!(owners::list))
        .routes(routes!(kinds::list))
        .routes(routes!(dead::list))
        .routes(routes!(schedules::list))
        .routes(routes!(nodes::nodes))
        .routes(routes!(nodes::leases))
        .routes(routes!(events::events))
        .routes(routes!(queue_status::queue_status))
        .routes(routes!(metrics::metrics))
        .routes(routes!(settings::settings))
        .routes(routes!(settings::pages))
}

fn submitting() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(submit::one))
        .routes(routes!(submit::many))
        .routes(routes!(submit::batch))
        .routes(routes!(jobs::act))
        .routes(routes!(batches::seal))
        .routes(routes!(batches::cancel))
}

fn working() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(workers::register))
        .routes(routes!(workers::leave))
        .routes(routes!(workers::claim))
        .routes(routes!(workers::heartbeat))
        .routes(routes!(workers::progress))
        .routes(routes!(workers::step))
        .routes(routes!(workers::complete))
        .routes(routes!(workers::fail))
        .routes(routes!(workers::snooze))
        .routes(routes!(workers::release))
}

fn operating() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(batches::release))
        .routes(routes!(batches::pause))
        .routes(routes!(batches::resume))
        .routes(routes!(lanes::act))
        .routes(routes!(owners::act))
        .routes(routes!(owners::change))
        .routes(routes!(kinds::act))
        .routes(routes!(kinds::change))
        .routes(routes!(dead::replay))
        .routes(routes!(schedules::save, schedules::remove))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
}

/// Everything that a server answers.
pub(crate) fn router(server: &Server) -> Router {
    let shared = &server.0;
    let (api, description) = described(&shared.applications).split_for_parts();
    let description = Arc::new(description);
    let document = {
        let description = description.clone();
        move || std::future::ready(axum::Json(description))
    };
    Router::new()
        .merge(api)
        .route("/api", get(move || pages::api(description.clone())))
        .route("/api/openapi.json", get(document))
        .route("/api/errors/{code}", get(pages::error))
        .route("/", get(dashboard::home))
        .route("/assets/{*path}", get(dashboard::asset))
        .route("/apps/{name}", get(application::beside))
        .route("/apps/{name}/", get(application::home))
        .route("/apps/{name}/{*path}", get(application::file))
        .fallback(dashboard::page)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(from_fn_with_state(shared.clone(), guard::outer))
        .layer(from_fn(headers::secure))
        .with_state(shared.clone())
}
