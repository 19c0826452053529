//! `tailmark run --live`: the growing report in a browser, during the run.
//!
//! Viewers cost the run as little as possible. Seconds are reported as on the terminal. Threads of
//! the lowest priority read the report from the study, and only if a point was committed and a
//! browser asks for it. Nothing can be changed through the page.

mod http;
mod state;

use http::{Answer, Server};
use state::State;
use std::{
    io::Read,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use tailmark_console::Console;
use tailmark_engine::Observer;
use tailmark_report::{html, read_studies};

/// A page that is served until this is dropped.
pub struct LivePage {
    state: Arc<State>,
    /// Its threads end with it.
    _server: Server,
}

/// The page of a version of the study, made once.
#[derive(Default)]
struct Cached {
    version: Option<u64>,
    page: Arc<Vec<u8>>,
}

impl LivePage {
    /// Serves the run of a directory, and prints the address. If others can reach the address, a
    /// token is needed to read the page.
    ///
    /// # Errors
    /// If nothing can be served there.
    pub fn serve(address: SocketAddr, out: &Path, console: &Console) -> anyhow::Result<Self> {
        let state = Arc::new(State::default());
        let token = if address.ip().is_loopback() {
            None
        } else {
            Some(token()?)
        };
        let pages = Pages {
            state: Arc::clone(&state),
            out: out.to_owned(),
            cached: Mutex::default(),
        };
        let server = Server::start(address, token.clone(), move |path| pages.answer(path))?;
        let query = token.map_or_else(String::new, |token| format!("?token={token}"));
        console.warn(&format!("live: http://{}/{query}", server.address()));
        Ok(Self {
            state,
            _server: server,
        })
    }

    /// The observer that updates the page.
    pub fn observer(&self) -> &dyn Observer {
        &*self.state
    }
}

/// The served pages.
struct Pages {
    state: Arc<State>,
    out: PathBuf,
    cached: Mutex<Cached>,
}

impl Pages {
    fn answer(&self, path: &str) -> Option<Answer> {
        match path {
            "/" => Some(Answer {
                kind: "text/html; charset=utf-8",
                body: self.page(),
            }),
            "/live.json" => Some(Answer {
                kind: "application/json",
                body: Arc::new(self.state.json().into_bytes()),
            }),
            _ => None,
        }
    }

    /// The report of the study so far. Several browsers wait for the same one.
    fn page(&self) -> Arc<Vec<u8>> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.state.version();
        if cached.version != Some(version) {
            let data = read_studies(std::slice::from_ref(&self.out)).ok();
            cached.page = Arc::new(html::live(data.as_ref()));
            cached.version = Some(version);
        }
        Arc::clone(&cached.page)
    }
}

/// 128 random bits in hexadecimal digits, which cannot be guessed.
fn token() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
