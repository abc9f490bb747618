//! `forge`: hand in a request, see where it stands, watch it, see the line, clear it.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use turnwise_forge::check;

use crate::Home;
use crate::client::{Client, segment};
use crate::failure::{refused, usage};
use crate::show::{self, Column, ago, field};

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(250);

/// Generate, commit and publish services.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Hand in a request; it is checked first, and what is wrong is said with its place.
    Submit {
        /// The request, as JSON; `-` reads standard input.
        file: PathBuf,
        /// Watch it to its end: exit code 1 if it fails.
        #[arg(long)]
        watch: bool,
        /// Print JSON.
        #[arg(long, conflicts_with = "watch")]
        json: bool,
    },
    /// Look at a request file without handing it in.
    Check {
        /// The request, as JSON; `-` reads standard input.
        file: PathBuf,
    },
    /// Show a request: its place, its phases, its errors and its log.
    Status {
        /// The id of its job, or its own.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Watch a request: its place in the line, then phase by phase, to its end. Exit code 1 if it fails.
    Watch {
        /// The id of its job, or its own.
        id: String,
    },
    /// Show who waits where, and what ended last.
    Queue {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Cancel what waits, or forget what has ended. What runs is not touched.
    Clear {
        /// Which requests.
        #[arg(value_parser = ["waiting", "delayed", "failed", "completed", "all"])]
        what: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// One phase of a request. The engine runs this; it reads its order from standard input.
    #[command(hide = true)]
    Phase,
}

pub(crate) fn run(args: &Args, home: &Home) -> anyhow::Result<ExitCode> {
    let client = || Client::open(&home.data()?);
    match &args.command {
        Command::Phase => return Ok(turnwise_forge::phase::main()),
        Command::Check { file } => {
            let request = read(file)?;
            let (entities, endpoints) = (request.entities.len(), request.endpoints.len());
            show::line(format!(
                "{}: {entities} entities, {endpoints} endpoints; all is well.",
                request.service
            ));
        }
        Command::Submit { file, watch, json } => return submit(&client()?, file, *watch, *json),
        Command::Status { id, json } => status(&look(&client()?, id)?, *json),
        Command::Watch { id } => return follow(&client()?, id),
        Command::Queue { json } => queue(&client()?.get("/api/v1/forge/queue", &[])?, *json),
        Command::Clear { what, json } => {
            let cleared = client()?.post("/api/v1/forge/clear", &json!({ "what": what }))?;
            match json {
                true => show::json(&cleared),
                false => show_cleared(&cleared),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a request and checks it here: what is wrong is said before anybody is asked.
fn read(file: &Path) -> anyhow::Result<turnwise_forge::request::Request> {
    let most = check::REQUEST_BYTES as u64 + 1;
    let mut text = Vec::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().take(most).read_to_end(&mut text),
        false => std::fs::File::open(file).and_then(|opened| opened.take(most).read_to_end(&mut text)),
    };
    read.map_err(|error| usage(format!("cannot read {}: {error}", file.display())))?;
    check::read(&text).map_err(|wrong| usage(format!("{}: {wrong}", file.display())))
}

fn submit(client: &Client, file: &Path, watch: bool, json: bool) -> anyhow::Result<ExitCode> {
    let request = serde_json::to_value(read(file)?)?;
    let accepted = client.post("/api/v1/forge/requests", &request)?;
    if json {
        show::json(&accepted);
        return Ok(ExitCode::SUCCESS);
    }
    let before = match (accepted["existing"] == true, accepted["differs"] == true) {
        (_, true) => " It was there already, with another content: hand this one in under another id.",
        (true, false) => " It was there already.",
        (false, false) => "",
    };
    let (job, id) = (field(&accepted, "job"), field(&accepted, "request"));
    show::line(format!("{job}  {} {id}, {}.{before}", field(&accepted, "status"), place(&accepted)));
    // One that was cleared after its end can be watched no more.
    if watch && accepted["status"] != "Forgotten" { follow(client, &job) } else { Ok(ExitCode::SUCCESS) }
}

fn look(client: &Client, id: &str) -> anyhow::Result<Value> {
    client.get(&format!("/api/v1/forge/requests/{}", segment(id)), &[])
}

/// A request's place in its lane, in words.
fn place(request: &Value) -> String {
    match request["position"].as_u64() {
        Some(0) => "at the head of its lane".into(),
        Some(1) => "1 request before it".into(),
        Some(before) => format!("{before} requests before it"),
        None => "ended".into(),
    }
}

fn status(request: &Value, json: bool) {
    if json {
        return show::json(request);
    }
    let say = |name: &str, text: &str| show::line(format!("{name:<10} {}", show::harmless_lines(text)));
    for name in ["request", "job", "service", "owner", "trace_id", "lane"] {
        say(name, &field(request, name));
    }
    say("status", &format!("{}, {}", field(request, "status"), place(request)));
    say("attempt", &format!("{} of {}", field(request, "attempt"), field(request, "attempts")));
    for phase in request["phases"].as_array().into_iter().flatten() {
        say("phase", &format!("{:<20} {}", field(phase, "phase"), field(phase, "state")));
    }
    for error in request["errors"].as_array().into_iter().flatten() {
        let age = error["age_seconds"].as_f64().unwrap_or_default();
        let head = format!("attempt {}, after {age:.1} s", field(error, "attempt"));
        say("error", &format!("{head}: {}: {}", field(error, "class"), field(error, "text")));
    }
    for line in request["log"].as_array().into_iter().flatten() {
        let phase = line["phase"].as_str().map(|phase| format!("{phase} ")).unwrap_or_default();
        say("log", &format!("{} {phase}{}", ago(line, "at"), field(line, "text")));
    }
}

/// Prints a line whenever something changed, until the request has ended.
fn follow(client: &Client, id: &str) -> anyhow::Result<ExitCode> {
    let mut said = String::new();
    loop {
        let request = look(client, id)?;
        let now = told(&request);
        if now != said {
            show::line(show::harmless_lines(&now));
            said = now;
        }
        match request["status"].as_str() {
            Some("Completed") => return Ok(ExitCode::SUCCESS),
            Some("Cancelled") => return Err(refused("the request was cancelled")),
            Some("Failed") => {
                let last = request["errors"].as_array().and_then(|errors| errors.last()).cloned();
                let last = last.unwrap_or_default();
                return Err(refused(format!("{}: {}", field(&last, "class"), field(&last, "text"))));
            }
            _ => std::thread::sleep(PAUSE),
        }
    }
}

/// Where a request stands, in one line.
fn told(request: &Value) -> String {
    let phases: Vec<&Value> = request["phases"].as_array().into_iter().flatten().collect();
    let done = phases.iter().filter(|phase| phase["state"] == "done").count();
    let at = phases.iter().find(|phase| phase["state"] == "running" || phase["state"] == "failed");
    let status = field(request, "status");
    match (status.as_str(), at) {
        ("Queued", _) => format!("{status}, {}", place(request)),
        (_, Some(phase)) => {
            let attempt = field(request, "attempt");
            format!(
                "{status} {} ({done} of {} phases done), attempt {attempt}",
                field(phase, "phase"),
                phases.len()
            )
        }
        _ => format!("{status} ({done} of {} phases done)", phases.len()),
    }
}

fn queue(line: &Value, json: bool) {
    if json {
        return show::json(line);
    }
    let columns = [
        Column { title: "POSITION", cell: |row| field(row, "position") },
        Column { title: "JOB", cell: |row| field(row, "job") },
        Column { title: "REQUEST", cell: |row| field(row, "request") },
        Column { title: "SERVICE", cell: |row| field(row, "service") },
        Column { title: "OWNER", cell: |row| field(row, "owner") },
        Column { title: "STATUS", cell: told },
        Column { title: "SINCE", cell: |row| ago(row, "since") },
    ];
    for lane in line["lanes"].as_array().into_iter().flatten() {
        show::line(format!("lane {}", show::harmless(&field(lane, "lane"))));
        show::table(&columns, lane["requests"].as_array().map_or(&[][..], Vec::as_slice), "");
        show::line("");
    }
    if line["lanes"].as_array().is_none_or(Vec::is_empty) {
        show::line("Nothing waits.");
    }
    if let Some(key) = line["leader"]["key"].as_str() {
        let holder = line["leader"]["holder"].as_str().unwrap_or("nobody");
        show::line(format!("{key} is held by {holder}, in term {}", field(&line["leader"], "term")));
    }
    if line["counts"].is_object() {
        show::line(counted(&line["counts"]));
    }
}

fn counted(counts: &Value) -> String {
    let names = ["waiting", "active", "delayed", "failed", "completed"];
    names.map(|name| format!("{} {name}", field(counts, name))).join(", ")
}

fn show_cleared(cleared: &Value) {
    show::line(format!("cleared {}", field(cleared, "cleared")));
    show::line(format!("before  {}", counted(&cleared["before"])));
    show::line(format!("after   {}", counted(&cleared["after"])));
}
