//! Entities that refer to each other in a ring: none of them could ever be created first.

use std::collections::BTreeMap;

use super::reader::Wrong;
use crate::request::Entity;

/// Refuses references that lead back to where they began.
pub(super) fn refuse(entities: &[Entity]) -> Result<(), Wrong> {
    let place_of: BTreeMap<&str, usize> =
        entities.iter().enumerate().map(|(at, entity)| (entity.name.as_str(), at)).collect();
    let mut done = vec![false; entities.len()];
    for start in 0..entities.len() {
        walk(entities, &place_of, start, &mut Vec::new(), &mut done)?;
    }
    Ok(())
}

/// Goes on from an entity, on the way that led there. The way is no longer than there are entities.
fn walk(
    entities: &[Entity],
    place_of: &BTreeMap<&str, usize>,
    at: usize,
    way: &mut Vec<usize>,
    done: &mut [bool],
) -> Result<(), Wrong> {
    if done[at] {
        return Ok(());
    }
    way.push(at);
    for (number, field) in entities[at].fields.iter().enumerate() {
        let Some(next) = field.to.as_deref().and_then(|to| place_of.get(to)).copied() else { continue };
        if let Some(begin) = way.iter().position(|passed| *passed == next) {
            let ring = way[begin..].iter().chain([&next]).map(|at| entities[*at].name.as_str());
            let ring = ring.collect::<Vec<_>>().join(" → ");
            return Err(Wrong {
                place: format!("entities[{at}].fields[{number}].to"),
                what: format!(
                    "{ring} is a ring of references, in which none stands at the beginning: leave one out"
                ),
            });
        }
        walk(entities, place_of, next, way, done)?;
    }
    way.pop();
    done[at] = true;
    Ok(())
}
