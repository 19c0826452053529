//! As much of HTTP/1.1 as a page takes that is only read: GET, one request a connection. A connection that
//! says nothing, or takes nothing, is closed after a while, and there are never more than so many.

use rustix::process::setpriority_process;
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// For so long a connection may say or take nothing.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections at a time; one more is closed at once.
const CONNECTIONS_MAX: usize = 256;
/// What a request may be long, bytes.
const REQUEST_MAX: usize = 16 << 10;
/// What a thread of a connection needs to make a page.
const STACK_BYTES: usize = 2 << 20;

/// What a path has.
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
    /// Listens at an address; port 0 is any that is free. With a token, only those who have it are answered.
    ///
    /// # Errors
    /// Where it cannot listen there.
    pub fn start(
        address: SocketAddr,
        token: Option<String>,
        pages: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let service = Arc::new(Service {
            token,
            pages: Box::new(pages),
            open: AtomicUsize::new(0),
        });
        let stopped = Arc::clone(&stop);
        let accept = move || accept(&listener, &service, &stopped);
        let accepting = thread::Builder::new()
            .name("live".to_owned())
            .spawn(accept)?;
        Ok(Self {
            address,
            stop,
            accepting: Some(accepting),
        })
    }

    /// Where it listens.
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
        if TcpStream::connect_timeout(&own, PATIENCE).is_ok()
            && let Some(accepting) = self.accepting.take()
        {
            let _ = accepting.join();
        }
    }
}

struct Service {
    token: Option<String>,
    pages: Box<Pages>,
    open: AtomicUsize,
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
        if service.open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
            service.open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let own = Arc::clone(service);
        let serve = move || {
            yield_to_the_run();
            // Whoever went away is no matter.
            let _ = own.serve(stream);
            own.open.fetch_sub(1, Ordering::Relaxed);
        };
        let thread = thread::Builder::new()
            .name("live".to_owned())
            .stack_size(STACK_BYTES);
        if thread.spawn(serve).is_err() {
            service.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The lowest priority: in Linux that of a thread is its own.
fn yield_to_the_run() {
    let _ = setpriority_process(None, 19);
}

impl Service {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let request = read_head(&mut stream)?;
        let (status, answer) = self.answer(&request);
        let (kind, body) = match &answer {
            Some(answer) => (answer.kind, answer.body.as_slice()),
            None => ("text/plain; charset=utf-8", status.as_bytes()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        stream.flush()
    }

    fn answer(&self, request: &str) -> (&'static str, Option<Answer>) {
        let mut words = request.lines().next().unwrap_or_default().split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return ("400 Bad Request", None);
        };
        if method != "GET" {
            return ("405 Method Not Allowed", None);
        }
        if !has_own_host(request) {
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

/// Whether the browser asked for an address and no name, which somebody could have pointed here.
fn has_own_host(request: &str) -> bool {
    let host = request.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let Some(host) = host else {
        return false;
    };
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

/// The lines of a request up to the empty one.
fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut some = [0; 1_024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut some)?;
        if count == 0 || head.len() + count > REQUEST_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&some[..count]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
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
}
