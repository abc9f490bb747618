//! Tokens for access, as whoever guards a door needs them. The engine itself asks nobody for one.

use turnwise_core::name::Name;
use turnwise_drivers::store::{Found, Read, Token, Unit};

use crate::Error;
use crate::engine::{Engine, odd_answer};

impl Engine {
    /// Every token, by name; also those whose time is over.
    pub async fn tokens(&self) -> Result<Vec<Token>, Error> {
        match self.inner.read(Read::Tokens).await? {
            Found::Tokens(tokens) => Ok(tokens),
            _ => Err(odd_answer()),
        }
    }

    /// Saves a token. One of the same name is replaced.
    pub async fn save_token(&self, token: Token) -> Result<(), Error> {
        self.inner.commit_one(Unit::Token(token.name.clone(), Some(token))).await.map(drop)
    }

    /// Removes a token: it is good for nothing any more.
    pub async fn remove_token(&self, name: &str) -> Result<(), Error> {
        self.inner.commit_one(Unit::Token(Name::new(name)?, None)).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use turnwise_core::refusal::Refusal;
    use turnwise_drivers::store::Scope;

    use super::*;
    use crate::testing::TestEngine;

    #[tokio::test]
    async fn a_token_is_saved_shown_and_removed() {
        let test = TestEngine::new().await.unwrap();
        let engine = &test.engine;
        let token = Token {
            name: Name::new("first").unwrap(),
            hash: [9; 32],
            scopes: [Scope::Admin].into(),
            owners: None,
            made: engine.time().await.unwrap(),
            until: None,
        };
        engine.save_token(token.clone()).await.unwrap();
        assert_eq!(engine.tokens().await.unwrap(), [token]);
        engine.remove_token("first").await.unwrap();
        assert_eq!(engine.tokens().await.unwrap(), []);
        let gone = engine.remove_token("first").await;
        assert!(matches!(gone, Err(Error::Refused(Refusal::UnknownToken(_)))), "{gone:?}");
    }
}
