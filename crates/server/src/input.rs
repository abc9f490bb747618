//! What comes in: bodies, queries and ids, each refused with a sentence that says what was wrong.

use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use turnwise::Name;

use crate::problem::Problem;

/// The largest request: a full submission and what JSON adds to it.
pub(crate) const BODY_BYTES: usize = 20 << 20;

/// A JSON body. An empty one is read as an empty object, so that what needs nothing said can be sent without.
#[derive(Debug)]
pub struct Said<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Said<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let body = Bytes::from_request(request, state).await.map_err(|rejection| {
            if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                too_large()
            } else {
                Problem::bad("broken_body", "the request broke off: send it again")
            }
        })?;
        let body = if body.is_empty() { &b"{}"[..] } else { &body };
        let said = serde_json::from_slice(body);
        said.map(Said)
            .map_err(|error| Problem::bad("bad_json", format!("the request cannot be read: {error}")))
    }
}

/// A request that is larger than any may be.
pub(crate) fn too_large() -> Problem {
    let detail = format!("a request may have {} MiB: send several", BODY_BYTES >> 20);
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
}

/// What stands behind the question mark of an address.
#[derive(Debug)]
pub struct Asked<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let asked = Query::from_request_parts(parts, state).await;
        asked
            .map(|Query(asked)| Asked(asked))
            .map_err(|rejection| Problem::bad("bad_query", rejection.body_text()))
    }
}

/// A name in a query, if there is one.
pub(crate) fn name(text: Option<String>) -> Result<Option<Name>, Problem> {
    text.map(Name::new).transpose().map_err(|bad| Problem::bad("bad_name", bad.to_string()))
}

/// Reads an id, a state or anything else that says itself what is wrong with it.
pub(crate) fn read<T: FromStr<Err: ToString>>(code: &'static str, text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error: T::Err| Problem::bad(code, error.to_string()))
}

/// Reads one that may be missing.
pub(crate) fn read_some<T: FromStr<Err: ToString>>(
    code: &'static str,
    text: Option<&str>,
) -> Result<Option<T>, Problem> {
    text.map(|text| read(code, text)).transpose()
}
