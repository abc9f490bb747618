//! Tokens: made, listed and revoked. A token is shown once, when it is made.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use turnwise::{Name, Scope, Token};
use utoipa::ToSchema;

use super::Answer;
use crate::access::ring::ROOT;
use crate::access::secret::Secret;
use crate::clock;
use crate::input::Said;
use crate::problem::{Problem, Problems};
use crate::state::Shared;

/// A token, without itself.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenOut {
    name: String,
    /// What it may do: `read`, `submit`, `work`, `admin`.
    scopes: BTreeSet<&'static str>,
    /// The owners that it is bound to, if it is bound.
    owners: Option<BTreeSet<String>>,
    /// When it was made.
    made: i64,
    /// Until when it is accepted.
    until: Option<i64>,
}

/// Every token in the store.
#[derive(Serialize, ToSchema)]
pub(crate) struct Tokens {
    tokens: Vec<TokenOut>,
}

/// List tokens.
#[utoipa::path(get, path = "/api/v1/tokens", tag = "access", security(("token" = ["admin"])),
    responses((status = 200, body = Tokens), Problems))]
pub(crate) async fn list(State(server): State<Arc<Shared>>) -> Answer<Tokens> {
    let tokens = server.engine.tokens().await?;
    Ok(Json(Tokens { tokens: tokens.iter().map(shown).collect() }))
}

fn shown(token: &Token) -> TokenOut {
    TokenOut {
        name: token.name.to_string(),
        scopes: token.scopes.iter().map(|scope| scope.word()).collect(),
        owners: token.owners.as_ref().map(|owners| owners.iter().map(ToString::to_string).collect()),
        made: token.made.as_micros(),
        until: token.until.map(turnwise::Time::as_micros),
    }
}

/// A token to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewToken {
    /// What it is called. Revoke it by this name.
    name: String,
    /// What it may do: `read`, `submit`, `work`, `admin`.
    #[schema(value_type = Vec<String>)]
    scopes: BTreeSet<Scope>,
    /// Only for these owners.
    #[schema(value_type = Option<Vec<String>>)]
    owners: Option<BTreeSet<Name>>,
    /// For how long, in milliseconds; for ever unless said.
    #[schema(minimum = 1)]
    ttl_ms: Option<u64>,
}

/// A token that was made.
#[derive(Serialize, ToSchema)]
pub(crate) struct Made {
    #[serde(flatten)]
    about: TokenOut,
    /// The token itself. It is never shown again.
    token: String,
}

/// Make a token.
#[utoipa::path(post, path = "/api/v1/tokens", tag = "access", request_body = NewToken,
    security(("token" = ["admin"])), responses((status = 201, body = Made), Problems))]
pub(crate) async fn create(
    State(server): State<Arc<Shared>>,
    Said(new): Said<NewToken>,
) -> Result<(StatusCode, Json<Made>), Problem> {
    let NewToken { name, scopes, owners, ttl_ms } = new;
    let name = Name::new(name).map_err(turnwise::Error::from)?;
    if scopes.is_empty() {
        return Err(Problem::bad("invalid", "a token without a scope may do nothing: name at least one"));
    }
    if owners.as_ref().is_some_and(BTreeSet::is_empty) {
        return Err(Problem::bad(
            "invalid",
            "a token bound to nobody may do nothing: name an owner, or leave it out",
        ));
    }
    if owners.is_some() && scopes.contains(&Scope::Admin) {
        return Err(Problem::bad(
            "invalid",
            "an admin's token cannot be bound to owners: leave one of them out",
        ));
    }
    let taken = server.engine.tokens().await?.iter().any(|token| token.name == name);
    if taken || name.as_str() == ROOT {
        let detail = format!("there is a token `{name}` already: revoke it first, or choose another name");
        return Err(Problem::new(StatusCode::CONFLICT, "token_exists", detail));
    }
    let secret = Secret::random().ok_or_else(|| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no_random", "the system gives no random numbers")
    })?;
    let made = clock::now();
    let until = ttl_ms.map(|millis| made + Duration::from_millis(millis));
    let token = Token { name, hash: secret.hash(), scopes, owners, made, until };
    let about = shown(&token);
    server.engine.save_token(token).await?;
    server.ring.forget();
    Ok((StatusCode::CREATED, Json(Made { about, token: secret.reveal().to_owned() })))
}

/// Revoke a token. Other nodes know within seconds.
#[utoipa::path(delete, path = "/api/v1/tokens/{name}", tag = "access", params(("name" = String, Path)),
    security(("token" = ["admin"])), responses((status = 204), Problems))]
pub(crate) async fn revoke(
    State(server): State<Arc<Shared>>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    server.engine.remove_token(&name).await?;
    server.ring.forget();
    Ok(StatusCode::NO_CONTENT)
}
