//! YCSB's bindings and their equivalents here: a driver, the place of its data, and its settings.

use super::properties::Properties;
use anyhow::{Context, anyhow, bail};
use rustix::fs::{MemfdFlags, memfd_create};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, Permissions},
    io::Write,
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
};
use tailmark_driver::{Driver, HostPort, Location, Place, db, did_you_mean};

/// One binding: a row of [`BINDINGS`].
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// The name that the wrapper takes; the part before a `-` is enough.
    pub name: &'static str,
    /// The class that Java's client takes, without its package.
    class: &'static str,
    /// The driver's name.
    driver: &'static str,
    /// The property with the place of the data, and its default; `None` if it stores nothing.
    location: Option<(&'static str, Option<&'static str>)>,
    /// The property of the port, for servers; its default is the driver's.
    port: Option<&'static str>,
    /// Properties and the settings that they become.
    settings: &'static [(&'static str, &'static str)],
    /// The property of the password.
    password: Option<&'static str>,
    /// The binding's defaults that differ from the driver's, in faithful semantics.
    defaults: &'static [(&'static str, &'static str)],
    /// Properties that are accepted but ignored, because there is nothing to change.
    ignored: &'static [&'static str],
}

const CASSANDRA: Binding = Binding {
    name: "cassandra-cql",
    class: "CassandraCQLClient",
    driver: "cassandra",
    location: Some(("hosts", None)),
    port: Some("port"),
    settings: &[
        ("cassandra.keyspace", "keyspace"),
        ("cassandra.username", "user"),
        ("cassandra.readconsistencylevel", "read_consistency"),
        ("cassandra.writeconsistencylevel", "write_consistency"),
        ("cassandra.coreconnections", "connections"),
        ("cassandra.connecttimeoutmillis", "connect_timeout_ms"),
        ("cassandra.readtimeoutmillis", "request_timeout_ms"),
        ("cassandra.useSSL", "tls"),
    ],
    password: Some("cassandra.password"),
    defaults: &[],
    ignored: &["cassandra.maxconnections", "cassandra.tracing"],
};

const SCYLLA: Binding = Binding {
    name: "scylla",
    class: "ScyllaCQLClient",
    driver: "cassandra",
    location: Some(("scylla.hosts", None)),
    port: Some("scylla.port"),
    settings: &[
        ("scylla.keyspace", "keyspace"),
        ("scylla.local_dc", "datacenter"),
        ("scylla.username", "user"),
        ("scylla.readconsistencylevel", "read_consistency"),
        ("scylla.writeconsistencylevel", "write_consistency"),
        ("scylla.coreconnections", "connections"),
        ("scylla.connecttimeoutmillis", "connect_timeout_ms"),
        ("scylla.readtimeoutmillis", "request_timeout_ms"),
        ("scylla.useSSL", "tls"),
    ],
    password: Some("scylla.password"),
    defaults: &[],
    ignored: &["scylla.maxconnections", "scylla.tracing"],
};

/// Every binding whose driver there is or will be, by name; the first of a driver is its main one.
pub const BINDINGS: &[Binding] = &[
    Binding {
        name: "aerospike",
        class: "AerospikeClient",
        driver: "aerospike",
        location: Some(("as.host", Some("localhost"))),
        port: Some("as.port"),
        settings: &[
            ("as.namespace", "namespace"),
            ("as.timeout", "request_timeout_ms"),
            ("as.user", "user"),
        ],
        password: Some("as.password"),
        defaults: &[("insert", "create"), ("update", "replace")],
        ignored: &[],
    },
    Binding {
        name: "basic",
        class: "BasicDB",
        driver: "null",
        location: None,
        port: None,
        settings: &[],
        password: None,
        defaults: &[],
        ignored: &[
            "basicdb.verbose",
            "basicdb.simulatedelay",
            "basicdb.randomizedelay",
            "basicdb.count",
        ],
    },
    CASSANDRA,
    Binding {
        name: "cassandra2-cql",
        ..CASSANDRA
    },
    Binding {
        name: "redis",
        class: "RedisClient",
        driver: "redis",
        location: Some(("redis.host", None)),
        port: Some("redis.port"),
        settings: &[
            ("redis.cluster", "cluster"),
            ("redis.timeout", "request_timeout_ms"),
        ],
        // It has no property of a user: the password is that of the default one.
        password: Some("redis.password"),
        defaults: &[],
        ignored: &[],
    },
    Binding {
        name: "rocksdb",
        class: "RocksDBClient",
        driver: "rocksdb",
        location: Some(("rocksdb.dir", None)),
        port: None,
        settings: &[
            ("rocksdb.optionsfile", "options_file"),
            ("rocksdb.wal_dir", "wal_dir"),
        ],
        password: None,
        defaults: &[],
        ignored: &[],
    },
    SCYLLA,
];

impl Binding {
    /// The binding of a name as the wrapper takes it, or of a class as Java's client does.
    ///
    /// # Errors
    /// Names the bindings that there are.
    pub fn find(name: &str) -> anyhow::Result<&'static Self> {
        let class = name.rsplit_once('.').map(|(_, class)| class);
        let is_named = |binding: &&Self| match class {
            Some(class) => binding.class == class,
            None => binding.name == name || binding.name.split('-').next() == Some(name),
        };
        BINDINGS.iter().find(is_named).with_context(|| {
            let names: Vec<_> = BINDINGS.iter().map(|binding| binding.name).collect();
            let hint = did_you_mean(name, names.iter().copied());
            format!(
                "there is no binding `{name}`{hint}; bindings: {}",
                names.join(", ")
            )
        })
    }

    /// The class as Java's client names it.
    pub fn class(&self) -> String {
        match self.driver {
            "null" => format!("site.ycsb.{}", self.class),
            "rocksdb" => format!("site.ycsb.db.rocksdb.{}", self.class),
            _ => format!("site.ycsb.db.{}", self.class),
        }
    }

    /// The driver.
    ///
    /// # Errors
    /// If this build does not have it.
    pub fn driver(&self) -> anyhow::Result<&'static Driver> {
        let found = db::find(self.driver);
        found.with_context(|| format!("the binding `{}` has no driver in this build", self.name))
    }

    /// The place of the data.
    ///
    /// # Errors
    /// If a property without a default is not set.
    pub fn location(&self, properties: &Properties) -> anyhow::Result<Location> {
        let Some((name, default)) = self.location else {
            return Ok(Location::None);
        };
        let Some(place) = properties.text(name).or(default) else {
            bail!("the binding `{}` requires the property `{name}`", self.name);
        };
        let driver = db::find(self.driver).ok();
        if let Some(accepted) = driver.and_then(|driver| driver.refuses_place(place)) {
            bail!("{name} is `{place}`, but it must be {accepted}");
        }
        let Some(port) = self.port else {
            let directory = Location::of_directory(place);
            return directory.map_err(|why| anyhow!("{name} is `{place}`, but {why}"));
        };
        let own_port = driver
            .and_then(|driver| driver.port)
            .map(|own| own.to_string());
        let port = properties.text(port).or(own_port.as_deref());
        let with_port = |host: &str| {
            let point = HostPort::parse(host.trim());
            match port {
                Some(port) => point.with_port(port),
                None => point,
            }
        };
        Ok(Location::Hosts(place.split(',').map(with_port).collect()))
    }

    /// The driver's settings in the properties. Besides YCSB's own names, every setting can be
    /// given as `DRIVER.SETTING`.
    pub fn settings(&self, driver: &Driver, properties: &Properties) -> BTreeMap<String, String> {
        let is_correct = properties.text("tailmark.semantics") == Some("correct");
        let mut settings: BTreeMap<String, String> = self
            .defaults
            .iter()
            .filter(|_| !is_correct)
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut given = BTreeSet::new();
        let knows = |setting: &str| driver.settings.iter().any(|known| known.name == setting);
        for &(property, setting) in self.settings.iter().filter(|(_, setting)| knows(setting)) {
            if let Some(value) = properties.text(property) {
                let as_given = ["datacenter", "user"].contains(&setting);
                let is_word = driver.place == Place::Hosts && !as_given;
                let value = if is_word {
                    value.to_ascii_lowercase()
                } else {
                    value.to_owned()
                };
                settings.insert(setting.to_owned(), value);
                given.insert(setting);
            }
        }
        // The binding's own property says more than one of the driver's name.
        for setting in driver.settings.iter().filter(|s| !given.contains(s.name)) {
            let property = format!("{}.{}", driver.name, setting.name);
            if let Some(value) = properties.text(&property) {
                settings.insert(setting.name.to_owned(), value.to_owned());
            }
        }
        for property in self.ignored {
            let _ = properties.text(property);
        }
        settings
    }
}

impl Binding {
    /// The password of the properties in a form for a driver, which takes passwords from files.
    /// `None` without a password, or without the user for a binding that has a property for it.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn password(&self, properties: &Properties) -> anyhow::Result<Option<Password>> {
        let password = self.password.and_then(|name| properties.text(name));
        let mut users = self.settings.iter();
        let user = users.find(|(_, setting)| *setting == "user");
        let has_user = user.is_none_or(|(name, _)| properties.text(name).is_some());
        let Some(password) = password.filter(|_| has_user) else {
            return Ok(None);
        };
        let kept = Password::new(password).context("failed to keep the password in memory")?;
        Ok(Some(kept))
    }
}

/// A password in memory that a driver reads as a file. It ends with the process, however that ends.
#[derive(Debug)]
pub struct Password(File);

impl Password {
    fn new(password: &str) -> std::io::Result<Self> {
        let mut file = File::from(memfd_create("tailmark-password", MemfdFlags::CLOEXEC)?);
        file.set_permissions(Permissions::from_mode(0o600))?;
        writeln!(file, "{password}")?;
        Ok(Self(file))
    }

    /// The name by which this process can read it, and others of this user while it runs.
    pub fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_binding_has_a_driver_that_writes_a_device_itself() {
        for binding in BINDINGS {
            let place = binding.driver().map(|driver| driver.place);
            assert!(
                !matches!(place, Ok(Place::DirectoryOrDevice)),
                "{}",
                binding.name
            );
        }
    }

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(BINDINGS.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn a_binding_is_found_by_name_part_or_class() {
        for (name, driver) in [
            ("basic", "null"),
            ("rocksdb", "rocksdb"),
            ("cassandra-cql", "cassandra"),
            ("cassandra", "cassandra"),
            ("cassandra2-cql", "cassandra"),
            ("scylla", "cassandra"),
            ("site.ycsb.BasicDB", "null"),
            ("com.yahoo.ycsb.db.rocksdb.RocksDBClient", "rocksdb"),
            ("site.ycsb.db.CassandraCQLClient", "cassandra"),
            ("site.ycsb.db.AerospikeClient", "aerospike"),
            ("site.ycsb.db.RedisClient", "redis"),
        ] {
            assert_eq!(Binding::find(name).unwrap().driver, driver, "{name}");
        }
        let error = Binding::find("rocksbd").unwrap_err().to_string();
        assert!(
            error.contains("did you mean `rocksdb`?") && error.contains("basic"),
            "{error}"
        );
    }

    #[test]
    fn the_binding_scylla_has_its_own_properties() {
        let scylla = Binding::find("scylla").unwrap();
        let mut properties = Properties::default();
        properties.set("hosts", "wrong");
        let error = scylla.location(&properties).unwrap_err().to_string();
        assert!(error.contains("`scylla.hosts`"), "{error}");
        for (name, value) in [
            ("scylla.hosts", "a,b"),
            ("scylla.port", "9999"),
            ("scylla.keyspace", "ks"),
            ("scylla.local_dc", "DC1"),
            ("scylla.readconsistencylevel", "ONE"),
            ("scylla.username", "Me"),
            ("scylla.password", "secret"),
            ("cassandra.keyspace", "wrong"),
        ] {
            properties.set(name, value);
        }
        assert_eq!(
            scylla.location(&properties).unwrap().to_string(),
            "a:9999,b:9999"
        );
        let driver = db::find("cassandra").unwrap();
        let settings = scylla.settings(driver, &properties);
        let expected = [
            ("datacenter", "DC1"),
            ("keyspace", "ks"),
            ("read_consistency", "one"),
            ("user", "Me"),
        ];
        assert_eq!(
            settings,
            expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into()
        );
        assert!(scylla.password(&properties).unwrap().is_some());
    }

    #[test]
    fn updates_on_aerospike_replace_as_its_binding_does() {
        let driver = db::find("aerospike").unwrap();
        let binding = Binding::find("aerospike").unwrap();
        let update = |given: &[(&str, &str)]| {
            let mut properties = Properties::default();
            given
                .iter()
                .for_each(|(name, value)| properties.set(name, value));
            binding.settings(driver, &properties).remove("update")
        };
        assert_eq!(update(&[]).as_deref(), Some("replace"));
        assert_eq!(
            update(&[("tailmark.semantics", "correct")]),
            None,
            "the driver's default"
        );
        let given = update(&[("aerospike.update", "merge")]);
        assert_eq!(given.as_deref(), Some("merge"));
        // An insert of a key that is there is an error.
        let inserts = binding.settings(driver, &Properties::default());
        assert_eq!(inserts["insert"], "create");
    }

    #[test]
    fn hosts_get_the_port_that_they_lack() {
        let mut properties = Properties::default();
        properties.set("hosts", "a, b:9999");
        let location = |given: &Properties| CASSANDRA.location(given).unwrap().to_string();
        if db::find("cassandra").is_ok() {
            assert_eq!(location(&properties), "a:9042,b:9999");
        }
        properties.set("port", "7");
        assert_eq!(location(&properties), "a:7,b:9999");
    }

    #[test]
    fn a_password_goes_to_the_driver_by_memory_and_nowhere_else() {
        let mut properties = Properties::default();
        properties.set("cassandra.password", "s=1 ");
        let password = |given: &Properties| CASSANDRA.password(given).unwrap();
        assert!(password(&properties).is_none(), "YCSB does without, too");
        properties.set("cassandra.username", "me");
        let kept = password(&properties).unwrap();
        for _ in 0..2 {
            assert_eq!(std::fs::read_to_string(kept.path()).unwrap(), "s=1 \n");
        }
        let target = std::fs::read_link(kept.path()).unwrap();
        assert_eq!(target.to_str(), Some("/memfd:tailmark-password (deleted)"));
    }

    #[test]
    fn a_binding_without_a_property_of_users_takes_a_password_alone() {
        let redis = Binding::find("redis").unwrap();
        let mut properties = Properties::default();
        assert!(redis.password(&properties).unwrap().is_none());
        properties.set("redis.password", "sesame");
        let kept = redis.password(&properties).unwrap().unwrap();
        assert_eq!(std::fs::read_to_string(kept.path()).unwrap(), "sesame\n");
    }

    #[test]
    fn a_place_without_default_is_required() {
        let rocksdb = Binding::find("rocksdb").unwrap();
        let error = rocksdb
            .location(&Properties::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("rocksdb.dir"), "{error}");
    }

    #[test]
    fn an_address_for_an_embedded_database_and_a_path_for_a_server_are_refused() {
        let refused = |binding: &str, name: &str, place: &str| {
            let mut properties = Properties::default();
            properties.set(name, place);
            let refused = Binding::find(binding).unwrap().location(&properties);
            refused.unwrap_err().to_string()
        };
        if db::find("rocksdb").and(db::find("cassandra")).is_ok() {
            let server = refused("rocksdb", "rocksdb.dir", "127.0.0.1:9042");
            assert!(server.contains("driver `cassandra`?"), "{server}");
            let path = refused("cassandra-cql", "hosts", "./dir");
            assert!(path.contains("this is a path"), "{path}");
        }
    }
}
