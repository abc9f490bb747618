//! What a request can come to, other than what was asked for: a problem document (RFC 9457) with a status, a code for
//! programs and a sentence for people. Each code has a page in `docs/errors/`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use turnwise::{Error, Refusal, StoreError};
use utoipa::{IntoResponses, ToSchema};

/// An error answer.
#[derive(Debug)]
pub struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) detail: String,
    /// When it is worth to try again, in seconds.
    pub(crate) after: Option<u32>,
}

/// A problem document, as RFC 9457 has it.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Document {
    /// The page about this code.
    r#type: String,
    /// The code in words.
    title: String,
    /// The status of the answer.
    status: u16,
    /// What programs tell problems apart by. It never changes its meaning.
    code: String,
    /// What happened, and what to do.
    detail: String,
}

/// What every route can come to.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "it only describes")]
pub enum Problems {
    /// The request was refused: the code and the sentence say why.
    #[response(status = "4XX", content_type = "application/problem+json")]
    Refused(#[to_schema] Document),
    /// Something that the engine needs is missing at the moment.
    #[response(status = "5XX", content_type = "application/problem+json")]
    Failed(#[to_schema] Document),
}

impl Problem {
    /// A problem with one of the [codes](crate::CODES), and a sentence that says what happened and what to do.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Problem { status, code: code.into(), detail: detail.into(), after: None }
    }

    /// What was given makes no sense.
    pub fn bad(code: &'static str, detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// Whoever asks may not.
    pub fn forbidden(code: &'static str, detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::FORBIDDEN, code, detail)
    }

    /// It is worth to try again after so many seconds.
    pub fn after(mut self, seconds: u32) -> Self {
        self.after = Some(seconds);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let document = Document {
            r#type: format!("/api/errors/{}", self.code),
            title: title(&self.code),
            status: self.status.as_u16(),
            code: self.code,
            detail: self.detail,
        };
        let mut response = (self.status, axum::Json(document)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// `unknown_job` in words.
fn title(code: &str) -> String {
    let mut words = code.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
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
            Error::UnknownWorker(_) => (StatusCode::NOT_FOUND, "unknown_worker"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
        };
        if status.is_server_error() {
            tracing::error!(why = %detail, "a request failed");
        }
        Problem::new(status, code, detail)
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
        Problem { status, code, detail: refusal.to_string(), after: None }
    }
}

/// A page that does not exist.
pub(crate) async fn no_such_page() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no_such_page", "there is no such page: GET /api tells what there is")
}

/// A page that is asked for in another way.
pub(crate) async fn no_such_method() -> Problem {
    let detail = "this page is asked for in another way: GET /api tells how";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no_such_method", detail)
}

macro_rules! codes {
    ($($code:literal)*) => {
        &[$(($code, include_str!(concat!("../../../docs/errors/", $code, ".md")))),*]
    };
}

/// Every code, with the page about it.
pub const CODES: &[(&str, &str)] = codes! {
    "bad_cursor"
    "bad_id"
    "bad_json"
    "bad_name"
    "bad_payload"
    "bad_query"
    "bad_state"
    "bad_token"
    "bad_verb"
    "batch_cancelled"
    "bound_token"
    "broken_body"
    "broker_failed"
    "cap_reached"
    "empty_batch"
    "failed"
    "foreign_host"
    "foreign_origin"
    "gone"
    "gone_again"
    "id_taken"
    "invalid"
    "kind_off"
    "lease_held"
    "missing_scope"
    "no_random"
    "no_such_method"
    "no_such_page"
    "not_due"
    "not_parked"
    "paused"
    "quota"
    "rate_reached"
    "sealed"
    "session_ended"
    "stale_claim"
    "stale_fence"
    "stale_term"
    "stale_ticket"
    "stopping"
    "store_failed"
    "store_full"
    "timeout"
    "token_exists"
    "too_large"
    "too_many_requests"
    "too_many_watchers"
    "too_many_workers"
    "unknown_batch"
    "unknown_job"
    "unknown_kind"
    "unknown_lane"
    "unknown_schedule"
    "unknown_token"
    "unknown_worker"
    "vault"
    "wrong_state"
    "wrong_token"
};

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
            assert!(!problem.detail.is_empty());
        }
        assert_eq!(title("unknown_job"), "Unknown job");
    }

    /// The codes that the source speaks of, found by looking at it.
    #[test]
    fn every_code_has_a_page() {
        let mut sources = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        let mut seen = 0;
        while let Some(path) = sources.pop() {
            if path.is_dir() {
                sources.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let words = text.split('"').skip(1).step_by(2);
            let after = text.split('"').step_by(2);
            for (before, word) in after.zip(words) {
                let before = before.trim_end();
                let called =
                    ["bad(", "forbidden(", "read_some(", "read("].iter().any(|call| before.ends_with(call));
                let status = before.strip_suffix(',').and_then(|before| before.rsplit_once("StatusCode::"));
                let names_one = called
                    || status.is_some_and(|(before, status)| {
                        status != "OK" && (before.ends_with("Problem::new(") || before.ends_with("=> ("))
                    });
                if names_one && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
                    seen += 1;
                    assert!(
                        CODES.iter().any(|(code, _)| *code == word),
                        "{word} in {} has no page",
                        path.display()
                    );
                }
            }
        }
        assert!(seen > 30, "only {seen} codes were found: the test looks in the wrong way");
        for (code, page) in CODES {
            assert!(page.starts_with(&format!("# {code}\n")) && page.contains("What to do"), "{code}");
        }
    }
}
