//! An address that comes to lead to another cluster, in which the user has a table of the same name.

use super::{
    foreign::{FIELDS, Keyspace, succeeded},
    own::Server,
};
use crate::TAILMARK;
use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};
use tailmark_testing::{cql, out, test};
use tempfile::TempDir;

/// Where a proxy leads to, and its connections.
struct Route {
    target: String,
    connections: Vec<TcpStream>,
}

/// A proxy of TCP connections.
struct Proxy {
    address: String,
    route: Arc<Mutex<Route>>,
}

impl Proxy {
    fn new(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let connections = Vec::new();
        let route = Arc::new(Mutex::new(Route {
            target,
            connections,
        }));
        let proxy = Self {
            address,
            route: Arc::clone(&route),
        };
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut route = route.lock().unwrap();
                let Ok(server) = TcpStream::connect(&route.target) else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    route.connections.push(to.try_clone().unwrap());
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        proxy
    }

    /// Ends all connections; the next ones are led there.
    fn lead_to(&self, target: String) {
        let mut route = self.route.lock().unwrap();
        route.target = target;
        for connection in route.connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

#[test]
fn an_address_that_leads_to_another_cluster_during_a_point_changes_nothing_there() {
    let here = Keyspace::missing("clusters");
    let there = Server::new(9248);
    there.act("start");
    let name = &here.name;
    for statement in [
        &format!(
            "CREATE KEYSPACE {name} WITH replication = \
             {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        ),
        &format!("CREATE TABLE {name}.usertable ({FIELDS})"),
        &format!("INSERT INTO {name}.usertable (y_id, field0) VALUES ('mine', 'precious')"),
    ] {
        cql(&there.hosts(), statement);
    }
    let proxy = Proxy::new(here.hosts.clone());
    let through = Keyspace {
        hosts: proxy.address.clone(),
        name: name.clone(),
        dir: TempDir::new().unwrap(),
    };
    succeeded(&through.run(&["-o", "loaded"]));
    let run = through.start(&["--rate=20", "--workload=ycsb-a", "-o", "out"]);
    let mut run = here.until_changed(run);
    proxy.lead_to(there.hosts());
    assert_ne!(run.wait().unwrap().code(), Some(0));
    let resumed = through.run(&[
        "--workload=ycsb-a",
        "--set=dataset.restore='reload'",
        "-o",
        "out",
    ]);
    assert_ne!(resumed.status.code(), Some(0));
    let cleaned = TAILMARK.run(through.dir.path(), &["clean", "loaded", "--yes"]);
    assert!(!out(&cleaned).contains("removed"), "{}", out(&cleaned));
    assert_eq!(
        cql(
            &there.hosts(),
            &format!("SELECT y_id FROM {name}.usertable")
        ),
        [["mine"]]
    );
    assert_eq!(through.tables(), [["usertable", ""]]);
}
