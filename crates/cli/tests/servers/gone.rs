//! A server that goes away after it was ready, and before a client is at work.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};
use tailmark_engine::{Observer, Stop};
use tailmark_model::Load;
use tailmark_plan::RawPlan;
use tailmark_study::Study;
use tailmark_testing::{server, test};
use tempfile::TempDir;

/// A proxy of a server, which is there or not.
struct Proxy {
    server: String,
    port: u16,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_there: bool,
    streams: Vec<TcpStream>,
    /// The load is done.
    is_loaded: bool,
    /// How often it has gone away.
    gone: u32,
    notices: Vec<String>,
}

impl Proxy {
    fn new(server: String) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State {
            is_there: true,
            ..State::default()
        };
        let state = Mutex::new(state);
        let proxy = Arc::new(Self {
            server,
            port,
            state,
        });
        let own = Arc::clone(&proxy);
        thread::spawn(move || {
            for stream in listener.incoming() {
                own.forward(stream.unwrap());
            }
        });
        proxy
    }

    /// Joins a client to the server; where that is not there, it is told so.
    fn forward(&self, client: TcpStream) {
        let mut state = self.state.lock().unwrap();
        if !state.is_there {
            let _ = client.shutdown(Shutdown::Both);
            return;
        }
        let server = TcpStream::connect(&self.server).unwrap();
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
        state.streams.extend([client, server]);
    }

    fn set(&self, is_there: bool) {
        let mut state = self.state.lock().unwrap();
        state.is_there = is_there;
        if !is_there {
            for stream in state.streams.drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Takes the server away as the second point settles, and has it back when it is awaited.
struct Watching(Arc<Proxy>);

impl Observer for Watching {
    fn step(&self, text: &str) {
        let mut state = self.0.state.lock().unwrap();
        let goes = state.is_loaded && state.gone == 0 && text.contains("to settle");
        let comes = !state.is_there && text.contains("for the server to answer");
        state.gone += u32::from(goes);
        drop(state);
        if goes {
            self.0.set(false);
        }
        if comes {
            let proxy = Arc::clone(&self.0);
            thread::spawn(move || {
                thread::sleep(Duration::from_secs(2));
                proxy.set(true);
            });
        }
    }

    fn load_finished(&self, _load: &Load) {
        self.0.state.lock().unwrap().is_loaded = true;
    }

    fn notice(&self, text: &str) {
        self.0.state.lock().unwrap().notices.push(text.to_owned());
    }
}

#[test]
fn a_server_that_goes_away_before_a_client_is_at_work_is_awaited() {
    let proxy = Proxy::new(server("cassandra"));
    let dir = TempDir::new().unwrap();
    let plan = format!(
        "[database]\ndriver = 'cassandra'\nkeyspace = 'gone_{}'\n[dataset]\nrecords = 500\n\
         [sweep]\nworkloads = 'ycsb-c'\nthreads = [1, 2]\noperations = 300\nwarmup = '0s'\n\
         settle = '2s'\nready_timeout = '60s'\n[[system]]\nname = 'server'\n\
         contact_points = '127.0.0.1:{}'\n",
        std::process::id(),
        proxy.port
    );
    let plan = RawPlan::parse("plan.toml", &plan).and_then(|raw| raw.check());
    let watching = Watching(Arc::clone(&proxy));
    let out = dir.path().join("out");
    let summary = tailmark_runner::run(&plan.unwrap(), &out, &watching, &Stop::new()).unwrap();
    let state = proxy.state.lock().unwrap();
    assert_eq!(
        (summary.points_measured, summary.errors, state.gone),
        (2, 0, 1)
    );
    // Why it began again was said.
    let said = |text: &String| text.contains("failed to");
    assert!(state.notices.iter().any(said), "{:?}", state.notices);
    let points = Study::open_read_only(&out).unwrap().points().unwrap();
    assert!(points.iter().all(|point| point.phase.succeeded() == 300));
}
