//! A place that its driver cannot have is refused, and the driver is named that was probably meant.

use super::{check, message, plan};
use crate::RawPlan;
use tailmark_driver::{Location, Place, db};

/// What `--driver DRIVER --system NAME=WHERE` is refused with.
fn refused(driver: Option<&str>, place: &str) -> String {
    let mut raw = RawPlan::default();
    if let Some(driver) = driver {
        raw.set_driver(driver);
    }
    raw.set_systems(&[format!("c={place}")]).unwrap();
    message(&raw.check().unwrap_err())
}

#[test]
fn an_address_for_an_embedded_database_names_the_driver_of_its_port() {
    for (driver, place, meant) in [
        (None, "127.0.0.1:9042", "did you mean driver `cassandra`?"),
        (Some("file"), "db1:3000", "did you mean driver `aerospike`?"),
        (Some("file"), "db1:9042,db2:9042", "driver `cassandra`?"),
        (
            Some("file"),
            "10.0.0.1",
            "did you mean driver `aerospike`, ",
        ),
        (
            Some("file"),
            "localhost",
            "did you mean driver `aerospike`, ",
        ),
    ] {
        let error = refused(driver, place);
        let value = format!("system.c.path is `{place}`");
        assert!(error.contains(&value), "{error}");
        assert!(error.contains(meant), "{error}");
        assert!(error.contains(&format!("`./{place}`")), "{error}");
    }
}

#[test]
fn a_path_for_a_server_names_the_embedded_drivers() {
    let servers = db::DRIVERS.iter().filter(|d| d.place == Place::Hosts);
    for server in servers.map(|d| d.name) {
        for place in ["./dir", "/mnt/nvme0", "..", "~/dir"] {
            let error = refused(Some(server), place);
            let value = format!("system.c.contact_points is `{place}`");
            assert!(error.contains(&value), "{error}");
            assert!(error.contains("did you mean driver `file`"), "{error}");
        }
        let text = format!(
            "[database]\ndriver = '{server}'\n[[system]]\nname = 'a'\ncontact_points = ['db1', '/x']"
        );
        let error = message(&check(&text).unwrap_err());
        assert!(error.contains("this is a path"), "{error}");
    }
}

#[test]
fn a_directory_with_the_name_of_an_address_is_given_with_a_slash() {
    let text = "[database]\ndriver = 'file'\n[[system]]\nname = 'a'\npath = './x:1'";
    let Location::Directory(path) = &plan(text).systems[0].location else {
        panic!("it is no directory");
    };
    assert!(path.ends_with("x:1"), "{}", path.display());
    let text = text.replace("./x:1", "nvme0");
    assert!(matches!(
        plan(&text).systems[0].location,
        Location::Directory(_)
    ));
}
