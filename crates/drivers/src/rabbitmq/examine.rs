//! What an operator should know about RabbitMQ. What is made to see whether it can be made is gone with the connection.

use std::sync::Arc;
use std::time::Duration;

use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions,
    QueueDeclareOptions,
};
use lapin::types::{FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Connection, ErrorKind, ExchangeKind};
use tokio::time::timeout;
use turnwise_core::name::Name;

use super::RabbitOptions;
use super::address::{Address, code};
use super::greeting;
use super::link::Link;
use super::topology::{Topology, declare_exchange, declare_queue};
use crate::broker::Declare;
use crate::examine::{Finding, Findings, PATIENCE};

/// The oldest RabbitMQ that was tried.
const OLDEST: (u32, u32) = (3, 10);
/// How long a server that has room takes to confirm a message.
const CONFIRM: Duration = Duration::from_secs(2);

/// Looks at the server, and rehearses what a node does there.
pub(crate) async fn examine(options: &RabbitOptions) -> Vec<Finding> {
    let mut findings = Findings::about("rabbitmq");
    match Asking::connect(options).await {
        Err(why) => findings.fail("reachable", why),
        Ok(asking) => {
            asking.greeting(&mut findings).await;
            match timeout(PATIENCE, asking.rehearse()).await {
                Ok(Ok(channel)) => asking.publish(&channel, &mut findings).await,
                Ok(Err(why)) => findings.fail("permissions", why),
                Err(_) => findings.fail("answers", asking.address.silent(PATIENCE.as_secs()).to_string()),
            }
        }
    }
    findings.into_vec()
}

/// Compares exchanges and queues that are there with what is wanted. What is not there is made by the first node.
pub(crate) async fn examine_queues(options: &RabbitOptions, wanted: &[Declare]) -> Vec<Finding> {
    let mut findings = Findings::about("rabbitmq");
    // Whoever cannot be reached was reported already.
    let Ok(asking) = Asking::connect(options).await else { return Vec::new() };
    let (mut there, mut differ, mut seen) = (0, false, Vec::new());
    for declare in wanted {
        let things = [Thing::Exchange(&declare.exchange), Thing::Queue(&declare.queue)];
        for thing in things {
            if seen.contains(&thing) {
                continue;
            }
            seen.push(thing);
            match timeout(PATIENCE, asking.compare(thing, declare)).await {
                Ok(Compared::Absent) => {}
                Ok(Compared::Same) => there += 1,
                Ok(Compared::Differs(says)) => {
                    differ = true;
                    findings.fail("queues", says);
                }
                Err(_) => {
                    findings.fail("answers", asking.address.silent(PATIENCE.as_secs()).to_string());
                    return findings.into_vec();
                }
            }
        }
    }
    if !differ {
        findings.ok("queues", format!("{there} exchanges and queues are there, all as wanted"));
    }
    findings.into_vec()
}

/// An exchange or a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thing<'a> {
    Exchange(&'a Name),
    Queue(&'a Name),
}

/// What is there against what is wanted.
enum Compared {
    Absent,
    Same,
    Differs(String),
}

/// A connection to ask on.
struct Asking {
    address: Arc<Address>,
    topology: Arc<Topology>,
    prefix: Option<String>,
    connection: Arc<Connection>,
    /// In the names of what it makes.
    mark: u64,
}

impl Asking {
    async fn connect(options: &RabbitOptions) -> Result<Self, String> {
        let address = Arc::new(Address::read(options).map_err(|error| error.to_string())?);
        let topology = Arc::new(Topology::new(options.prefix.clone()));
        let link = Link::new(address.clone(), topology.clone(), "doctor");
        match timeout(PATIENCE, link.connection()).await {
            Ok(Ok(connection)) => {
                let prefix = options.prefix.clone().filter(|prefix| !prefix.is_empty());
                let mark = getrandom::u64().map_err(|error| error.to_string())?;
                Ok(Asking { address, topology, prefix, connection, mark })
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(address.silent(PATIENCE.as_secs()).to_string()),
        }
    }

    async fn greeting(&self, findings: &mut Findings) {
        let (place, vhost) = (self.address.place(), self.address.vhost());
        findings.ok("reachable", format!("RabbitMQ answers at {place}, virtual host `{vhost}`"));
        let version = timeout(PATIENCE, greeting::version(&self.address)).await.ok().flatten();
        match version.as_deref().map(|version| (version, numbers(version))) {
            Some((version, Some(found))) if found < OLDEST => {
                let text = format!("RabbitMQ {version} is too old: upgrade it to 3.10 or later");
                findings.fail("version", text);
            }
            Some((version, _)) => findings.ok("version", format!("RabbitMQ {version}")),
            None => findings.warn("version", "the server does not say its version: it must be 3.10 or later"),
        }
    }

    /// Does once what a node does all the time, with an exchange and a queue that nobody else knows and that end with
    /// this connection. The channel, ready to publish with confirmation; or what is not allowed.
    async fn rehearse(&self) -> Result<Channel, String> {
        let channel = self.connection.create_channel().await.map_err(|error| error.to_string())?;
        let (exchange, queue) = (self.throwaway("exchange")?, self.throwaway("queue")?);
        let options =
            QueueDeclareOptions { exclusive: true, auto_delete: true, ..QueueDeclareOptions::default() };
        let made = channel.queue_declare(queue.clone(), options, FieldTable::default()).await;
        made.map_err(|error| self.refused("make queues", &error))?;
        let options = ExchangeDeclareOptions { auto_delete: true, ..ExchangeDeclareOptions::default() };
        let made = channel
            .exchange_declare(exchange.clone(), ExchangeKind::Direct, options, FieldTable::default())
            .await;
        made.map_err(|error| self.refused("make exchanges", &error))?;
        let bind = QueueBindOptions::default();
        let bound =
            channel.queue_bind(queue.clone(), exchange.clone(), "".into(), bind, FieldTable::default()).await;
        bound.map_err(|error| self.refused("bind queues", &error))?;
        let got = channel.basic_get(queue, BasicGetOptions::default()).await;
        got.map_err(|error| self.refused("read from queues", &error))?;
        let confirm = channel.confirm_select(ConfirmSelectOptions::default()).await;
        confirm.map_err(|error| error.to_string())?;
        Ok(channel)
    }

    /// The last part of the rehearsal. The server tells that it is short of something only to those who publish, and then
    /// reads no more from them.
    async fn publish(&self, channel: &Channel, findings: &mut Findings) {
        let publish = async {
            let exchange = self.throwaway("exchange")?;
            let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
            let sent = channel.basic_publish(exchange, "".into(), options, b"doctor", properties).await;
            let confirmed = sent.map_err(|error| error.to_string())?.await;
            confirmed.map(drop).map_err(|error| self.refused("write to exchanges", &error))
        };
        match timeout(CONFIRM, publish).await {
            Ok(Ok(())) => {
                let user = self.address.user();
                findings.ok("permissions", format!("user `{user}` may make, write and read what nodes need"));
                findings.ok("alarms", "it takes messages: no alarm about memory or disk");
            }
            Ok(Err(why)) => findings.fail("permissions", why),
            Err(_) if self.connection.status().blocked() => findings.warn(
                "alarms",
                "it takes no messages, because it is short of memory or disk: jobs stand still. See `rabbitmq-diagnostics \
                 alarms`; free memory or disk, or change vm_memory_high_watermark or disk_free_limit",
            ),
            Err(_) => findings.warn(
                "alarms",
                format!("a message was not confirmed within {} s: see `rabbitmq-diagnostics alarms`", CONFIRM.as_secs()),
            ),
        }
    }

    /// On a channel of its own, because the server closes a channel on which it refuses something.
    async fn compare(&self, thing: Thing<'_>, declare: &Declare) -> Compared {
        let lost = |error: &dyn ToString| Compared::Differs(error.to_string());
        let name = match thing {
            Thing::Exchange(name) | Thing::Queue(name) => self.topology.full(name),
        };
        let name = match name {
            Ok(name) => name,
            Err(error) => return lost(&error),
        };
        let open = || self.connection.create_channel();
        let channel = match open().await {
            Ok(channel) => channel,
            Err(error) => return lost(&error),
        };
        let found = match thing {
            Thing::Exchange(_) => {
                let passive = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
                channel
                    .exchange_declare(name.clone(), ExchangeKind::Direct, passive, FieldTable::default())
                    .await
            }
            Thing::Queue(_) => {
                let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
                channel.queue_declare(name.clone(), passive, FieldTable::default()).await.map(drop)
            }
        };
        let declared = match found {
            Err(error) if code(&error) == Some(404) => return Compared::Absent,
            Err(error) => Err(error),
            Ok(()) => match thing {
                Thing::Exchange(_) => declare_exchange(&channel, &name, declare.routing).await,
                Thing::Queue(_) => declare_queue(&channel, &name, declare.durable).await,
            },
        };
        match declared {
            Ok(()) => Compared::Same,
            Err(error) => Compared::Differs(self.mend(thing, &name, &error)),
        }
    }

    fn mend(&self, thing: Thing<'_>, name: &ShortString, error: &lapin::Error) -> String {
        let (what, vhost) = (difference(&message(error)), self.address.vhost());
        match thing {
            Thing::Queue(_) => format!(
                "queue `{name}` is not as wanted: {what}. If nobody else needs it, remove it once it is empty with \
                 `rabbitmqctl delete_queue -p {vhost} {name}`, and the next node makes it again; or set another \
                 TURNWISE_PREFIX"
            ),
            Thing::Exchange(_) => format!(
                "exchange `{name}` is not as wanted: {what}. If nobody else needs it, remove it with `rabbitmqadmin \
                 --vhost={vhost} delete exchange name={name}`, and the next node makes it again; or set another \
                 TURNWISE_PREFIX"
            ),
        }
    }

    /// What is not allowed, and the line that allows it.
    fn refused(&self, what: &str, error: &lapin::Error) -> String {
        let (user, vhost) = (self.address.user(), self.address.vhost());
        if code(error) != Some(403) {
            return format!("RabbitMQ at {} did not let us {what} ({error})", self.address.place());
        }
        let names = match &self.prefix {
            Some(prefix) => format!("'^{}\\.'", prefix.replace('.', "\\.")),
            None => "'.*'".to_owned(),
        };
        format!(
            "user `{user}` may not {what} in virtual host `{vhost}`: rabbitmqctl set_permissions -p {vhost} {user} \
             {names} {names} {names}"
        )
    }

    /// A name that nobody else has.
    fn throwaway(&self, suffix: &str) -> Result<ShortString, String> {
        let name =
            Name::new(format!("doctor-{:x}.{suffix}", self.mark)).map_err(|error| error.to_string())?;
        self.topology.full(&name).map_err(|error| error.to_string())
    }
}

/// The first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn message(error: &lapin::Error) -> String {
    match error.kind() {
        ErrorKind::ProtocolError(error) => error.get_message().to_string(),
        _ => error.to_string(),
    }
}

/// What the server says about an argument, in our words; or in its own, if they are not known.
fn difference(said: &str) -> String {
    let parts = || {
        let (_, rest) = said.split_once("inequivalent arg '")?;
        let (argument, rest) = rest.split_once('\'')?;
        let (_, values) = rest.split_once("received ")?;
        let (wanted, present) = values.split_once(" but current is ")?;
        Some(format!("its argument {argument} is {present}, wanted is {wanted}"))
    };
    parts().unwrap_or_else(|| said.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_in_our_words() {
        let said = "PRECONDITION_FAILED - inequivalent arg 'x-max-length' for queue 'q' in vhost '/': received the value \
                    '10' of type 'signedint' but current is none";
        let ours = "its argument x-max-length is none, wanted is the value '10' of type 'signedint'";
        assert_eq!(difference(said), ours);
        assert_eq!(difference("something else"), "something else");
        assert_eq!([numbers("3.10.8"), numbers("4.0"), numbers("x")], [Some((3, 10)), Some((4, 0)), None]);
    }
}
