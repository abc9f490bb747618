//! Who may come in, and what they may do.
//!
//! A request names this machine, comes from no foreign page, and carries a token or the cookie that a token was
//! exchanged for. A browser on this machine can be made to send requests here by any page, even under the page's own name
//! (DNS rebinding): such requests carry a foreign `Host` or `Origin`, and are refused before anything else is looked at.

pub(crate) mod cookie;
pub(crate) mod crowd;
pub(crate) mod guard;
pub(crate) mod hosts;
pub(crate) mod ring;
pub(crate) mod secret;

use std::collections::BTreeSet;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use turnwise::{Name, Scope};

use crate::problem::Problem;

/// Whoever asks, as their token says.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The token's name.
    pub name: Name,
    pub(crate) scopes: BTreeSet<Scope>,
    /// The owners that the token is bound to; without them, it is bound to none.
    pub owners: Option<BTreeSet<Name>>,
    /// The token's digest.
    pub(crate) hash: [u8; 32],
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts
            .extensions
            .get::<Caller>()
            .cloned()
            .ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, "wrong_token", "this page needs a token"))
    }
}

impl Caller {
    /// Refuses unless the token has a scope.
    pub(crate) fn must(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        let detail = format!(
            "the token `{}` has no scope `{}`: ask for one that has, `turnwise tokens create` makes it",
            self.name,
            scope.word()
        );
        Err(Problem::forbidden("missing_scope", detail))
    }

    /// Whether it may see and touch what belongs to an owner.
    pub fn sees(&self, owner: &Name) -> bool {
        self.owners.as_ref().is_none_or(|owners| owners.contains(owner))
    }

    /// Refuses a token that is bound to owners, where what is asked for belongs to nobody in particular.
    pub fn must_be_free(&self) -> Result<(), Problem> {
        match &self.owners {
            None => Ok(()),
            Some(_) => Err(self.bound("this shows what belongs to others too")),
        }
    }

    /// The owner that a request is about: the one it names, or the only one that the token is bound to.
    pub fn owner(&self, named: Option<Name>) -> Result<Option<Name>, Problem> {
        match (&self.owners, named) {
            (None, named) => Ok(named),
            (Some(owners), Some(named)) if owners.contains(&named) => Ok(Some(named)),
            (Some(_), Some(_)) => Err(self.bound("the owner is not one of them")),
            (Some(owners), None) => match owners.len() {
                1 => Ok(owners.first().cloned()),
                _ => Err(self.bound("say which `owner` is meant")),
            },
        }
    }

    /// Why a token that is bound to owners cannot be used for something.
    pub(crate) fn bound(&self, why: &str) -> Problem {
        let owners: Vec<&str> = self.owners.iter().flatten().map(Name::as_str).collect();
        let detail = format!("the token `{}` is bound to {}: {why}", self.name, owners.join(", "));
        Problem::forbidden("bound_token", detail)
    }
}
