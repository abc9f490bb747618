//! Where RabbitMQ is, and what errors on the way there mean. A password is never part of what is said.

use std::fs;

use lapin::ErrorKind;
use lapin::tcp::OwnedTLSConfig;
use lapin::uri::{AMQPScheme, AMQPUri};

use super::RabbitOptions;
use crate::broker::BrokerError;

/// The setting to change when the server cannot be had.
const SETTING: &str = "TURNWISE_RABBITMQ";
/// Seconds between two signs of life. A line that was cut without a word is noticed after two of them.
const HEARTBEAT: u16 = 10;

/// A parsed address.
pub(super) struct Address {
    uri: AMQPUri,
    certificates: Option<String>,
}

impl Address {
    /// Reads the options.
    pub(super) fn read(options: &RabbitOptions) -> Result<Self, BrokerError> {
        let Ok(mut uri) = options.url.parse::<AMQPUri>() else {
            return Err(BrokerError::Unreachable(format!(
                "{SETTING} is not an address of RabbitMQ: write amqp://USER:PASSWORD@HOST:PORT/VHOST, with %2f for the \
                 virtual host /"
            )));
        };
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        let read = |path| {
            fs::read_to_string(path).map_err(|error| {
                let path = options.ca_file.as_deref().unwrap_or_else(|| "".as_ref()).display();
                BrokerError::Unreachable(format!("cannot read the certificates in {path}: {error}"))
            })
        };
        let certificates = options.ca_file.as_ref().map(read).transpose()?;
        if uri.scheme == AMQPScheme::AMQPS {
            // Whoever has chosen another provider already keeps it.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Ok(Address { uri, certificates })
    }

    pub(super) fn uri(&self) -> AMQPUri {
        self.uri.clone()
    }

    pub(super) fn tls(&self) -> OwnedTLSConfig {
        OwnedTLSConfig { identity: None, cert_chain: self.certificates.clone() }
    }

    /// The virtual host.
    pub(super) fn vhost(&self) -> &str {
        &self.uri.vhost
    }

    /// Who logs in.
    pub(super) fn user(&self) -> &str {
        &self.uri.authority.userinfo.username
    }

    /// Host and port, for people.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.uri.authority.host, self.uri.authority.port)
    }

    /// Why a connection was not made, and what to do.
    pub(super) fn refused(&self, error: &lapin::Error) -> BrokerError {
        let (place, user) = (self.place(), &self.uri.authority.userinfo.username);
        BrokerError::Unreachable(match code(error) {
            Some(403) => format!(
                "RabbitMQ at {place} refuses user `{user}` or its password: correct them in {SETTING}"
            ),
            Some(530) => format!(
                "RabbitMQ at {place} has no virtual host `{}`, or user `{user}` may not use it: make it with \
                 `rabbitmqctl add_vhost`, or change {SETTING}",
                self.uri.vhost
            ),
            _ => format!(
                "no connection to RabbitMQ at {place} ({error}): is it running, and is {SETTING} right?"
            ),
        })
    }

    /// Nobody answered.
    pub(super) fn silent(&self, seconds: u64) -> BrokerError {
        BrokerError::Unreachable(format!(
            "{} has not answered within {seconds} s: is RabbitMQ running there, and is {SETTING} right?",
            self.place()
        ))
    }
}

/// The code by which the server refused something.
pub(super) fn code(error: &lapin::Error) -> Option<u16> {
    match error.kind() {
        ErrorKind::ProtocolError(error) => Some(error.get_id()),
        _ => None,
    }
}

/// An error of an open connection.
pub(super) fn lost(error: &lapin::Error) -> BrokerError {
    BrokerError::Unreachable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: &str) -> RabbitOptions {
        RabbitOptions { url: url.into(), prefix: None, ca_file: None }
    }

    #[test]
    fn a_password_is_never_shown() {
        let options = options("amqp://me:hidden@127.0.0.1:1/%2f");
        let address = Address::read(&options).unwrap();
        let io = lapin::Error::from(std::io::Error::other("refused"));
        let said = format!("{options:?} {} {} {}", address.place(), address.refused(&io), address.silent(1));
        assert!(!said.contains("hidden") && said.contains("127.0.0.1:1") && said.contains(SETTING), "{said}");
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        for wrong in ["", "hidden", "http://hidden@x", "amqp://me:hidden@host:port/"] {
            let error = Address::read(&options(wrong)).err().unwrap().to_string();
            assert!(error.contains(SETTING) && !error.contains("hidden"), "{error}");
        }
    }
}
