//! The part of HTTP/1.1 that a read-only page needs: GET, one request per connection.
//!
//! Slow or hostile clients do not block others. A request and its answer have a total deadline,
//! however slowly their bytes arrive. The number of connections is limited, in total and per peer.
//! One more closes the oldest, preferably one that has not sent its request yet.

use rustix::process::setpriority_process;
use std::{
    io::{self, Read, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The time limit of a request, from its connection on.
const REQUEST: Duration = Duration::from_secs(5);
/// The time limit for reading an answer. A page has a few megabytes.
const ANSWER: Duration = Duration::from_secs(60);
/// How long ending the server waits for its own connection.
const END: Duration = Duration::from_secs(10);
/// Connections at a time.
const CONNECTIONS_MAX: usize = 256;
/// Connections of one peer at a time. A browser opens six.
const PEER_MAX: usize = 32;
/// The longest request, bytes.
const REQUEST_MAX: usize = 16 << 10;
/// The stack that a connection's thread needs to make a page.
const STACK_BYTES: usize = 2 << 20;

/// The answer for a path.
pub struct Answer {
    /// Its media type.
    pub kind: &'static str,
    /// The bytes.
    pub body: Arc<Vec<u8>>,
}

type Pages = dyn Fn(&str) -> Option<Answer> + Send + Sync;

/// A server that ends when it is dropped.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at an address; port 0 means any free port. With a token, only clients that have it
    /// get an answer.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub fn start(
        address: SocketAddr,
        token: Option<String>,
        pages: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let bound = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let service = Arc::new(Service {
            token,
            pages: Box::new(pages),
            open: Mutex::default(),
        });
        let stopped = Arc::clone(&stop);
        let accept = move || accept(&listener, &service, &stopped);
        let accepting = thread::Builder::new()
            .name("live".to_owned())
            .spawn(accept)?;
        Ok(Self {
            address: bound,
            stop,
            accepting: Some(accepting),
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The thread waits for a connection: this is the last one.
        let mut own = self.address;
        if own.ip().is_unspecified() {
            own.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        if TcpStream::connect_timeout(&own, END).is_ok()
            && let Some(accepting) = self.accepting.take()
        {
            let _ = accepting.join();
        }
    }
}

struct Service {
    token: Option<String>,
    pages: Box<Pages>,
    /// The oldest first.
    open: Mutex<Vec<Arc<Connection>>>,
}

struct Connection {
    stream: TcpStream,
    peer: IpAddr,
    /// Whether its request has come.
    is_answered: AtomicBool,
}

impl Connection {
    /// Ends what its thread does.
    fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn accept(listener: &TcpListener, service: &Arc<Service>, stop: &AtomicBool) {
    yield_to_the_run();
    for stream in listener.incoming() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // Such as too many open files: those that are open will be closed.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        // A connection that is already closed has no peer.
        let Some(connection) = service.admit(stream) else {
            continue;
        };
        let (own, served) = (Arc::clone(service), Arc::clone(&connection));
        let serve = move || {
            yield_to_the_run();
            // A client that left does not matter.
            let _ = own.serve(&served);
            own.forget(&served);
        };
        let thread = thread::Builder::new()
            .name("live".to_owned())
            .stack_size(STACK_BYTES);
        if thread.spawn(serve).is_err() {
            service.forget(&connection);
        }
    }
}

/// The lowest priority: in Linux that of a thread is its own.
fn yield_to_the_run() {
    let _ = setpriority_process(None, 19);
}

impl Service {
    /// Accepts a connection. If it is one too many, the oldest is closed: one of its own peer if
    /// that has too many, and preferably one that has not sent its request yet.
    fn admit(&self, stream: TcpStream) -> Option<Arc<Connection>> {
        let peer = stream.peer_addr().ok()?.ip().to_canonical();
        let mut open = self.open();
        let of_peer = open.iter().filter(|other| other.peer == peer).count();
        if of_peer >= PEER_MAX || open.len() >= CONNECTIONS_MAX {
            let may_go = |other: &Connection| of_peer < PEER_MAX || other.peer == peer;
            let is_idle = |other: &Connection| !other.is_answered.load(Ordering::Relaxed);
            let idle = open
                .iter()
                .position(|other| may_go(other) && is_idle(other));
            let oldest = idle.or_else(|| open.iter().position(|other| may_go(other)));
            if let Some(oldest) = oldest {
                open.remove(oldest).close();
            }
        }
        let connection = Arc::new(Connection {
            stream,
            peer,
            is_answered: AtomicBool::new(false),
        });
        open.push(Arc::clone(&connection));
        Some(connection)
    }

    fn forget(&self, connection: &Arc<Connection>) {
        self.open().retain(|other| !Arc::ptr_eq(other, connection));
    }

    fn open(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, connection: &Connection) -> io::Result<()> {
        let stream = &connection.stream;
        let request = read_head(stream, Instant::now() + REQUEST)?;
        connection.is_answered.store(true, Ordering::Relaxed);
        let (status, answer) = self.answer(&request);
        let (kind, body) = match &answer {
            Some(answer) => (answer.kind, answer.body.as_slice()),
            None => ("text/plain; charset=utf-8", status.as_bytes()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let end = Instant::now() + ANSWER;
        write_all(stream, head.as_bytes(), end)?;
        write_all(stream, body, end)
    }

    fn answer(&self, request: &str) -> (&'static str, Option<Answer>) {
        let mut words = request.lines().next().unwrap_or_default().split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return ("400 Bad Request", None);
        };
        if method != "GET" {
            return ("405 Method Not Allowed", None);
        }
        // Which of two would count is not known, so that a program before this one may take the other.
        let mut hosts = hosts(request);
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return ("400 Bad Request", None);
        };
        if !is_own(host) {
            return ("421 Misdirected Request", None);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let given = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("token="));
        if self
            .token
            .as_deref()
            .is_some_and(|token| !is_equal(token, given.unwrap_or_default()))
        {
            return ("403 Forbidden", None);
        }
        match (self.pages)(path) {
            Some(answer) => ("200 OK", Some(answer)),
            None => ("404 Not Found", None),
        }
    }
}

/// The hosts that the headers of a request name.
fn hosts(request: &str) -> impl Iterator<Item = &str> {
    request.lines().skip(1).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim()
            .eq_ignore_ascii_case("host")
            .then(|| value.trim())
    })
}

/// Whether a host is an address or `localhost`. A stranger can make any other name lead here.
fn is_own(host: &str) -> bool {
    let name = host
        .rsplit_once(':')
        .map_or(host, |(name, port)| match port.parse::<u16>() {
            Ok(_) => name,
            Err(_) => host,
        });
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok()
}

/// Compares in a time that does not tell how much is right.
fn is_equal(token: &str, given: &str) -> bool {
    let different = token
        .bytes()
        .zip(given.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    token.len() == given.len() && different == 0
}

/// The time left until a deadline.
fn left(end: Instant) -> io::Result<Option<Duration>> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(Some(left))
}

/// The lines of a request up to the empty one, unless they come too late.
fn read_head(mut stream: &TcpStream, end: Instant) -> io::Result<String> {
    let mut head = Vec::new();
    let mut some = [0; 1_024];
    while !head.windows(4).any(|tail| tail == b"\r\n\r\n") {
        stream.set_read_timeout(left(end)?)?;
        let count = stream.read(&mut some)?;
        if count == 0 || head.len() + count > REQUEST_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&some[..count]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Writes everything, unless it is read too slowly.
fn write_all(mut stream: &TcpStream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(left(end)?)?;
        match stream.write(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(token: Option<&str>) -> Server {
        let page = |path: &str| {
            let body = Arc::new(b"hello".to_vec());
            (path == "/").then_some(Answer {
                kind: "text/plain",
                body,
            })
        };
        let address = "127.0.0.1:0".parse().unwrap();
        Server::start(address, token.map(str::to_owned), page).unwrap()
    }

    fn ask(server: &Server, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(server: &Server, target: &str) -> String {
        ask(
            server,
            &format!(
                "GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n",
                server.address()
            ),
        )
    }

    #[test]
    fn no_page_of_another_site_can_frame_it() {
        assert!(get(&server(None), "/").contains("\r\nX-Frame-Options: DENY\r\n"));
    }

    #[test]
    fn pages_are_read_and_nothing_else() {
        let server = server(None);
        let page = get(&server, "/");
        assert!(
            page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("\r\n\r\nhello"),
            "{page}"
        );
        assert!(get(&server, "/etc/passwd").starts_with("HTTP/1.1 404 "));
        let post = ask(&server, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(post.starts_with("HTTP/1.1 405 "), "{post}");
        let other = ask(&server, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
        assert!(other.starts_with("HTTP/1.1 421 "), "{other}");
        for hosts in [
            "",
            "Host: localhost\r\nHost: evil.example\r\n",
            "host: evil.example\r\nHOST : localhost\r\n",
            "Host: localhost\r\nHost: localhost\r\n",
        ] {
            let said = ask(&server, &format!("GET / HTTP/1.1\r\n{hosts}\r\n"));
            assert!(said.starts_with("HTTP/1.1 400 "), "{hosts} {said}");
        }
    }

    #[test]
    fn a_token_is_asked_for() {
        let server = server(Some("0123"));
        for wrong in ["/", "/?token=", "/?token=0124", "/?token=01234"] {
            assert!(get(&server, wrong).starts_with("HTTP/1.1 403 "), "{wrong}");
        }
        assert!(get(&server, "/?token=0123").starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn connections_that_say_nothing_keep_nobody_from_reading() {
        let server = server(None);
        let idle: Vec<TcpStream> = (0..100)
            .map(|_| TcpStream::connect(server.address()).unwrap())
            .collect();
        assert!(get(&server, "/").ends_with("hello"));
        drop(idle);
    }

    /// Connections that begin a request and do not end it.
    fn slow(server: &Server, count: usize) -> Vec<TcpStream> {
        let begun = (0..count).map(|_| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            // The oldest may be closed already.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\n");
            stream
        });
        begun.collect()
    }

    #[test]
    fn connections_that_are_slow_lock_nobody_out() {
        let server = server(Some("0123"));
        let mut slow = slow(&server, 300);
        for _ in 0..10 {
            let page = get(&server, "/?token=0123");
            assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
            for stream in &mut slow {
                let _ = stream.write_all(b"X: y\r\n");
            }
        }
    }

    #[test]
    fn a_request_that_never_ends_is_closed_though_it_trickles() {
        let server = server(None);
        let mut stream = slow(&server, 1).remove(0);
        let started = Instant::now();
        let mut end = [0];
        stream
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        // A reset or an end shows that it was closed.
        while stream.write_all(b"x").is_ok()
            && matches!(stream.read(&mut end), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        {
            assert!(started.elapsed() < Duration::from_secs(120));
        }
        assert!(get(&server, "/").ends_with("hello"));
    }

    #[test]
    fn one_peer_takes_no_more_than_its_part() {
        let server = server(None);
        let slow = slow(&server, 100);
        // Closed connections have an end to read; the others wait.
        let closed = slow.iter().filter(|stream| {
            stream
                .set_read_timeout(Some(Duration::from_millis(1)))
                .unwrap();
            let read = (&mut &**stream).read(&mut [0]);
            !matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        });
        assert!(get(&server, "/").ends_with("hello"));
        assert!(closed.count() >= 100 - PEER_MAX - 1);
    }
}
