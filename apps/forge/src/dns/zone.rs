//! The zone file. The forge keeps the serial and what is between its two marks; every other line is the operator's.
//!
//! A change replaces the whole file by renaming a new one over it, under a lock that ends with its holder: whoever reads
//! the file sees the old or the new one, and the serial and the mark of the request in it belong together.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{Mark, Published, Record};
use crate::fault::{Class, Fault};
use crate::lock::Lock;

const BEGIN: &str = "; forge: begin";
const END: &str = "; forge: end";
const SERIAL: &str = "; serial";

/// A zone file.
pub(crate) struct Zone {
    path: PathBuf,
    origin: String,
}

/// A zone as it is in the file.
struct Content {
    lines: Vec<String>,
    serial: u32,
    /// The line with the serial.
    serial_at: usize,
    /// The first line between the marks, and the one behind the last.
    own: std::ops::Range<usize>,
}

impl Zone {
    /// The zone of an origin, such as `example.test.`, in a folder.
    pub(crate) fn new(folder: &Path, origin: &str) -> Zone {
        Zone { path: folder.join(format!("{}zone", origin.to_ascii_lowercase())), origin: origin.to_owned() }
    }

    /// Publishes a record, once. What became of it, and the serial of the file.
    pub(crate) fn publish(&self, record: &Record) -> Result<(Published, u32), Fault> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .map_err(Fault::internal(format_args!("make {}", folder.display())))?;
        let _lock = Lock::take(&self.path.with_extension("lock"))?;
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => self.fresh(),
            Err(error) => return Err(self.broken(&format!("cannot be read: {error}"))),
        };
        let mut content = self.parsed(&text)?;
        self.refuse_the_operators(&content, &record.service)?;
        let published = record.mark.after(content.mark(&record.service).as_ref())?;
        if published == Published::Changed {
            content.put(record);
            self.replace(&content.lines)?;
        }
        Ok((published, content.serial))
    }

    /// Whether a service may have its name here, as far as is known before it is published.
    pub(crate) fn allows(&self, service: &str) -> Result<(), Fault> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => self.refuse_the_operators(&self.parsed(&text)?, service),
            Err(_) => self.refuse_the_operators(&self.parsed(&self.fresh())?, service),
        }
    }

    /// A name that the operator has given away is not a service's: it would lead astray, and beside some records nothing may
    /// stand.
    fn refuse_the_operators(&self, content: &Content, service: &str) -> Result<(), Fault> {
        let whole = format!("{service}.{}", self.origin);
        let (before, behind) = (&content.lines[..content.own.start], &content.lines[content.own.end..]);
        // A line that begins with a space belongs to the name before it.
        let names = before.iter().chain(behind).filter_map(|line| line.split([' ', '\t', ';']).next());
        let taken = |name: &str| name.eq_ignore_ascii_case(service) || name.eq_ignore_ascii_case(&whole);
        match names.into_iter().any(taken) {
            true => {
                let text = format!(
                    "the name `{service}` stands in the zone already: choose another for the service"
                );
                Err(Fault::new(Class::Validation, text))
            }
            false => Ok(()),
        }
    }

    /// An empty zone.
    fn fresh(&self) -> String {
        let origin = &self.origin;
        format!(
            "; Turnwise Forge keeps the serial and what is between its two marks. Every other line is left as it is.\n\
             $ORIGIN {origin}\n$TTL 300\n@ IN SOA ns.{origin} hostmaster.{origin} (\n    0 {SERIAL}\n    3600 ; refresh\n    \
             600 ; retry\n    86400 ; expire\n    300 ) ; minimum\n@ IN NS ns.{origin}\nns IN A 127.0.0.1\n{BEGIN}\n{END}\n"
        )
    }

    fn parsed(&self, text: &str) -> Result<Content, Fault> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let find = |wanted: &str| lines.iter().position(|line| line.trim() == wanted);
        let (Some(begin), Some(end)) = (find(BEGIN), find(END)) else {
            return Err(
                self.broken(&format!("has no lines `{BEGIN}` and `{END}`: put them where records may stand"))
            );
        };
        let serial_at = lines.iter().position(|line| line.trim_end().ends_with(SERIAL));
        let serial = serial_at.and_then(|at| lines[at].split_whitespace().next()?.parse().ok());
        let (Some(serial_at), Some(serial)) = (serial_at, serial) else {
            return Err(self.broken(&format!("has no line with its serial and `{SERIAL}` behind it")));
        };
        if begin > end {
            return Err(self.broken("has its two marks in the wrong order"));
        }
        Ok(Content { serial, serial_at, own: begin + 1..end, lines })
    }

    fn broken(&self, what: &str) -> Fault {
        Fault::new(Class::Dns, format!("the zone file {} {what}", self.path.display()))
    }

    fn replace(&self, lines: &[String]) -> Result<(), Fault> {
        let new = self.path.with_extension("zone.new");
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&new)?;
            file.write_all(lines.join("\n").as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            std::fs::rename(&new, &self.path)?;
            File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(|error| self.broken(&format!("cannot be written: {error}")))
    }
}

impl Content {
    /// The mark beside a service.
    fn mark(&self, service: &str) -> Option<Mark> {
        let begin = format!("_forge.{service} IN TXT ");
        let line = self.lines[self.own.clone()].iter().find_map(|line| line.strip_prefix(&begin))?;
        Mark::read(line.split(' ').map(|text| text.trim_matches('"')))
    }

    /// Writes a record and raises the serial.
    fn put(&mut self, record: &Record) {
        let service = &record.service;
        let own: Vec<String> = self.lines.drain(self.own.clone()).collect();
        let is_of = |line: &String| {
            let name = line.split(' ').next().unwrap_or_default();
            name == service || name.strip_prefix("_forge.") == Some(service)
        };
        let mut own: Vec<String> = own.into_iter().filter(|line| !is_of(line)).collect();
        own.push(format!("{service} IN {} {}", record.kind(), record.address));
        let texts = record.mark.texts().map(|text| format!("\"{text}\""));
        own.push(format!("_forge.{service} IN TXT {}", texts.join(" ")));
        // By service: what changes in the file is what changed.
        own.sort_by_key(|line| {
            line.split(' ').next().map(|name| name.trim_start_matches("_forge.").to_owned())
        });
        let begin = self.own.start;
        self.own = begin..begin + own.len();
        self.lines.splice(begin..begin, own);
        // Zero is passed over when the numbers are used up: some servers take it for no serial.
        self.serial = self.serial.checked_add(1).unwrap_or(1);
        self.lines[self.serial_at] = format!("    {} {SERIAL}", self.serial);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn record(service: &str, request: &str, sequence: u64) -> Record {
        let mark = Mark { request: request.into(), sequence, fence: 1 };
        Record { service: service.into(), address: "192.0.2.7".parse().unwrap(), mark }
    }

    /// What BIND itself thinks of the file; the serial that it loaded.
    fn judged(path: &Path) -> String {
        let output = Command::new("named-checkzone").arg("example.test").arg(path).output();
        let output = output.expect("named-checkzone is missing: apt-get install bind9-utils");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", std::fs::read_to_string(path).unwrap());
        said
    }

    #[test]
    fn every_change_leaves_a_valid_zone_with_a_higher_serial() {
        let folder = tempfile::tempdir().unwrap();
        let zone = Zone::new(folder.path(), "example.test.");
        let path = folder.path().join("example.test.zone");
        for (number, service) in ["shop", "blog", "wiki"].into_iter().enumerate() {
            let serial = number as u32 + 1;
            assert_eq!(zone.publish(&record(service, service, 1)).unwrap(), (Published::Changed, serial));
            assert!(judged(&path).contains(&format!("loaded serial {serial}")));
        }
        assert_eq!(zone.publish(&record("shop", "shop", 1)).unwrap(), (Published::Already, 3), "not twice");
        let mut other = record("shop", "again", 2);
        other.address = "2001:db8::7".parse().unwrap();
        assert_eq!(zone.publish(&other).unwrap(), (Published::Changed, 4));
        assert_eq!(zone.publish(&record("shop", "shop", 1)).unwrap(), (Published::Superseded, 4));
        judged(&path);
        let text = std::fs::read_to_string(&path).unwrap();
        let shop: Vec<&str> = text.lines().filter(|line| line.starts_with("shop ")).collect();
        assert_eq!(shop, ["shop IN AAAA 2001:db8::7"], "each record once");
    }

    #[test]
    fn what_the_operator_wrote_stays() {
        let folder = tempfile::tempdir().unwrap();
        let zone = Zone::new(folder.path(), "example.test.");
        let path = folder.path().join("example.test.zone");
        let text = zone.fresh().replace("ns IN A 127.0.0.1", "ns IN A 192.0.2.1\nmail IN A 192.0.2.2 ; mine");
        std::fs::write(&path, text).unwrap();
        zone.publish(&record("shop", "r-1", 1)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("mail IN A 192.0.2.2 ; mine\n"));
        judged(&path);
        for name in ["ns", "mail"] {
            assert_eq!(zone.allows(name).unwrap_err().class, Class::Validation);
            assert!(
                zone.publish(&record(name, "r-3", 1))
                    .unwrap_err()
                    .text
                    .contains("stands in the zone already")
            );
        }
        std::fs::write(&path, "nothing of a zone\n").unwrap();
        assert!(zone.publish(&record("shop", "r-2", 2)).unwrap_err().text.contains("; forge: begin"));
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let folder = folder.path();
                scope.spawn(move || {
                    for number in 0..10 {
                        let service = format!("s{writer}-{number}");
                        Zone::new(folder, "example.test.").publish(&record(&service, &service, 1)).unwrap();
                    }
                });
            }
        });
        assert!(judged(&folder.path().join("example.test.zone")).contains("loaded serial 40"));
    }
}
