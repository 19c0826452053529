//! Connections to the servers: to a single one, or to each master of a cluster, with its slots.

use super::{DRIVER, failure::unmeasured, settings, slot};
use crate::{
    HostPort, INPUT_BYTES_MAX, Location, Settings, error::BoxError, net::login, read_file,
};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, FromRedisValue, IntoConnectionInfo,
    RedisConnectionInfo, RedisError, TlsCertificates, Value, aio::MultiplexedConnection, cmd,
};
use std::{path::Path, sync::atomic::AtomicBool, time::Duration};

/// The time limit of unmeasured requests.
pub(super) const UNMEASURED: Duration = Duration::from_secs(60);

/// The servers that hold a data set.
pub(super) struct Nodes {
    /// Their contact points and connections.
    pub nodes: Vec<Node>,
    /// The node of each slot; `None` for a single server.
    slots: Option<Box<[u16]>>,
    /// Whether a connection was lost, or a server is no longer a master. All connections are then
    /// replaced before the next request.
    pub is_lost: AtomicBool,
}

/// One server.
#[derive(Clone)]
pub(super) struct Node {
    /// Its host and port.
    pub address: String,
    /// The connection to it.
    pub connection: MultiplexedConnection,
}

impl Nodes {
    /// The index of the node that holds a key.
    pub fn node_of(&self, key: &[u8]) -> usize {
        let slots = self.slots.as_ref();
        slots.map_or(0, |slots| slots[usize::from(slot::slot(key))].into())
    }

    /// Whether it is a single server without slots.
    pub const fn is_single(&self) -> bool {
        self.slots.is_none()
    }

    /// The answer of the node that holds a key.
    pub async fn ask<T: FromRedisValue>(&self, key: &[u8], command: &Cmd) -> Result<T, BoxError> {
        self.nodes[self.node_of(key)].ask(command).await
    }

    /// Connects according to the settings.
    pub async fn connect(
        location: &Location,
        settings: &Settings,
        request_timeout: Duration,
    ) -> Result<Self, BoxError> {
        let maker = Maker::new(settings, request_timeout)?;
        let connecting = async {
            if settings.flag("cluster") {
                maker.cluster(location).await
            } else {
                maker.single(location).await
            }
        };
        let nodes = login::in_time(location, settings, connecting).await?;
        Ok(nodes)
    }
}

impl Node {
    /// The answer to an unmeasured command.
    pub async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, BoxError> {
        let mut connection = self.connection.clone();
        let answer = command.query_async(&mut connection).await;
        answer.map_err(|error: RedisError| unmeasured(&error))
    }
}

/// Creates connections in the same way.
struct Maker {
    config: AsyncConnectionConfig,
    /// The time limit of connecting.
    connect_timeout: Duration,
    login: RedisConnectionInfo,
    tls: Option<TlsCertificates>,
}

impl Maker {
    fn new(settings: &Settings, request_timeout: Duration) -> Result<Self, BoxError> {
        let connect_timeout = settings.integer("connect_timeout_ms").unwrap_or(1);
        let connect_timeout = Duration::from_millis(connect_timeout);
        let mut login = RedisConnectionInfo::default()
            .set_db(settings::database(settings))
            .set_skip_set_lib_name();
        if let Some((user, password)) = login::credentials(settings)? {
            login = login.set_username(user).set_password(password);
        }
        let tls = if settings.flag("tls") {
            // The program has one provider of cryptography. Another thread may have set it.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let file = settings.text("tls_ca");
            let read = |path| read_file(Path::new(path), INPUT_BYTES_MAX);
            Some(TlsCertificates {
                client_tls: None,
                root_cert: file.map(read).transpose()?,
            })
        } else {
            None
        };
        Ok(Self {
            // Connecting has its own time limit, which also covers the commands after it.
            config: AsyncConnectionConfig::new()
                .set_connection_timeout(None)
                .set_response_timeout(Some(request_timeout)),
            connect_timeout,
            login,
            tls,
        })
    }

    async fn node(&self, host: &str, port: u16) -> Result<Node, BoxError> {
        let said = |error: RedisError| unmeasured(&error);
        let host_text = host.to_owned();
        let address = match &self.tls {
            None => ConnectionAddr::Tcp(host_text, port),
            Some(_) => ConnectionAddr::TcpTls {
                host: host_text,
                port,
                insecure: false,
                tls_params: None,
            },
        };
        let info = address.into_connection_info().map_err(said)?;
        let info = info.set_redis_settings(self.login.clone());
        let client = match &self.tls {
            None => Client::open(info),
            Some(certificates) => Client::build_with_tls(info, certificates.clone()),
        };
        let connecting = client.map_err(said)?;
        let connection = connecting.get_multiplexed_async_connection_with_config(&self.config);
        Ok(Node {
            address: if host.contains(':') {
                format!("[{host}]:{port}")
            } else {
                format!("{host}:{port}")
            },
            connection: connection.await.map_err(said)?,
        })
    }

    async fn point(&self, point: &HostPort) -> Result<Node, BoxError> {
        let port = point.port_or(DRIVER.port.unwrap_or_default());
        self.node(point.host(), port).await
    }

    async fn single(&self, location: &Location) -> Result<Nodes, BoxError> {
        let mut points = location.hosts();
        let point = points.next().ok_or("no contact point is given")?;
        if points.next().is_some() {
            return Err(
                "several contact points are given, which only a cluster has: set `cluster = \
                 true`"
                    .into(),
            );
        }
        let node = self.point(point).await?;
        let role: Vec<Value> = node.ask(&cmd("ROLE")).await?;
        refuse_replica(&role)?;
        let told: String = node.ask(cmd("INFO").arg("cluster")).await?;
        if told.contains("cluster_enabled:1") {
            return Err("the server is a node of a cluster: set `cluster = true`".into());
        }
        let nodes = Nodes {
            nodes: vec![node],
            slots: None,
            is_lost: AtomicBool::new(false),
        };
        Ok(nodes)
    }

    async fn cluster(&self, location: &Location) -> Result<Nodes, BoxError> {
        let mut failed: BoxError = "no contact point is given".into();
        for point in location.hosts() {
            // A silent node leaves time for the others.
            let around = tokio::time::timeout(2 * self.connect_timeout, self.around(point));
            match around.await {
                Ok(Ok(nodes)) => return Ok(nodes),
                Ok(Err(error)) => failed = error,
                Err(_) => failed = format!("{point} did not answer").into(),
            }
        }
        Err(failed)
    }

    /// The masters of a node's cluster.
    async fn around(&self, point: &HostPort) -> Result<Nodes, BoxError> {
        let node = self.point(point).await?;
        let ranges = ranges(&node).await?;
        let mut masters: Vec<Master> = Vec::new();
        let mut slots = vec![u16::MAX; slot::SLOTS.into()].into_boxed_slice();
        for (first, last, master) in &ranges {
            let (first, last, mut master) = (*first, *last, master.clone());
            if master.host.is_empty() {
                point.host().clone_into(&mut master.host);
            }
            let known = masters.iter().position(|known| *known == master);
            let index = known.unwrap_or_else(|| {
                masters.push(master);
                masters.len() - 1
            });
            let own = slots.get_mut(usize::from(first)..=usize::from(last));
            own.ok_or("the server reports slots that do not exist")?
                .fill(index as u16);
        }
        let missing = slots.iter().filter(|&&index| index == u16::MAX).count();
        if missing > 0 {
            return Err(format!(
                "{missing} of the cluster's {} slots have no node",
                slot::SLOTS
            )
            .into());
        }
        let mut nodes = Vec::new();
        for master in &masters {
            let found = self.node(&master.host, master.port).await?;
            let id: String = found.ask(cmd("CLUSTER").arg("MYID")).await?;
            if id != master.id {
                return Err(format!(
                    "the cluster reports another node at {}; check the address",
                    found.address
                )
                .into());
            }
            // A node of another cluster is claimed for this one by its id alone.
            let named = self::ranges(&found).await?;
            if owners(&named) != owners(&ranges) {
                return Err(format!(
                    "{} and {} report different nodes for the same slots: they belong to different \
                     clusters, or slots are being moved",
                    node.address, found.address
                )
                .into());
            }
            nodes.push(found);
        }
        Ok(Nodes {
            nodes,
            slots: Some(slots),
            is_lost: AtomicBool::new(false),
        })
    }
}

/// The slot ranges in a node's answer, each with its first and last slot and its master.
async fn ranges(node: &Node) -> Result<Vec<(u16, u16, Master)>, BoxError> {
    let ranges: Vec<Vec<Value>> = node.ask(cmd("CLUSTER").arg("SLOTS")).await?;
    let ranges = ranges.iter().map(|range| parse_range(range));
    let ranges: Option<Vec<_>> = ranges.collect();
    ranges.ok_or_else(|| "the server does not report which node has which slots".into())
}

/// The id of each slot's master; empty if unknown.
fn owners(ranges: &[(u16, u16, Master)]) -> Vec<&str> {
    let mut owners = vec![""; slot::SLOTS.into()];
    for (first, last, master) in ranges {
        let own = owners.get_mut(usize::from(*first)..=usize::from(*last));
        own.into_iter().for_each(|own| own.fill(&master.id));
    }
    owners
}

/// The master of a range of slots.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Master {
    /// Empty if the cluster does not name it. The host of the contact point is used then.
    host: String,
    port: u16,
    /// Its node id.
    id: String,
}

/// First and last slot, and the master, of a range in `CLUSTER SLOTS`.
fn parse_range(range: &[Value]) -> Option<(u16, u16, Master)> {
    let [Value::Int(first), Value::Int(last), Value::Array(node), ..] = range else {
        return None;
    };
    let [host, Value::Int(port), Value::BulkString(id), ..] = &node[..] else {
        return None;
    };
    let host = match host {
        Value::BulkString(host) => String::from_utf8(host.clone()).ok()?,
        Value::Nil => String::new(),
        _ => return None,
    };
    let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
    let master = Master {
        host,
        port: u16::try_from(*port).ok()?,
        id: String::from_utf8(id.clone()).ok()?,
    };
    (first <= last).then_some((first, last, master))
}

/// Refuses a replica, because writes go to its master and its data may be stale.
fn refuse_replica(role: &[Value]) -> Result<(), BoxError> {
    match role {
        [
            Value::BulkString(role),
            Value::BulkString(host),
            Value::Int(port),
            ..,
        ] if role == b"slave" => {
            let host = String::from_utf8_lossy(host);
            Err(
                format!("the server is a replica of {host}:{port}: use the address of the master")
                    .into(),
            )
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn a_range_of_slots_is_its_masters() {
        let node = |host: Value, port| Value::Array(vec![host, Value::Int(port), text("id")]);
        let range = |last, host| {
            [
                Value::Int(0),
                Value::Int(last),
                node(host, 6391),
                node(text("b"), 6392),
            ]
        };
        let master = |host: &str| Master {
            host: host.to_owned(),
            port: 6391,
            id: "id".to_owned(),
        };
        let known = parse_range(&range(5460, text("10.0.0.1")));
        assert_eq!(known, Some((0, 5460, master("10.0.0.1"))));
        let unnamed = parse_range(&range(5460, Value::Nil));
        assert_eq!(unnamed, Some((0, 5460, master(""))));
        assert_eq!(parse_range(&range(70_000, text("a"))), None);
        assert_eq!(parse_range(&range(-1, text("a"))), None);
    }

    #[test]
    fn a_replica_is_refused_by_the_name_of_its_master() {
        let replica = [
            text("slave"),
            text("10.0.0.1"),
            Value::Int(6379),
            text("connected"),
        ];
        let refused = refuse_replica(&replica).unwrap_err().to_string();
        assert!(refused.contains("replica of 10.0.0.1:6379"), "{refused}");
        assert!(refuse_replica(&[text("master"), Value::Int(0)]).is_ok());
    }
}
