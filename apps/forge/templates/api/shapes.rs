/// What a field may hold.
#[allow(dead_code, reason = "not every service has every kind of field")]
#[derive(Clone, Copy)]
pub enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    Reference,
}

impl Kind {
    /// What people are told.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Text => "a text that is not too long",
            Kind::Integer => "a whole number",
            Kind::Number => "a number",
            Kind::Boolean => "true or false",
            Kind::Reference => "the id of a record that is there",
        }
    }
}

/// A field.
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    pub unique: bool,
    pub max_length: usize,
    pub to: &'static str,
}

/// An entity.
pub struct Entity {
    pub name: &'static str,
    pub fields: &'static [Field],
}

/// An endpoint beside the entities; its values are JSON.
pub struct Endpoint {
    pub method: &'static str,
    pub path: &'static str,
    pub entity: &'static str,
    pub values: &'static [(&'static str, &'static str)],
}
