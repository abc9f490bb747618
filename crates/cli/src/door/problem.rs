//! What a request can come to, other than what was asked for: a status, a code for programs, a sentence for
//! people.

use std::borrow::Cow;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use turnwise::{Error, Refusal, StoreError};

/// An error answer.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Problem { status, code: code.into(), message: message.into() }
    }

    /// What was given makes no sense.
    pub(crate) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, code, message)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"code": self.code, "message": self.message}))).into_response()
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let (status, code) = match error {
            Error::Refused(refusal) => return refusal.into(),
            Error::Store(StoreError::Full) => (StatusCode::SERVICE_UNAVAILABLE, "store_full"),
            Error::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "store_failed"),
            Error::Broker(_) => (StatusCode::SERVICE_UNAVAILABLE, "broker_failed"),
            Error::Name(_) => (StatusCode::BAD_REQUEST, "bad_name"),
            Error::Json { .. } => (StatusCode::BAD_REQUEST, "bad_json"),
            Error::Config(_) => (StatusCode::BAD_REQUEST, "invalid"),
            Error::Vault(_) => (StatusCode::BAD_REQUEST, "vault"),
            Error::Gone(_) => (StatusCode::GONE, "gone"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
        };
        if status.is_server_error() {
            tracing::error!(why = %message, "a request failed");
        }
        Problem::new(status, code, message)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = match &refusal {
            Refusal::UnknownJob(_)
            | Refusal::UnknownBatch(_)
            | Refusal::UnknownLane(_)
            | Refusal::UnknownKind(_)
            | Refusal::UnknownSchedule(_)
            | Refusal::UnknownToken(_) => StatusCode::NOT_FOUND,
            Refusal::Quota { .. } | Refusal::RateReached(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Invalid(_) | Refusal::EmptyBatch(_) => StatusCode::BAD_REQUEST,
            _ => StatusCode::CONFLICT,
        };
        // The code is the one that a refusal has wherever it is written down.
        let written = serde_json::to_value(&refusal).unwrap_or_default();
        let code = written["code"].as_str().unwrap_or("refused").to_owned();
        Problem { status, code: code.into(), message: refusal.to_string() }
    }
}

/// A page that does not exist.
pub(crate) async fn no_such_page() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "no_such_page",
        "there is no such page: see `turnwise help` for what there is",
    )
}

/// A page that is asked for in another way.
pub(crate) async fn no_such_method() -> Problem {
    let message = "this page is asked for in another way: GET to look, POST to change";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no_such_method", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_codes() {
        let owner = turnwise::Name::new("a").unwrap();
        let cases: [(Error, u16, &str); 7] = [
            (Refusal::UnknownJob(turnwise::JobId::from_u64(1)).into(), 404, "unknown_job"),
            (Refusal::Quota { owner, backlog: 1, quota: 1 }.into(), 429, "quota"),
            (Refusal::TooLarge { what: "it", size: 2, most: 1 }.into(), 413, "too_large"),
            (Refusal::NotParked(turnwise::BatchId::from_u64(1)).into(), 409, "not_parked"),
            (Refusal::Invalid("x".into()).into(), 400, "invalid"),
            (StoreError::Full.into(), 503, "store_full"),
            (Error::Gone(5), 410, "gone"),
        ];
        for (error, status, code) in cases {
            let problem = Problem::from(error);
            assert_eq!((problem.status.as_u16(), &*problem.code), (status, code));
            assert!(!problem.message.is_empty());
        }
    }
}
