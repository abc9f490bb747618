//! Scenario files: what is played, by whom, and when. Read, and checked as a whole, before anything is simulated.

mod activity;
mod board;
mod clock;
mod decimal;
mod faults;
mod fields;
mod key;
mod node;
mod player;
mod sense;
mod team;
mod weight;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

pub(crate) use activity::{Activity, Line, Outcome, Roll, Time};
pub(crate) use board::{Modifier, Row, Rule};
pub(crate) use clock::{Start, find_zone};
pub(crate) use decimal::{Decimal, MILLION};
pub use faults::{Fault, Faults};
pub(crate) use player::{Player, Session};
pub(crate) use team::{Choice, Team};
pub(crate) use weight::Weight;

use crate::limits::{DELAY_MS, DURATION_SECONDS, FILE_BYTES, ROW_POINTS, TROUBLED_ATTEMPTS, TROUBLED_RUNS};
use fields::{Field, Object};
use node::Node;

/// A scenario that has passed every check. The only way to one is [`read`].
///
/// Serialised it is the canonical form; deserialised (from JSON or another format that describes itself) it is checked again.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub(crate) file: File,
}

/// The file, field by field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) start: Start,
    pub(crate) time_zone: String,
    pub(crate) duration_seconds: u32,
    pub(crate) unlock_points: u32,
    pub(crate) rows: Vec<Row>,
    pub(crate) activities: Vec<Activity>,
    pub(crate) players: Vec<Player>,
    pub(crate) teams: Vec<Team>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trouble: Option<Trouble>,
    pub(crate) simulation_delay_ms: u32,
}

/// A drill: runs that whoever executes them lets fail on purpose. The simulation itself does not look at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// The indices of the runs that fail.
    pub runs: Vec<u64>,
    /// How many attempts of each fail; none means every one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
}

impl Trouble {
    /// Whether this attempt (the first is 1) of this run fails.
    pub fn fails(&self, run: u64, attempt: u32) -> bool {
        self.runs.contains(&run) && self.attempts.is_none_or(|attempts| attempt <= attempts)
    }
}

impl Scenario {
    /// The name for people.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// Seconds from the start to the end of the event.
    pub fn duration_seconds(&self) -> u32 {
        self.file.duration_seconds
    }

    /// The drill, if the file has one.
    pub fn trouble(&self) -> Option<&Trouble> {
        self.file.trouble.as_ref()
    }

    /// How long whoever executes a run should wait in it, to show what more workers do. The simulation does not.
    pub fn simulation_delay_ms(&self) -> u32 {
        self.file.simulation_delay_ms
    }

    /// JSON without spaces, with every default filled in: the same scenario gives the same text, and the text read again
    /// gives the same scenario.
    pub fn canonical(&self) -> String {
        // Texts, numbers and lists only: nothing in it can fail to be JSON.
        serde_json::to_string(&self.file).unwrap_or_default()
    }
}

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.file.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scenario, D::Error> {
        check(&Node::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// A scenario as somebody sent it: the text of a file, or its JSON. What is said twice is still there, to be told.
#[derive(Debug)]
pub(crate) struct Given(Node);

impl Given {
    /// Reads and checks it.
    pub(crate) fn read(&self) -> Result<Scenario, Faults> {
        match &self.0 {
            Node::Text(text) => read(text),
            tree => check(tree),
        }
    }
}

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Given, D::Error> {
        Node::deserialize(deserializer).map(Given)
    }
}

/// Reads and checks a scenario file.
///
/// # Errors
/// Every fault with its place, up to [`FAULTS`](crate::limits::FAULTS) of them.
pub fn read(text: &str) -> Result<Scenario, Faults> {
    let mut faults = Faults::default();
    if text.len() > FILE_BYTES {
        faults.add("", format!("the file has {} bytes, at most {FILE_BYTES}", text.len()));
        return Err(faults);
    }
    let node: Node = serde_json::from_str(text).map_err(|error| {
        let mut faults = Faults::default();
        faults.add(format!("line {}, column {}", error.line(), error.column()), not_json(&error));
        faults
    })?;
    check(&node)
}

/// The parser's words without the place, which is told in front.
fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let words = text.split(" at line ").next().unwrap_or_default();
    format!("this is not JSON: {words}")
}

const KNOWN: [&str; 11] = [
    "name",
    "start",
    "time_zone",
    "duration_seconds",
    "unlock_points",
    "rows",
    "activities",
    "players",
    "teams",
    "trouble",
    "simulation_delay_ms",
];

fn check(node: &Node) -> Result<Scenario, Faults> {
    let mut faults = Faults::default();
    let file = read_file(node, &mut faults);
    match file {
        Some(file) if faults.is_empty() => {
            sense::check(&file, &mut faults);
            if faults.is_empty() { Ok(Scenario { file }) } else { Err(faults) }
        }
        _ => Err(faults),
    }
}

fn read_file(node: &Node, faults: &mut Faults) -> Option<File> {
    let file = Field::new(node, "").object(&KNOWN, faults)?;
    let declared = Declared::new(&file);
    let name = file.need("name", faults).and_then(|name| name.name(faults));
    let start = file.need("start", faults).and_then(|start| clock::read_start(&start, faults));
    let zone = file.need("time_zone", faults).and_then(|zone| clock::read_zone(&zone, faults));
    let duration = file
        .need("duration_seconds", faults)
        .and_then(|duration| duration.whole(1..=DURATION_SECONDS, faults));
    let unlock = match file.get("unlock_points") {
        Some(unlock) => unlock.whole(0..=u64::from(ROW_POINTS), faults),
        None => Some(5),
    };
    let rows = file.need("rows", faults).and_then(|rows| board::read(&rows, &declared, faults));
    let activities = file.need("activities", faults).and_then(|field| activity::read(&field, faults));
    let players = file.need("players", faults).and_then(|players| player::read(&players, faults));
    let teams = file.need("teams", faults).and_then(|teams| team::read(&teams, &declared, faults));
    let trouble = file.get("trouble").map(|trouble| read_trouble(&trouble, faults));
    let delay = match file.get("simulation_delay_ms") {
        Some(delay) => delay.whole(0..=DELAY_MS, faults),
        None => Some(0),
    };
    Some(File {
        name: name?,
        start: start?,
        time_zone: zone?,
        duration_seconds: duration? as u32,
        unlock_points: unlock? as u32,
        rows: rows?,
        activities: activities?,
        players: players?,
        teams: teams?,
        trouble: trouble.map_or(Some(None), |trouble| trouble.map(Some))?,
        simulation_delay_ms: delay? as u32,
    })
}

fn read_trouble(field: &Field<'_>, faults: &mut Faults) -> Option<Trouble> {
    let trouble = field.object(&["runs", "attempts"], faults)?;
    let items = trouble.need("runs", faults).and_then(|runs| runs.items(1..=TROUBLED_RUNS, faults))?;
    let runs: Vec<_> = items.iter().map(|run| run.whole(0..=u64::MAX, faults)).collect();
    let attempts = trouble.get("attempts").map(|field| field.whole(1..=TROUBLED_ATTEMPTS, faults));
    Some(Trouble {
        runs: runs.into_iter().collect::<Option<_>>()?,
        attempts: attempts.map_or(Some(None), |attempts| attempts.map(|attempts| Some(attempts as u32)))?,
    })
}

/// The keys that the file declares, also of things that have faults of their own: a fault is told once.
#[derive(Debug)]
struct Declared<'n> {
    activities: Vec<&'n str>,
    players: Vec<&'n str>,
}

impl<'n> Declared<'n> {
    fn new(file: &Object<'n>) -> Declared<'n> {
        let keys = |list: &str| {
            let Some(Field { node: Node::List(items), .. }) = file.get(list) else { return Vec::new() };
            let mut keys: Vec<&str> = items.iter().filter_map(key_of).collect();
            keys.sort_unstable();
            keys
        };
        Declared { activities: keys("activities"), players: keys("players") }
    }

    fn activity(&self, key: &str, place: &str, faults: &mut Faults) -> bool {
        is_declared(&self.activities, key, "activity", place, faults)
    }

    fn player(&self, key: &str, place: &str, faults: &mut Faults) -> bool {
        is_declared(&self.players, key, "player", place, faults)
    }
}

fn is_declared(keys: &[&str], key: &str, what: &str, place: &str, faults: &mut Faults) -> bool {
    let found = keys.binary_search(&key).is_ok();
    if !found {
        faults.add(place, format!("there is no {what} `{key}`"));
    }
    found
}

fn key_of(item: &Node) -> Option<&str> {
    let Node::Object(entries) = item else { return None };
    let key = entries.iter().find(|(name, _)| name == "key");
    if let Some((_, Node::Text(text))) = key { Some(text) } else { None }
}

/// A key that nothing else of its kind has. It is remembered among `keys`.
fn new_key(field: &Field<'_>, keys: &mut Vec<String>, faults: &mut Faults) -> Option<String> {
    let key = field.key(faults)?;
    if keys.contains(&key) {
        faults.add(&field.place, format!("`{key}` is given twice; keys are unique"));
        return None;
    }
    keys.push(key.clone());
    Some(key)
}
