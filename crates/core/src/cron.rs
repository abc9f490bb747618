//! Cron lines: at which moments a schedule makes a job, and which of them still count after a pause.
//!
//! # When the clocks change
//!
//! A line that names its hours (`30 2 * * *`, `0 2,14 * * *`, `*/5 9-17 * * *`) is about the clock on the
//! wall. What the wall shows twice in autumn runs once, the first time. What it never shows in spring runs
//! at the moment the clocks jump, all of it as one tick: 02:30 in Berlin on 2026-03-29 runs at 03:00.
//!
//! A line with a `*` in its hours (`*/15 * * * *`, `0 */2 * * *`) is about an interval. It runs in both of
//! the hours that look the same in autumn, and nothing is made up in spring.
//!
//! croner knows a similar rule, but only for lines with a single time of day, and it gives up in gaps of more
//! than two hours. So croner searches the calendar here, and this file lays it over the zone's time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::time::{Time, secs};

/// With [`Missed::Skip`], a tick that is at most this old still counts as on time.
pub const GRACE: Duration = secs(60);
/// Longest schedule name whose tick keys are still names.
pub const SCHEDULE_BYTES: usize = limits::NAME_BYTES - "cron:@2026-03-29T01:00:00.000Z".len();

/// A checked cron line in a named time zone.
///
/// Five fields, or six with seconds first. If both the day of the month and the day of the week are named,
/// a day that fits one of them is enough, as in every cron; a `+` before the day of the week asks for both.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Cron {
    line: String,
    zone: String,
    #[serde(skip_serializing)]
    calendar: Arc<croner::Cron>,
    #[serde(skip_serializing)]
    clock: TimeZone,
    /// Whether the line names its hours (see the top of this file).
    #[serde(skip_serializing)]
    by_the_wall: bool,
}

/// A cron line as it is stored, not yet checked.
#[derive(Deserialize)]
struct Written {
    line: String,
    zone: String,
}

/// What to do with ticks that passed while nobody was there to make their jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// Nothing: wait for the next tick.
    Skip,
    /// One job for all of them. The default: after a long night the work is done, and done once, where `Skip`
    /// could leave it out for a day and `All` could start a storm.
    #[default]
    One,
    /// A job for each, oldest first; only the newest [`limits::MISSED_TICKS`] are kept.
    All,
}

/// What to do with a tick while the job of the tick before is unfinished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// Make its job all the same. The default: no tick is lost without somebody asking for it.
    #[default]
    Allow,
    /// Make no job.
    Skip,
}

/// What a schedule owes at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Ticks that should get a job, oldest first.
    pub ticks: Vec<Time>,
    /// When to look again; nothing if the line has no further tick.
    pub next: Option<Time>,
}

/// Why a cron line cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCron {
    /// Longer than allowed.
    #[error("a cron line of {0} bytes is too long: use at most {max} bytes", max = limits::NAME_BYTES)]
    TooLong(usize),
    /// Too few or too many fields.
    #[error("a cron line has no {0} fields: write five, such as `30 2 * * *`, or six with seconds first")]
    Fields(usize),
    /// A field that cannot be read: which one, what it says, and what it could say.
    #[error("`{1}` cannot be the {0}: write {2}, `*`, or lists, ranges and steps of them")]
    Field(&'static str, String, &'static str),
    /// A date that does not exist.
    #[error("`{0}` never comes: write a day that its month has")]
    Never(String),
    /// No such time zone.
    #[error("`{0}` is no time zone: write a name such as Europe/Berlin, America/New_York or UTC")]
    Zone(String),
}

/// One field of a line: croner neither names the field that is wrong nor minds a weekday among the months.
struct Field {
    name: &'static str,
    range: &'static str,
    highest: u32,
    words: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 8] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "L"];
const FIELDS: [Field; 6] = [
    Field { name: "second", range: "0 to 59", highest: 59, words: &[] },
    Field { name: "minute", range: "0 to 59", highest: 59, words: &[] },
    Field { name: "hour", range: "0 to 23", highest: 23, words: &[] },
    Field { name: "day of month", range: "1 to 31 or L", highest: 31, words: &["L", "W", "LW"] },
    Field { name: "month", range: "1 to 12 or JAN to DEC", highest: 12, words: &MONTHS },
    Field { name: "day of week", range: "0 to 7 or SUN to SAT", highest: 7, words: &WEEKDAYS },
];
const HOURS: usize = 2;

/// A stretch of time in which the zone keeps its distance from UTC.
struct Stretch {
    offset: Offset,
    /// When the ticks come that were jumped over.
    start: Timestamp,
    end: Option<Timestamp>,
    /// The ticks of wall times after this one belong here. For lines that follow the wall it is where the
    /// stretch before left off: what was shown already is left out, what was jumped over is still owed.
    shown: DateTime,
}

impl Cron {
    /// Reads a line, such as `30 2 * * MON-FRI`, for the clocks of a zone, such as `Europe/Berlin`.
    pub fn parse(line: &str, zone: &str) -> Result<Cron, BadCron> {
        if line.len() > limits::NAME_BYTES {
            return Err(BadCron::TooLong(line.len()));
        }
        let mut fields: Vec<&str> = line.split_whitespace().collect();
        let line = fields.join(" ");
        match fields.len() {
            5 => fields.insert(0, "0"),
            6 => {}
            other => return Err(BadCron::Fields(other)),
        }
        for (index, (field, text)) in FIELDS.iter().zip(&fields).enumerate() {
            let mut alone = ["*"; FIELDS.len()];
            alone[index] = text;
            if !field.accepts(text) || alone.join(" ").parse::<croner::Cron>().is_err() {
                return Err(BadCron::Field(field.name, (*text).into(), field.range));
            }
        }
        let calendar: croner::Cron = line.parse().map_err(|_| BadCron::Fields(fields.len()))?;
        // The calendar repeats every 400 years, so the last 400 before croner's end tell of all the others.
        if calendar.find_next_occurrence(&DateTime::constant(4600, 1, 1, 0, 0, 0, 0), true).is_err() {
            return Err(BadCron::Never(line));
        }
        let (zone, clock) = find_zone(zone)?;
        let by_the_wall = !fields[HOURS].contains('*');
        Ok(Cron { line, zone, calendar: Arc::new(calendar), clock, by_the_wall })
    }

    /// The line, with single spaces.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The zone's name, in its usual spelling.
    pub fn zone(&self) -> &str {
        &self.zone
    }

    /// The first tick after a moment, not at it.
    pub fn next_after(&self, moment: Time) -> Option<Time> {
        let moment = Timestamp::from_microsecond(moment.as_micros()).ok()?;
        let mut stretch = self.stretch(moment)?;
        let mut wall = stretch.offset.to_datetime(moment).max(stretch.shown);
        loop {
            wall = self.calendar.find_next_occurrence(&wall, false).ok()?;
            let tick = stretch.offset.to_timestamp(wall).ok()?.max(stretch.start);
            match stretch.end {
                Some(end) if tick >= end => stretch = self.stretch(end)?,
                _ => return Some(Time::from_micros(tick.as_microsecond())),
            }
            wall = stretch.shown;
        }
    }

    /// The last tick before a moment or at it.
    fn last_until(&self, moment: Time) -> Option<Time> {
        let moment = Timestamp::from_microsecond(moment.as_micros()).ok()?;
        let mut stretch = self.stretch(moment)?;
        let mut wall = stretch.offset.to_datetime(moment);
        loop {
            wall = self.calendar.find_previous_occurrence(&wall, true).ok()?;
            if wall > stretch.shown {
                let tick = stretch.offset.to_timestamp(wall).ok()?.max(stretch.start);
                return Some(Time::from_micros(tick.as_microsecond()));
            }
            let before = stretch.start.checked_sub(SignedDuration::from_secs(1)).ok()?;
            stretch = self.stretch(before)?;
            wall = stretch.offset.to_datetime(before);
        }
    }

    /// The ticks after `last` and up to `now` that should get a job.
    ///
    /// The search goes backwards from `now`, so its cost is bounded by the ticks it returns and not by the
    /// length of the gap.
    pub fn due(&self, last: Time, now: Time, missed: Missed) -> Due {
        let most = if missed == Missed::All { limits::MISSED_TICKS } else { 1 };
        let earlier = |tick: &Time| self.last_until(*tick - Duration::from_micros(1));
        let mut ticks: Vec<Time> = std::iter::successors(self.last_until(now), earlier)
            .take_while(|tick| *tick > last)
            .take(most)
            .collect();
        ticks.reverse();
        if missed == Missed::Skip {
            ticks.retain(|tick| now.since(*tick) <= GRACE);
        }
        // A clock that stepped back must not make the same tick twice.
        Due { ticks, next: self.next_after(now.max(last)) }
    }

    /// The stretch around a moment. One that began more than a year ago is cut there: jiff finds the change
    /// after a moment reliably, but not always the one before.
    fn stretch(&self, moment: Timestamp) -> Option<Stretch> {
        let year_ago = Timestamp::from_second(moment.as_second() - 366 * 24 * 3_600).ok()?;
        let changes = |since| self.clock.following(since).map(|change| change.timestamp());
        let start = changes(year_ago).take_while(|change| *change <= moment).last().unwrap_or(year_ago);
        let offset = self.clock.to_offset(moment);
        let before = start.checked_sub(SignedDuration::from_secs(1)).ok()?;
        let shown = if self.by_the_wall { self.clock.to_offset(before) } else { offset }.to_datetime(before);
        Some(Stretch { offset, start, end: changes(moment).next(), shown })
    }
}

impl Field {
    /// Checks what croner lets pass: empty entries, words of other fields, and steps that never step.
    fn accepts(&self, text: &str) -> bool {
        let entry_fits = |entry: &str| match entry.split_once('/') {
            Some((_, step)) => step.parse().is_ok_and(|step: u32| step <= self.highest),
            None => !entry.is_empty(),
        };
        let known = |word: &str| word.bytes().all(|b| b.is_ascii_digit()) || self.words.contains(&word);
        let word_fits = |word: &str| {
            let mut marks = self.words.iter().filter(|mark| mark.len() == 1);
            known(word) || marks.any(|mark| word.strip_suffix(mark).is_some_and(known))
        };
        text.trim_start_matches('+').split(',').all(entry_fits)
            && text.to_uppercase().split(|c: char| !c.is_alphanumeric()).all(word_fits)
    }
}

/// Looks in the database that is built in: the machine's own may differ from node to node.
fn find_zone(name: &str) -> Result<(String, TimeZone), BadCron> {
    let zone = TimeZoneDatabase::bundled().get(name).ok().filter(|zone| !zone.is_unknown());
    let named = zone.and_then(|zone| Some((zone.iana_name()?.to_owned(), zone)));
    named.ok_or_else(|| BadCron::Zone(name.chars().take(40).collect()))
}

/// The unique key of a tick's job: however many nodes see the tick, it gets one job.
pub fn tick_key(schedule: &str, tick: Time) -> String {
    format!("cron:{schedule}@{tick}")
}

impl TryFrom<Written> for Cron {
    type Error = BadCron;

    fn try_from(Written { line, zone }: Written) -> Result<Self, BadCron> {
        Cron::parse(&line, &zone)
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cron({} {})", self.line, self.zone)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BERLIN: &str = "Europe/Berlin";
    const NEW_YORK: &str = "America/New_York";

    fn cron(line: &str, zone: &str) -> Cron {
        Cron::parse(line, zone).unwrap()
    }

    fn at(text: &str) -> Time {
        Time::from_micros(text.parse::<Timestamp>().unwrap().as_microsecond())
    }

    /// The ticks of a stretch of UTC, without their date.
    fn ticks(line: &str, zone: &str, from: &str, until: &str) -> Vec<String> {
        let cron = cron(line, zone);
        std::iter::successors(cron.next_after(at(from)), |tick| cron.next_after(*tick))
            .take_while(|tick| *tick <= at(until))
            .map(|tick| tick.to_string()[11..16].to_owned())
            .collect()
    }

    #[test]
    fn lines_by_the_clocks_of_their_zone() {
        let now = at("2026-01-15T00:00:00Z");
        for (zone, tick) in [("UTC", "09:30"), (BERLIN, "08:30"), ("asia/TOKYO", "00:30")] {
            let next = cron("30 9 * * *", zone).next_after(now).unwrap();
            assert_eq!(next, at(&format!("2026-01-15T{tick}:00Z")), "{zone}");
        }
        assert_eq!(cron(" 30  9 * * *", "asia/TOKYO").zone(), "Asia/Tokyo");
        assert_eq!(cron("*/20 * * * * *", "UTC").next_after(now), Some(now + secs(20)));
        assert_eq!(cron("0 0 * * FRIL", "UTC").next_after(now), Some(at("2026-01-30T00:00:00Z")));
        assert_eq!(cron("0 0 13 * +FRI", "UTC").next_after(now), Some(at("2026-02-13T00:00:00Z")));
        let leap = cron("0 12 29 2 *", BERLIN);
        assert_eq!(leap.next_after(now), Some(at("2028-02-29T11:00:00Z")));
        assert_eq!(leap.next_after(at("2096-03-01T00:00:00Z")), Some(at("2104-02-29T11:00:00Z")));
        assert_eq!(leap.next_after(Time::MAX), None);
        // New rules began in between without any clock showing it: looking back, jiff does not see that.
        let dublin = cron("0 12 30 12 *", "Europe/Dublin").next_after(at("1995-12-30T12:00:00Z"));
        assert_eq!(dublin, Some(at("1996-12-30T12:00:00Z")));
    }

    #[test]
    fn an_hour_that_is_jumped_over() {
        let berlin = |line| ticks(line, BERLIN, "2026-03-29T00:00:00Z", "2026-03-29T01:30:00Z");
        assert_eq!(berlin("30 2 * * *"), ["01:00"]);
        assert_eq!(berlin("*/10 2 * * *"), ["01:00"]);
        assert_eq!(berlin("30 2,3 * * *"), ["01:00", "01:30"]);
        assert_eq!(berlin("*/30 * * * *"), ["00:30", "01:00", "01:30"]);
        assert_eq!(berlin("30 */2 * * *"), [""; 0]);
        let new_york = ticks("30 2 * * *", NEW_YORK, "2026-03-07T08:00:00Z", "2026-03-09T08:00:00Z");
        assert_eq!(new_york, ["07:00", "06:30"]);
        // Samoa left out a whole day when it changed sides of the date line.
        let apia = ticks("0 12 29-31 12 *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2012-01-01T00:00:00Z");
        assert_eq!(apia, ["22:00", "10:00", "22:00"]);
    }

    #[test]
    fn an_hour_that_comes_twice() {
        let berlin = |line| ticks(line, BERLIN, "2026-10-24T23:50:00Z", "2026-10-25T02:00:00Z");
        assert_eq!(berlin("30 2 * * *"), ["00:30"]);
        assert_eq!(berlin("30 2,14 * * *"), ["00:30"]);
        assert_eq!(berlin("*/30 2-3 * * *"), ["00:00", "00:30", "02:00"]);
        assert_eq!(berlin("30 * * * *"), ["00:30", "01:30"]);
        let daily = cron("30 2 * * *", BERLIN);
        let due = daily.due(at("2026-10-25T00:30:00Z"), at("2026-10-25T01:30:00Z"), Missed::All);
        assert_eq!(due, Due { ticks: vec![], next: Some(at("2026-10-26T01:30:00Z")) });
        let new_york = ticks("30 1 * * *", NEW_YORK, "2026-11-01T04:00:00Z", "2026-11-02T07:00:00Z");
        assert_eq!(new_york, ["05:30", "06:30"]);
    }

    #[test]
    fn what_is_refused() {
        let bad = |line: &str| Cron::parse(line, "UTC").unwrap_err();
        let wrong = ["60 -1", "60 MON */90 5-1 , é", "24 1,,2 */0", "0 32 MON W", "13 MON 1JAN", "8 + JAN"];
        for (index, (field, texts)) in FIELDS.iter().zip(wrong).enumerate() {
            for text in texts.split(' ') {
                let mut fields = ["*"; 6];
                fields[index] = text;
                assert_eq!(bad(&fields.join(" ")), BadCron::Field(field.name, text.into(), field.range));
            }
        }
        for (line, count) in [("", 0), ("@daily", 1), ("* * * *", 4), ("* * * * * * *", 7)] {
            assert_eq!(bad(line), BadCron::Fields(count));
        }
        for line in ["0 0 31 2 *", "0 0 31 4,6,9,11 *", "0 0 30W 2 *", "0 0 29 2 +MON#1"] {
            assert_eq!(bad(line), BadCron::Never(line.into()));
        }
        assert_eq!(bad(&"1,".repeat(200)), BadCron::TooLong(400));
        for zone in ["", "Europe/Atlantis", "Etc/Unknown", "+02:00"] {
            assert_eq!(Cron::parse("* * * * *", zone), Err(BadCron::Zone(zone.into())));
        }
        assert!(bad("* 24 * * *").to_string().starts_with("`24` cannot be the hour: write 0 to 23"));
    }

    #[test]
    fn missed_ticks_as_told() {
        let hourly = cron("0 * * * *", "UTC");
        let (last, now) = (at("2026-05-01T06:00:00Z"), at("2026-05-01T09:00:59Z"));
        let [seven, eight, nine, ten] = [7, 8, 9, 10].map(|hour| at(&format!("2026-05-01T{hour:02}:00:00Z")));
        let due = |now, missed| hourly.due(last, now, missed);
        assert_eq!(due(now, Missed::All), Due { ticks: vec![seven, eight, nine], next: Some(ten) });
        assert_eq!(due(now, Missed::One).ticks, [nine]);
        assert_eq!(due(now, Missed::Skip).ticks, [nine]);
        assert_eq!(due(now + secs(2), Missed::Skip), Due { ticks: vec![], next: Some(ten) });
        assert_eq!(due(nine, Missed::One).ticks, [nine]);
        // The clock stepped back: nothing is owed, and the next tick is not one that was.
        assert_eq!(due(last - secs(7_200), Missed::All), Due { ticks: vec![], next: Some(seven) });
        assert_eq!((Missed::default(), Overlap::default()), (Missed::One, Overlap::Allow));
    }

    #[test]
    fn thirty_years_of_seconds_end_at_once() {
        let now = at("2026-10-25T01:30:00Z");
        for (line, newest) in [("* * * * * *", "01:30:00"), ("* * 2 * * *", "00:59:59")] {
            let newest = at(&format!("2026-10-25T{newest}Z"));
            let due = |missed| cron(line, BERLIN).due(at("1996-01-01T00:00:00Z"), now, missed).ticks;
            assert_eq!(due(Missed::One), [newest]);
            let all: Vec<Time> = (0..100).rev().map(|age| newest - secs(age)).collect();
            assert_eq!(due(Missed::All), all);
        }
    }

    #[test]
    fn stored_as_text_and_checked_again() {
        let text = r#"{"line":"30 2 * * *","zone":"Europe/Berlin"}"#;
        let read: Cron = serde_json::from_str(text).unwrap();
        assert_eq!(read, cron("30 2 * * *", BERLIN));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert!(serde_json::from_str::<Cron>(&text.replace("30 2", "30 42")).is_err());
        let key = tick_key(&"x".repeat(SCHEDULE_BYTES), at("2026-03-29T01:00:00Z"));
        assert!(crate::name::Name::new(&key).is_ok() && key.ends_with("x@2026-03-29T01:00:00.000Z"));
    }

    proptest! {
        #[test]
        fn ticks_only_ever_go_forward(
            line in prop::sample::select(&["* * * * * *", "*/7 * * * *", "30 1,2 * * *", "0 0 30 * *"][..]),
            zone in prop::sample::select(&[BERLIN, NEW_YORK, "Australia/Lord_Howe", "Pacific/Apia"][..]),
            micros in 0_i64..4_000_000_000_000_000,
        ) {
            let (cron, moment) = (cron(line, zone), Time::from_micros(micros));
            let next = cron.next_after(moment).unwrap();
            prop_assert!(next > moment);
            prop_assert_eq!(cron.due(moment, next, Missed::All).ticks, [next]);
            prop_assert!(cron.last_until(next - Duration::from_micros(1)) <= Some(moment));
        }

        #[test]
        fn no_text_is_too_strange(line in "([0-9*/,#LW+?A-Z-]{1,5} ){5}|\\PC{0,30}", zone in "\\PC{0,20}") {
            let _ = Cron::parse(&line, "UTC").map(|cron| cron.next_after(Time::ZERO));
            let _ = Cron::parse("* * * * *", &zone);
        }
    }
}
