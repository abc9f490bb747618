//! A way to a server that a test can cut, stop and slow.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::frames::{Frames, Protocol};

/// How long a slow way holds up whatever passes.
const SLOW: Duration = Duration::from_millis(20);

/// What happens to bytes on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// They pass.
    #[default]
    Open,
    /// They pass late.
    Slow,
    /// They vanish from sight, and come after all when it is open again: nobody is told.
    Still,
    /// Connections end, and new ones end at once.
    Cut,
}

/// Stands between processes and a server. It ends with the process that made it.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// What is spoken on the way, if anybody counts.
    protocol: Option<Protocol>,
    counted: AtomicU64,
}

#[derive(Default)]
struct State {
    way: Way,
    open: Vec<TcpStream>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until bytes may pass.
    fn pass(&self) {
        let state = self.lock();
        let state = self.changed.wait_while(state, |state| state.way == Way::Still);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        // Late, unless the way is opened meanwhile.
        let late = self.changed.wait_timeout_while(state, SLOW, |state| state.way == Way::Slow);
        drop(late.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Proxy {
    /// Stands in front of a server.
    pub fn to(server: SocketAddr) -> io::Result<Self> {
        Proxy::stand(server, Shared::default())
    }

    /// Stands in front of a server, and counts what passes.
    pub fn counting(server: SocketAddr, protocol: Protocol) -> io::Result<Self> {
        Proxy::stand(server, Shared { protocol: Some(protocol), ..Shared::default() })
    }

    fn stand(server: SocketAddr, shared: Shared) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(shared);
        let sharing = shared.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if sharing.lock().way == Way::Cut {
                    continue;
                }
                // A server that is away refuses: so does this.
                if let Ok(server) = TcpStream::connect(server) {
                    // What cannot be joined is dropped, which ends it.
                    let _ = join(&sharing, client, server);
                }
            }
        });
        Ok(Proxy { address, shared })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How much of what is [counted](Proxy::counting) has passed.
    pub fn counted(&self) -> u64 {
        self.shared.counted.load(Ordering::Relaxed)
    }

    /// Changes what happens to bytes.
    pub fn set(&self, way: Way) {
        let mut state = self.shared.lock();
        state.way = way;
        if way == Way::Cut {
            for stream in state.open.drain(..) {
                // It may have ended by itself.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        self.shared.changed.notify_all();
    }
}

fn join(shared: &Arc<Shared>, client: TcpStream, server: TcpStream) -> io::Result<()> {
    let ways =
        [(client.try_clone()?, server.try_clone()?, true), (server.try_clone()?, client.try_clone()?, false)];
    for (from, to, asks) in ways {
        from.set_nodelay(true)?;
        let shared = shared.clone();
        let frames = shared.protocol.map(|protocol| Frames::new(protocol, asks));
        thread::spawn(move || carry(&shared, from, to, frames));
    }
    shared.lock().open.extend([client, server]);
    Ok(())
}

/// Carries bytes until one end is closed, and closes the other.
fn carry(shared: &Shared, mut from: TcpStream, mut to: TcpStream, mut frames: Option<Frames>) {
    let mut bytes = [0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if let Some(frames) = &mut frames {
            shared.counted.fetch_add(frames.count(&bytes[..count]), Ordering::Relaxed);
        }
        shared.pass();
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // It may have ended already.
    let _ = to.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    /// A server that says everything again, and a proxy in front of it.
    fn echo() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy::to(listener.local_addr().unwrap()).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || io::copy(&mut stream.try_clone().unwrap(), &mut { stream }));
            }
        });
        proxy
    }

    #[test]
    fn bytes_pass_stand_still_and_are_cut() {
        let proxy = echo();
        let mut client = TcpStream::connect(proxy.address()).unwrap();
        let mut answer = [0; 2];
        client.write_all(b"hi").unwrap();
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"hi");
        proxy.set(Way::Still);
        client.write_all(b"yo").unwrap();
        client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert_eq!(client.read(&mut answer).unwrap_err().kind(), ErrorKind::WouldBlock);
        proxy.set(Way::Slow);
        client.set_read_timeout(None).unwrap();
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"yo");
        proxy.set(Way::Cut);
        assert_eq!(client.read(&mut answer).unwrap_or(0), 0);
        let mut late = TcpStream::connect(proxy.address()).unwrap();
        assert_eq!(late.read(&mut answer).unwrap_or(0), 0);
    }
}
