//! The data sets behind a sweep, read back through the drivers: every record that was acknowledged
//! is there, whole.

use crate::{
    broken::{Broken, Kept, expect},
    round::Round,
    sweep::{self, REDIS_DATABASE},
};
use tailmark_driver::{Completion, Driver, Fields, Operation, Params, Reply, Session};
use tailmark_engine::block_on;
use tailmark_model::Kind;
use tailmark_study::Study;
use tailmark_testing::{cql, resp};
use tailmark_workload::key::KeyName;

/// Every record of the loads, and of the inserts of the points where nothing may have taken them.
pub fn are_there(round: &mut Round) -> Kept {
    for (driver, params) in sweep::opened(&round.dir.join("plan.toml")) {
        if round.gone.contains(driver.name) {
            continue;
        }
        let inserted = inserted(round, driver.name);
        round.note(&format!(
            "reading back {} + {inserted} of {}",
            params.data.records, driver.name
        ));
        below(driver, &params, params.data.records + inserted)?;
    }
    Ok(())
}

/// All records below this number.
pub fn below(driver: &Driver, params: &Params, end: u64) -> Kept {
    let refused = |error: tailmark_driver::Error| Broken {
        expected: "the database opens, and takes a client".to_owned(),
        seen: format!(
            "{error}: {:?}",
            std::error::Error::source(&error).map(ToString::to_string)
        ),
    };
    let database = (driver.open)(params).map_err(refused)?;
    let mut session = database.session().map_err(refused)?;
    let mut name = KeyName::new();
    for number in 0..end {
        name.set(number);
        let key = name.key();
        let bytes = key.name.len() as u64 + params.data.value_bytes();
        let fields = Fields::All;
        let reply = send(&mut *session, Operation::Read { key, fields });
        let is_whole = matches!(&reply, Ok(found) if (found.records, found.bytes) == (1, bytes));
        expect(
            is_whole,
            &format!("record {number} of {end} is there, {bytes} bytes"),
            || format!("{reply:?}"),
        )?;
    }
    Ok(())
}

/// How many records the points inserted behind the loaded ones: each point starts at the first.
/// They may be gone where the data set was loaded again, or writes that nobody synced were lost;
/// the `file` driver keeps only the last of them.
fn inserted(round: &Round, driver: &str) -> u64 {
    let may_be_gone = round.sweep.restore != "none"
        || round.had_power_cut
        || round.had_full_disk
        || round.taken_away > 0
        || driver == "file";
    if may_be_gone {
        return 0;
    }
    let points = Study::open_read_only(&round.out()).and_then(|study| study.point_totals());
    let of_driver = points
        .unwrap()
        .into_iter()
        .filter(|point| point.key.system == driver);
    let inserts = of_driver.filter_map(|point| Some(point.phase.kinds.get(&Kind::Insert)?.count));
    inserts.max().unwrap_or(0)
}

/// Removes what an earlier round left on a server.
pub fn remove_left(driver: &str, hosts: &str) {
    if driver == "redis" {
        assert_eq!(resp(hosts, REDIS_DATABASE, &["FLUSHDB"]), ["OK"]);
    } else {
        cql(hosts, "DROP KEYSPACE IF EXISTS faults");
    }
}

fn send(session: &mut dyn Session, operation: Operation<'_>) -> Reply {
    match session.execute(operation) {
        Completion::Ready(reply) => reply,
        Completion::Pending(future) => block_on(future),
    }
}
