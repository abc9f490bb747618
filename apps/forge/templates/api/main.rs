//! A small HTTP service over the entities in `schema.rs`. It needs nothing but the standard library.

mod http;
mod json;
mod routes;
mod schema;
mod store;

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Connections that are served at once.
const CONNECTIONS: usize = 64;
/// How long a client may keep a connection without a word.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() {
    if let Err(error) = serve() {
        eprintln!("{}: {error}", schema::SERVICE);
        std::process::exit(1);
    }
}

fn serve() -> std::io::Result<()> {
    let address = setting("LISTEN", &format!("0.0.0.0:{}", schema::PORT));
    let log = if schema::DURABLE { Some(setting("DATA", "data.log")) } else { None };
    let store = store::Store::open(log.as_deref())?;
    let service = Arc::new(routes::Service { store: Mutex::new(store), web: setting("WEB", "web") });
    let listener = TcpListener::bind(&address)?;
    println!("{} listens on http://{}", schema::SERVICE, listener.local_addr()?);
    std::io::stdout().flush()?;
    let busy = Arc::new(AtomicUsize::new(0));
    for connection in listener.incoming() {
        // A client that has gone again is no reason to stop.
        let Ok(connection) = connection else { continue };
        let (service, busy) = (service.clone(), busy.clone());
        if busy.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS {
            busy.fetch_sub(1, Ordering::SeqCst);
            let full = http::Response::error(503, "too many connections: try again");
            let _ = full.send(&connection, false);
            continue;
        }
        std::thread::spawn(move || {
            let _ = talk(&connection, &service);
            busy.fetch_sub(1, Ordering::SeqCst);
        });
    }
    Ok(())
}

fn talk(connection: &TcpStream, service: &routes::Service) -> std::io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    match http::Request::read(connection)? {
        Ok(request) => service.answer(&request).send(connection, request.method == "HEAD"),
        Err(response) => response.send(connection, false),
    }
}

fn setting(name: &str, default: &str) -> String {
    std::env::var(name).ok().filter(|text| !text.is_empty()).unwrap_or_else(|| default.to_owned())
}
