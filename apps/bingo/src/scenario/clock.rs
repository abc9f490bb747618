//! When the event starts, and where: civil time in a named time zone, from time-zone data inside the program.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use serde::{Serialize, Serializer};

use super::faults::Faults;
use super::fields::Field;
use super::node::shown_text;

/// The data that is compiled in: what a machine has installed must not change a result.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Civil time without a zone, written as `2026-03-06T18:00:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start(DateTime);

impl Start {
    /// The moment in a zone; none if the clocks skip it there. Of two, it is the first.
    pub(crate) fn in_zone(self, zone: &str) -> Option<Timestamp> {
        let ambiguous = find_zone(zone)?.into_ambiguous_zoned(self.0);
        if matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. }) {
            return None;
        }
        ambiguous.earlier().ok().map(|zoned| zoned.timestamp())
    }
}

impl Serialize for Start {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A zone by its name.
pub(crate) fn find_zone(name: &str) -> Option<TimeZone> {
    ZONES.get(name).ok()
}

pub(super) fn read_zone(field: &Field<'_>, faults: &mut Faults) -> Option<String> {
    let text = field.text(faults)?;
    match find_zone(text) {
        // The data names it as it is spelt there: `america/new_york` is the same place.
        Some(zone) => Some(zone.iana_name().unwrap_or(text).to_owned()),
        None => {
            let shown = shown_text(text);
            faults.add(&field.place, format!("{shown} is not a time zone such as \"America/New_York\""));
            None
        }
    }
}

pub(super) fn read_start(field: &Field<'_>, faults: &mut Faults) -> Option<Start> {
    let text = field.text(faults)?;
    // Exactly this form: a start with an offset or a fraction would say something that is not honoured.
    let form = "dddd-dd-ddTdd:dd:dd";
    let fits =
        |(given, wanted): (u8, u8)| if wanted == b'd' { given.is_ascii_digit() } else { given == wanted };
    let formed = text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits);
    let parsed: Option<DateTime> = if formed { text.parse().ok() } else { None };
    match parsed.filter(|start| (1970..=2200).contains(&start.year())) {
        Some(start) => Some(Start(start)),
        None => {
            let advice = "is not a local time from 1970 to 2200 such as \"2026-03-06T18:00:00\"";
            faults.add(&field.place, format!("{} {advice}", shown_text(text)));
            None
        }
    }
}
