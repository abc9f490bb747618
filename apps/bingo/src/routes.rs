//! What can be asked of bingo over HTTP, and its page.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnwise::{BatchId, Name, Refusal};
use turnwise_server::{Answer, Application, Asked, Caller, File, Problem, Problems, Routes, Said};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::scenario::Given;
use crate::view::{Comparison, Format, Listed, Status, compare};
use crate::work::{Bingo, Order, runs_of, startable};
use crate::{Fault, Plan, Shipped, Timeline, read, shipped};

/// The page and its files.
const FILES: &[File] = &[
    ("index.html", include_bytes!("page/index.html")),
    ("main.js", include_bytes!("page/main.js")),
    ("start.js", include_bytes!("page/start.js")),
    ("batches.js", include_bytes!("page/batches.js")),
    ("batch.js", include_bytes!("page/batch.js")),
    ("compare.js", include_bytes!("page/compare.js")),
    ("charts.js", include_bytes!("page/charts.js")),
    ("words.js", include_bytes!("page/words.js")),
    ("bingo.css", include_bytes!("page/bingo.css")),
];

/// The application, as a server takes it.
pub fn application(bingo: &Bingo) -> Application {
    let read = OpenApiRouter::new()
        .routes(routes!(samples))
        .routes(routes!(sample))
        .routes(routes!(check))
        .routes(routes!(list))
        .routes(routes!(one))
        .routes(routes!(scenario))
        .routes(routes!(results))
        .routes(routes!(runs))
        .routes(routes!(timeline))
        .routes(routes!(comparison))
        .with_state(bingo.clone());
    let submit =
        OpenApiRouter::new().routes(routes!(start)).routes(routes!(cancel)).with_state(bingo.clone());
    let routes = Routes { read, submit, admin: OpenApiRouter::new() };
    Application { name: "bingo", title: "Bingo", files: FILES, panel: None, routes }
}

/// A scenario that ships with the program.
#[derive(Serialize, ToSchema)]
struct Sample {
    /// What to ask for it by.
    name: &'static str,
    /// What it is called.
    title: String,
}

/// List the scenarios that ship with the program.
#[utoipa::path(get, path = "/api/v1/bingo/scenarios", tag = "bingo", security(("token" = ["read"])),
    responses((status = 200, body = Vec<Sample>), Problems))]
async fn samples() -> Answer<Vec<Sample>> {
    let titled = |Shipped { name, text }: &Shipped| {
        let title = read(text).map_or_else(|_| (*name).to_owned(), |scenario| scenario.name().to_owned());
        Sample { name, title }
    };
    Ok(Json(shipped().iter().map(titled).collect()))
}

/// A scenario as a text.
#[derive(Serialize, ToSchema)]
struct ScenarioText {
    /// The file.
    text: String,
}

/// Show a scenario that ships with the program.
#[utoipa::path(get, path = "/api/v1/bingo/scenarios/{name}", tag = "bingo", params(("name" = String, Path)),
    security(("token" = ["read"])), responses((status = 200, body = ScenarioText), Problems))]
async fn sample(Path(name): Path<String>) -> Answer<ScenarioText> {
    match shipped().iter().find(|one| one.name == name) {
        Some(found) => Ok(Json(ScenarioText { text: found.text.to_owned() })),
        None => {
            let names: Vec<&str> = shipped().iter().map(|one| one.name).collect();
            let detail = format!("there is no scenario `{name}`: there are {}", names.join(", "));
            Err(Problem::new(axum::http::StatusCode::NOT_FOUND, "no_such_page", detail))
        }
    }
}

/// A scenario to be looked at.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ToCheck {
    /// The scenario: the text of the file, or its JSON.
    #[schema(value_type = Value)]
    scenario: Given,
}

/// What a look at a scenario found.
#[derive(Serialize, ToSchema)]
struct Checked {
    /// Whether it can be simulated.
    ok: bool,
    /// Its name, if it can.
    name: Option<String>,
    /// Its teams, if it can.
    teams: Vec<CheckedTeam>,
    /// Rows of the board.
    rows: usize,
    /// Tiles of the board.
    tiles: usize,
    /// What is wrong with it, each with its place.
    #[schema(value_type = Vec<Object>)]
    faults: Vec<Fault>,
    /// Faults beyond those.
    more: usize,
}

/// A team of a scenario.
#[derive(Serialize, ToSchema)]
struct CheckedTeam {
    /// Its key.
    key: String,
    /// Its name.
    name: String,
    /// Its strategy.
    strategy: String,
    /// How many players it has.
    players: usize,
}

/// Look for what is wrong with a scenario. Nothing is stored.
#[utoipa::path(post, path = "/api/v1/bingo/check", tag = "bingo", request_body = ToCheck,
    security(("token" = ["read"])), responses((status = 200, body = Checked), Problems))]
async fn check(Said(ToCheck { scenario }): Said<ToCheck>) -> Answer<Checked> {
    let checked = match scenario.read().and_then(startable) {
        Ok(scenario) => {
            let plan = Plan::new(&scenario);
            let teams = plan.teams().iter().map(|team| CheckedTeam {
                key: team.key.clone(),
                name: team.name.clone(),
                strategy: team.strategy.clone(),
                players: team.players.len(),
            });
            Checked {
                ok: true,
                name: Some(scenario.name().to_owned()),
                teams: teams.collect(),
                rows: plan.rows(),
                tiles: plan.tiles().len(),
                faults: Vec::new(),
                more: 0,
            }
        }
        Err(faults) => Checked {
            ok: false,
            name: None,
            teams: Vec::new(),
            rows: 0,
            tiles: 0,
            more: faults.more(),
            faults: faults.list().to_vec(),
        },
    };
    Ok(Json(checked))
}

/// A batch to be started.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ToStart {
    /// The scenario: the text of the file, or its JSON.
    #[schema(value_type = Value)]
    scenario: Given,
    /// How many runs.
    #[schema(value_type = u64, minimum = 1)]
    runs: serde_json::Number,
    /// What the luck of every run is made from: the same seed gives the same results.
    seed: String,
    /// What people call it; the scenario's name unless said.
    name: Option<String>,
    /// Whose turns it takes.
    owner: Option<String>,
}

/// A batch that was started.
#[derive(Serialize, ToSchema)]
struct Started {
    /// Its id.
    batch: String,
}

/// Start a batch. A scenario with faults is refused before anything is queued.
#[utoipa::path(post, path = "/api/v1/bingo/batches", tag = "bingo", request_body = ToStart,
    security(("token" = ["submit"])), responses((status = 200, body = Started), Problems))]
async fn start(State(bingo): State<Bingo>, caller: Caller, Said(said): Said<ToStart>) -> Answer<Started> {
    let ToStart { scenario, runs, seed, name, owner } = said;
    let owner = owner.map(Name::new).transpose().map_err(|bad| Problem::bad("bad_name", bad.to_string()))?;
    let owner = caller.owner(owner)?;
    let runs = runs_of(&runs.to_string()).map_err(|bad| Problem::bad("invalid", bad))?;
    let scenario = scenario
        .read()
        .map_err(|faults| Problem::bad("invalid", format!("the scenario has faults:\n{faults}")))?;
    let order = Order::of(name.as_deref(), scenario, runs, &seed)
        .map_err(|fault| Problem::bad("invalid", fault.to_string()))?;
    let handle = bingo.start(order, owner.as_deref()).await?;
    Ok(Json(Started { batch: handle.id.to_string() }))
}

/// Which page of batches.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Which {
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// List batches, newest first.
#[utoipa::path(get, path = "/api/v1/bingo/batches", tag = "bingo", params(Which), security(("token" = ["read"])),
    responses((status = 200, body = Listed), Problems))]
async fn list(State(bingo): State<Bingo>, caller: Caller, Asked(which): Asked<Which>) -> Answer<Listed> {
    let before = which.cursor.as_deref().map(|text| id("bad_cursor", text)).transpose()?;
    Ok(Json(bingo.list(before, |owner| caller.sees(owner)).await?))
}

/// Show how far a batch is.
#[utoipa::path(get, path = "/api/v1/bingo/batches/{id}", tag = "bingo", params(("id" = String, Path)),
    security(("token" = ["read"])), responses((status = 200, body = Status), Problems))]
async fn one(State(bingo): State<Bingo>, caller: Caller, Path(id): Path<String>) -> Answer<Status> {
    let id = known(&bingo, &caller, &id).await?;
    Ok(Json(bingo.status(id).await?))
}

/// Show the scenario of a batch.
#[utoipa::path(get, path = "/api/v1/bingo/batches/{id}/scenario", tag = "bingo", params(("id" = String, Path)),
    security(("token" = ["read"])), responses((status = 200, body = ScenarioText), Problems))]
async fn scenario(
    State(bingo): State<Bingo>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<ScenarioText> {
    let id = known(&bingo, &caller, &id).await?;
    let canonical = bingo.scenario(id).await?;
    let text = serde_json::to_string_pretty(&canonical)
        .map_err(|error| Problem::bad("failed", error.to_string()))?;
    Ok(Json(ScenarioText { text }))
}

/// Show what a batch came to.
#[utoipa::path(get, path = "/api/v1/bingo/batches/{id}/results", tag = "bingo", params(("id" = String, Path)),
    security(("token" = ["read"])), responses((status = 200, body = Object), Problems))]
async fn results(State(bingo): State<Bingo>, caller: Caller, Path(id): Path<String>) -> Answer<Value> {
    let id = known(&bingo, &caller, &id).await?;
    json(&bingo.results(id).await?)
}

/// How the runs are wanted.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct How {
    /// `csv` unless said, or `json`.
    format: Option<Format>,
}

/// Get every single run of a batch, in order.
#[utoipa::path(get, path = "/api/v1/bingo/batches/{id}/runs", tag = "bingo", params(("id" = String, Path), How),
    security(("token" = ["read"])), responses((status = 200, body = String, content_type = "text/csv"), Problems))]
async fn runs(
    State(bingo): State<Bingo>,
    caller: Caller,
    Path(id): Path<String>,
    Asked(how): Asked<How>,
) -> Result<Response, Problem> {
    let id = known(&bingo, &caller, &id).await?;
    let format = how.format.unwrap_or_default();
    let export = bingo.export(id, format).await?;
    // An error halfway breaks the connection off: nobody takes a part for the whole.
    let parts = futures_util::stream::try_unfold(export, |mut export| async {
        Ok::<_, turnwise::Error>(export.next().await?.map(|text| (text, export)))
    });
    let name = format!("attachment; filename=\"bingo-{id}.{}\"", format.ending());
    let headers =
        [(header::CONTENT_TYPE, format.media_type().to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, Body::from_stream(parts)).into_response())
}

/// Show one run of a batch again, event by event.
#[utoipa::path(get, path = "/api/v1/bingo/batches/{id}/runs/{run}", tag = "bingo",
    params(("id" = String, Path), ("run" = u64, Path)), security(("token" = ["read"])),
    responses((status = 200, body = Object), Problems))]
async fn timeline(
    State(bingo): State<Bingo>,
    caller: Caller,
    Path((id, run)): Path<(String, String)>,
) -> Answer<Timeline> {
    let id = known(&bingo, &caller, &id).await?;
    let run =
        run.parse().map_err(|_| Problem::bad("invalid", format!("run: `{run}` is no number of a run")))?;
    Ok(Json(bingo.timeline(id, run).await?))
}

/// Which two.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Two {
    /// The first batch.
    first: String,
    /// The second batch.
    second: String,
}

/// Compare two batches, team by team.
#[utoipa::path(get, path = "/api/v1/bingo/compare", tag = "bingo", params(Two), security(("token" = ["read"])),
    responses((status = 200, body = Comparison), Problems))]
async fn comparison(
    State(bingo): State<Bingo>,
    caller: Caller,
    Asked(two): Asked<Two>,
) -> Answer<Comparison> {
    let first = known(&bingo, &caller, &two.first).await?;
    let second = known(&bingo, &caller, &two.second).await?;
    Ok(Json(compare(&bingo.results(first).await?, &bingo.results(second).await?)))
}

/// End a batch early. What was simulated by then is merged all the same.
#[utoipa::path(post, path = "/api/v1/bingo/batches/{id}/cancel", tag = "bingo", params(("id" = String, Path)),
    security(("token" = ["submit"])), responses((status = 200, body = Status), Problems))]
async fn cancel(State(bingo): State<Bingo>, caller: Caller, Path(id): Path<String>) -> Answer<Status> {
    let id = known(&bingo, &caller, &id).await?;
    bingo.cancel(id).await?;
    Ok(Json(bingo.status(id).await?))
}

fn id(code: &'static str, text: &str) -> Result<BatchId, Problem> {
    text.parse().map_err(|bad: <BatchId as std::str::FromStr>::Err| Problem::bad(code, bad.to_string()))
}

/// The id of a batch that the caller may see. Another's is as unknown as none.
async fn known(bingo: &Bingo, caller: &Caller, text: &str) -> Result<BatchId, Problem> {
    let id = id("bad_id", text)?;
    let view = bingo.engine.batch_view(id).await?.filter(|view| caller.sees(&view.batch.owner));
    view.map(|_| id).ok_or_else(|| Refusal::UnknownBatch(id).into())
}

fn json(value: &impl Serialize) -> Answer<Value> {
    let value = serde_json::to_value(value);
    value.map(Json).map_err(|error| Problem::bad("failed", error.to_string()))
}
