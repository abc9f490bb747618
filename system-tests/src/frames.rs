//! Counting what two ends say to each other, as their protocols part it.

/// What is spoken, and what is counted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// PostgreSQL's, unencrypted: statements that are asked to run.
    Postgres,
    /// RabbitMQ's, unencrypted: frames, in both directions.
    Amqp,
}

/// Reads one direction of one connection.
#[derive(Debug)]
pub struct Frames {
    protocol: Protocol,
    /// Whether this is what the client says.
    asks: bool,
    /// Whether the greeting, which has a form of its own, is still to come.
    greets: bool,
    /// The head of a message, as far as it has come.
    head: Vec<u8>,
    /// What is left of the message behind its head.
    rest: usize,
}

impl Frames {
    /// Reads from the beginning of a connection.
    pub fn new(protocol: Protocol, asks: bool) -> Self {
        Frames { protocol, asks, greets: asks, head: Vec::new(), rest: 0 }
    }

    /// How many of those that are counted began in these bytes.
    pub fn count(&mut self, mut bytes: &[u8]) -> u64 {
        if self.protocol == Protocol::Postgres && !self.asks {
            return 0;
        }
        let mut counted = 0;
        while !bytes.is_empty() {
            let passed = self.rest.min(bytes.len());
            self.rest -= passed;
            bytes = &bytes[passed..];
            let wanted = self.head_length().saturating_sub(self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes[..wanted]);
            bytes = &bytes[wanted..];
            if self.rest == 0 && self.head.len() == self.head_length() {
                counted += u64::from(self.is_counted());
                self.rest = self.length();
                self.head.clear();
                self.greets &= self.greets_again();
            }
        }
        counted
    }

    fn head_length(&self) -> usize {
        match (self.protocol, self.greets) {
            // A length, and what it counts.
            (Protocol::Postgres, true) => 4,
            // A letter, and a length.
            (Protocol::Postgres, false) => 5,
            // The name and version of the protocol.
            (Protocol::Amqp, true) => 8,
            // A sort, a channel, and a length.
            (Protocol::Amqp, false) => 7,
        }
    }

    /// Whether the greeting was only a question about encryption, and is still to come. It is known by its length.
    fn greets_again(&self) -> bool {
        self.protocol == Protocol::Postgres && self.rest == 4
    }

    /// How much follows the head.
    fn length(&self) -> usize {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        match (self.protocol, self.greets) {
            // The length counts itself.
            (Protocol::Postgres, true) => number(&self.head) - 4,
            (Protocol::Postgres, false) => number(&self.head[1..]) - 4,
            (Protocol::Amqp, true) => 0,
            // A mark follows the content.
            (Protocol::Amqp, false) => number(&self.head[3..]) + 1,
        }
    }

    fn is_counted(&self) -> bool {
        match self.protocol {
            // A statement, at once or after it was prepared.
            Protocol::Postgres => !self.greets && matches!(self.head[0], b'Q' | b'E'),
            Protocol::Amqp => !self.greets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the same in whatever pieces it comes.
    fn counted(protocol: Protocol, asks: bool, bytes: &[u8]) -> u64 {
        let whole = Frames::new(protocol, asks).count(bytes);
        for size in 1..8 {
            let mut frames = Frames::new(protocol, asks);
            let pieces: u64 = bytes.chunks(size).map(|piece| frames.count(piece)).sum();
            assert_eq!(pieces, whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn statements_are_counted_and_not_what_leads_to_them() {
        let greeting = b"\0\0\0\x09\0\x03\0\0\0".as_slice();
        let said: Vec<u8> = [
            b"\0\0\0\x08\x04\xd2\x16\x2f".as_slice(),
            greeting,
            b"Q\0\0\0\x09ABCD\0",
            b"P\0\0\0\x06EQ",
            b"B\0\0\0\x04",
            b"E\0\0\0\x09\0\0\0\0\0",
            b"S\0\0\0\x04",
        ]
        .concat();
        assert_eq!(counted(Protocol::Postgres, true, &said), 2);
        assert_eq!(counted(Protocol::Postgres, false, &said), 0);
    }

    #[test]
    fn frames_are_counted_in_both_directions() {
        let frames = [b"\x01\0\x01\0\0\0\x03abc\xce".as_slice(), b"\x08\0\0\0\0\0\0\xce"].concat();
        let asked = [b"AMQP\0\0\x09\x01".as_slice(), &frames].concat();
        assert_eq!(counted(Protocol::Amqp, true, &asked), 2);
        assert_eq!(counted(Protocol::Amqp, false, &frames), 2);
    }
}
