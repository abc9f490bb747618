//! What a new description would break for those who use the old one: a field that goes or becomes something else.

use crate::request::{Description, Entity};

/// Every break, in words; none if the new description keeps all that is there.
pub fn breaks(old: &Description, new: &Description) -> Vec<String> {
    let mut found = Vec::new();
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
    use crate::request::Type;

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
