//! Connections: how many there may be, how long a head may take, and how they end.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tower::ServiceExt as _;

use crate::access::guard::Peer;
use crate::api;
use crate::state::Server;

/// Connections at once. Whoever comes then waits until another goes.
const CONNECTIONS: usize = 24_000;
/// How long a request's head may take, and how long a connection may say nothing between two requests.
const HEAD: Duration = Duration::from_secs(20);
/// How many headers a request may have.
const HEADERS: usize = 64;
/// How large a head may be.
const HEAD_BYTES: usize = 64 << 10;
/// How long to wait when the system gives no more connections.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Answers requests until the server is closing, and then what is under way.
pub async fn serve(server: Server, listener: TcpListener) -> std::io::Result<()> {
    let router = api::router(&server);
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut closing = server.0.closing.clone();
    // Every connection holds it open; it never carries anything.
    let (held, mut all_gone) = mpsc::channel::<()>(1);
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            _ = closing.wait_for(|closing| *closing) => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closing.wait_for(|closing| *closing) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (router, closing, held) = (router.clone(), closing.clone(), held.clone());
                tokio::spawn(async move {
                    talk(stream, Peer(peer), router, closing).await;
                    drop((place, held));
                });
            }
            Err(error) => {
                // Somebody hung up at once, or the system has no more file descriptors: both pass.
                tracing::debug!(%error, "a connection was not accepted");
                tokio::time::sleep(EXHAUSTED).await;
            }
        }
    }
    drop(held);
    // Nothing is ever said: it closes with the last connection.
    let _ = tokio::join!(all_gone.recv(), server.0.workers.close());
    Ok(())
}

async fn talk(stream: TcpStream, peer: Peer, router: axum::Router, mut closing: watch::Receiver<bool>) {
    // Answers are small and waited for.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        async move {
            let (mut parts, body) = request.into_parts();
            parts.extensions.insert(peer);
            router.oneshot(Request::from_parts(parts, axum::body::Body::new(body))).await
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // However it ends, it is the other side's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
