//! Messages of the name system, as much of them as an update and a question need (RFC 1035, RFC 2136).

/// Types.
pub(super) const A: u16 = 1;
pub(super) const SOA: u16 = 6;
pub(super) const TXT: u16 = 16;
pub(super) const AAAA: u16 = 28;
pub(super) const TSIG: u16 = 250;
/// Classes.
pub(super) const IN: u16 = 1;
pub(super) const NONE: u16 = 254;
pub(super) const ANY: u16 = 255;
/// Kinds of message, where the header has them.
pub(super) const QUERY: u16 = 0;
pub(super) const UPDATE: u16 = 5 << 11;
/// The four parts of a message, by the place of their counts.
pub(super) const ZONE: usize = 0;
pub(super) const PREREQUISITES: usize = 1;
pub(super) const UPDATES: usize = 2;
const HEADER: usize = 12;
/// Jumps that a name may make before it is taken for a loop.
const JUMPS: usize = 32;

/// A message that is being written. Parts are written in their order.
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
}

impl Message {
    pub(super) fn new(id: u16, kind: u16) -> Message {
        let mut bytes = id.to_be_bytes().to_vec();
        bytes.extend(kind.to_be_bytes());
        bytes.resize(HEADER, 0);
        Message { bytes }
    }

    /// A question, or the zone of an update.
    pub(super) fn ask(&mut self, name: &str, kind: u16) {
        self.count(ZONE);
        self.bytes.extend(wire_name(name));
        self.number(kind);
        self.number(IN);
    }

    /// A record in one of the other parts.
    pub(super) fn record(&mut self, part: usize, name: &str, kind: u16, class: u16, ttl: u32, data: &[u8]) {
        self.count(part);
        self.bytes.extend(wire_name(name));
        self.number(kind);
        self.number(class);
        self.bytes.extend(ttl.to_be_bytes());
        self.number(data.len() as u16);
        self.bytes.extend(data);
    }

    /// One more in a part.
    pub(super) fn count(&mut self, part: usize) {
        let at = 4 + 2 * part;
        let count = u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]) + 1;
        self.bytes[at..at + 2].copy_from_slice(&count.to_be_bytes());
    }

    fn number(&mut self, number: u16) {
        self.bytes.extend(number.to_be_bytes());
    }
}

/// A name as it travels: each label with its length before it. Labels were checked, so none is too long.
pub(super) fn wire_name(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        let label = &label.as_bytes()[..label.len().min(63)];
        bytes.push(label.len() as u8);
        bytes.extend(label.to_ascii_lowercase());
    }
    bytes.push(0);
    bytes
}

/// The data of a `TXT` record. Each text is far shorter than the 255 bytes that it may have.
pub(super) fn texts(texts: &[String]) -> Vec<u8> {
    let mut data = Vec::new();
    for text in texts {
        let text = &text.as_bytes()[..text.len().min(255)];
        data.push(text.len() as u8);
        data.extend(text);
    }
    data
}

/// A message that was received.
pub(super) struct Answer<'a> {
    pub(super) bytes: &'a [u8],
    /// What came of the question: 0 is well.
    pub(super) code: u8,
    /// The records of all parts, in their order.
    pub(super) records: Vec<Received<'a>>,
}

/// A record in a message that was received.
pub(super) struct Received<'a> {
    /// Where it begins.
    pub(super) begin: usize,
    pub(super) kind: u16,
    pub(super) data: &'a [u8],
}

impl Answer<'_> {
    /// Reads a message. What cannot be read is nothing.
    pub(super) fn read(bytes: &[u8], id: u16) -> Option<Answer<'_>> {
        let number = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let is_answer = number(2)? & 0x8000 != 0;
        if number(0)? != id || !is_answer {
            return None;
        }
        let mut at = HEADER;
        for _ in 0..number(4)? {
            at = after_name(bytes, at)? + 4;
        }
        let mut records = Vec::new();
        let count = [number(6)?, number(8)?, number(10)?].into_iter().map(usize::from).sum::<usize>();
        for _ in 0..count {
            let begin = at;
            let head = after_name(bytes, at)?;
            let length = usize::from(number(head + 8)?);
            let data = bytes.get(head + 10..head + 10 + length)?;
            records.push(Received { begin, kind: number(head)?, data });
            at = head + 10 + length;
        }
        Some(Answer { bytes, code: (number(2)? & 0xf) as u8, records })
    }
}

/// The place behind a name, whether it is written out or points elsewhere.
pub(super) fn after_name(bytes: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..=255 {
        match *bytes.get(at)? {
            0 => return Some(at + 1),
            length if length & 0xc0 == 0xc0 => return Some(at + 2),
            length if length & 0xc0 == 0 => at += 1 + usize::from(length),
            _ => return None,
        }
    }
    None
}

/// A name, written out, wherever its parts are.
pub(super) fn name_at(bytes: &[u8], mut at: usize) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    let mut jumps = 0;
    loop {
        match usize::from(*bytes.get(at)?) {
            0 => {
                name.push(0);
                return Some(name);
            }
            length if length & 0xc0 == 0xc0 => {
                jumps += 1;
                at = (length & 0x3f) << 8 | usize::from(*bytes.get(at + 1)?);
                if jumps > JUMPS {
                    return None;
                }
            }
            length => {
                name.push(length as u8);
                name.extend(bytes.get(at + 1..at + 1 + length)?.to_ascii_lowercase());
                at += 1 + length;
            }
        }
        if name.len() > 255 {
            return None;
        }
    }
}

/// The texts in the data of a `TXT` record.
pub(super) fn read_texts(mut data: &[u8]) -> Option<Vec<&str>> {
    let mut texts = Vec::new();
    while let [length, rest @ ..] = data {
        let length = usize::from(*length);
        texts.push(std::str::from_utf8(rest.get(..length)?).ok()?);
        data = &rest[length..];
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_answers_are_nothing() {
        let mut message = Message::new(7, QUERY);
        message.ask("a.example.test.", TXT);
        message.bytes[2] = 0x80;
        assert!(Answer::read(&message.bytes, 7).is_some());
        assert!(Answer::read(&message.bytes, 8).is_none(), "the answer to another question");
        for end in 0..message.bytes.len() {
            assert!(Answer::read(&message.bytes[..end], 7).is_none() || end >= HEADER);
        }
        // A name that points at itself, and more records than there are.
        assert_eq!(name_at(&[0xc0, 0], 0), None);
        message.bytes[7] = 9;
        assert!(Answer::read(&message.bytes, 7).is_none());
    }
}
