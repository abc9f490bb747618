//! Tokens for access are set and removed.

use turnwise_core::limits as most;
use turnwise_core::name::Name;
use turnwise_core::refusal::Refusal;

use super::working::spaces;
use super::{Backend, Trouble, Working};
use crate::store::{Receipt, Token};

pub(super) fn token<B: Backend>(
    w: &mut Working<B>,
    name: &Name,
    token: Option<&Token>,
) -> Result<Receipt, Trouble> {
    let known = w.get::<spaces::Tokens>(name)?.is_some();
    let count = w.get::<spaces::TokenCount>(&())?.unwrap_or(0);
    match (token, known) {
        (Some(token), _) => {
            let owners = token.owners.as_ref().map_or(0, std::collections::BTreeSet::len);
            Refusal::unless_within("a token, in owners,", owners, most::OWNERS_PER_TOKEN)?;
            let count = count + usize::from(!known);
            Refusal::unless_within("the list of tokens", count, most::TOKENS)?;
            w.put::<spaces::TokenCount>((), count);
            w.put::<spaces::Tokens>(name.clone(), token.clone());
        }
        (None, true) => {
            w.put::<spaces::TokenCount>((), count.saturating_sub(1));
            w.remove::<spaces::Tokens>(name)?;
        }
        (None, false) => return Err(Refusal::UnknownToken(name.clone()).into()),
    }
    Ok(Receipt::Accepted)
}
