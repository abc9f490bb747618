//! Tokens for access are what was set.

use std::collections::BTreeSet;

use turnwise_core::limits;
use turnwise_core::refusal::Refusal;
use turnwise_core::time::hours;

use super::world::{World, name};
use crate::store::{Found, Read, Scope, Token, Unit};

/// A token that may read the jobs of one owner.
pub fn token(text: &str, world: &World) -> Token {
    Token {
        name: name(text),
        hash: [7; 32],
        scopes: BTreeSet::from([Scope::Read]),
        owners: Some(BTreeSet::from([name("acme")])),
        made: world.now(),
        until: Some(world.now() + hours(1)),
    }
}

fn save(token: &Token) -> Unit {
    Unit::Token(token.name.clone(), Some(token.clone()))
}

async fn tokens(world: &World) -> Vec<Token> {
    let Found::Tokens(tokens) = world.read(Read::Tokens).await else { panic!("tokens were asked for") };
    tokens
}

pub async fn tokens_are_what_was_set(mut world: World) {
    let (one, two) = (token("one", &world), token("two", &world));
    let all = Token {
        scopes: BTreeSet::from([Scope::Read, Scope::Submit, Scope::Work, Scope::Admin]),
        ..one.clone()
    };
    let all = Token { hash: std::array::from_fn(|place| place as u8), owners: None, until: None, ..all };
    for token in [&two, &one, &all] {
        world.ok(save(token)).await;
    }
    world.reopen();
    assert_eq!(tokens(&world).await, [all, two.clone()], "the last one of a name, by name");
    world.ok(Unit::Token(name("one"), None)).await;
    let gone = world.refused(Unit::Token(name("one"), None)).await;
    assert_eq!(gone, Refusal::UnknownToken(name("one")));
    world.advance(hours(2));
    assert_eq!(tokens(&world).await, [two], "one whose time is over is still shown");
}

pub async fn there_are_only_so_many_tokens(world: World) {
    let numbered = |number: usize| token(&format!("{number:04}"), &world);
    let outcomes = world.commit((0..limits::TOKENS).map(|number| save(&numbered(number))).collect()).await;
    assert!(outcomes.iter().all(Result::is_ok));
    let refusal = world.refused(save(&numbered(limits::TOKENS))).await;
    assert!(matches!(refusal, Refusal::TooLarge { most: limits::TOKENS, .. }), "{refusal:?}");
    world.ok(save(&numbered(5))).await;
    world.ok(Unit::Token(name("0007"), None)).await;
    world.ok(save(&numbered(limits::TOKENS))).await;
    assert_eq!(tokens(&world).await.len(), limits::TOKENS);
    let owners = (0..=limits::OWNERS_PER_TOKEN).map(|number| name(&number.to_string())).collect();
    let wide = Token { owners: Some(owners), ..numbered(5) };
    assert!(matches!(world.refused(save(&wide)).await, Refusal::TooLarge { .. }));
}
