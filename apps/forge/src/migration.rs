//! What a new description would break for those who use the old one: a field that goes or becomes something else.

use crate::request::{Description, Entity, Storage, Type};

/// Every break, in words; none if the new description keeps all that is there.
pub fn breaks(old: &Description, new: &Description) -> Vec<String> {
    let mut found = Vec::new();
    if (old.storage, new.storage) == (Storage::File, Storage::Memory) {
        found.push("records that are kept in a file would be lost at each end of the service".to_owned());
    }
    for entity in &old.entities {
        match new.entities.iter().find(|other| other.name == entity.name) {
            None => found.push(format!("the entity `{}` is gone", entity.name)),
            Some(other) => of_entity(entity, other, &mut found),
        }
    }
    found
}

fn of_entity(old: &Entity, new: &Entity, found: &mut Vec<String>) {
    let entity = &old.name;
    for field in &old.fields {
        let name = &field.name;
        let Some(other) = new.fields.iter().find(|other| other.name == *name) else {
            found.push(format!("the field `{entity}.{name}` is gone"));
            continue;
        };
        if other.r#type != field.r#type {
            found.push(format!("`{entity}.{name}` was {} and would be {}", field.r#type, other.r#type));
        } else if other.to != field.to {
            found.push(format!("`{entity}.{name}` would lead to another entity"));
        }
        if (field.r#type, other.r#type) == (Type::Text, Type::Text) && other.longest() < field.longest() {
            found.push(format!("`{entity}.{name}` would be shorter, and longer records may be there"));
        }
        if other.required && !field.required {
            found.push(format!("`{entity}.{name}` would be required, and records without it are there"));
        }
        if other.unique && !field.unique {
            found.push(format!("`{entity}.{name}` would be unique, and records may share a value"));
        }
    }
    for field in new.fields.iter().filter(|field| field.required) {
        if old.fields.iter().all(|other| other.name != field.name) {
            found.push(format!(
                "the new field `{entity}.{}` is required, and records without it are there",
                field.name
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_or_changes_is_named_and_what_comes_is_not() {
        let old = crate::sample::request("shop").description();
        assert_eq!(breaks(&old, &old), Vec::<String>::new());
        let mut new = old.clone();
        new.entities[1].fields[1].r#type = Type::Text;
        new.entities[1].fields.remove(2);
        new.entities[1].fields[0].to = Some("vendor".into());
        let found = breaks(&old, &new);
        assert_eq!(
            found,
            [
                "`invoice.customer` would lead to another entity",
                "`invoice.total` was number and would be text",
                "the field `invoice.open` is gone",
            ]
        );
        let mut tight = old.clone();
        tight.storage = Storage::Memory;
        tight.entities[0].fields[0].max_length = Some(1);
        let found = breaks(&old, &tight);
        assert!(found.len() == 2 && found[1].contains("would be shorter"), "{found:?}");
        assert_eq!(breaks(&tight, &old), Vec::<String>::new(), "longer is no break");
        new.entities.remove(1);
        assert_eq!(breaks(&old, &new), ["the entity `invoice` is gone"]);
        let mut more = old.clone();
        let mut field = more.entities[0].fields[0].clone();
        field.name = "phone".into();
        field.required = false;
        more.entities[0].fields.push(field);
        more.entities.push(Entity { name: "vendor".into(), fields: more.entities[0].fields.clone() });
        assert_eq!(breaks(&old, &more), Vec::<String>::new());
    }
}
