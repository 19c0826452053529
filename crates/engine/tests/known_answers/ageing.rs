//! Databases that slow down with what is written to them: without a restore the repeats drift; with
//! one they do not, and two equal databases hardly ever get a verdict.

use super::{data, key, monte_carlo, studies, table, verdicts};
use std::{collections::BTreeMap, path::Path};
use tailmark_driver::{
    Access, Clients, Database, Driver, Location, Params, Semantics, Settings, db,
};
use tailmark_engine::{Silent, Spec, Stop, Terms};
use tailmark_model::{Metric, RunRules};
use tailmark_stats::Run;
use tailmark_workload::KeySpace;

const REPEATS: usize = 4;

/// A database that keeps its age in a file, from run to run.
struct Aging {
    driver: &'static Driver,
    params: Params,
}

impl Aging {
    fn new(state: &Path) -> Self {
        let driver = db::find("sim").unwrap();
        let settings = [
            ("model", "constant 200us; run-noise 3%; age 10% 100B"),
            ("state", state.to_str().unwrap()),
        ];
        let given: BTreeMap<_, _> = settings.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let params = Params {
            location: Location::None,
            data: data(),
            settings: Settings::check(driver, &given, &data(), 1.0).unwrap(),
            semantics: Semantics::default(),
            access: Access::Create,
            study: String::new(),
        };
        Self { driver, params }
    }

    fn restore(&self) {
        (self.driver.destroy)(&self.params, &|_| Ok(())).unwrap();
    }

    /// One run: 40 requests of one client, half of them writes of 10 bytes. Operations per second.
    fn run(&self, seed: u64) -> f64 {
        let database: Box<dyn Database> = (self.driver.open)(&self.params).unwrap();
        let workload = std::sync::Arc::new(tailmark_workload::find("ycsb-a").unwrap());
        let (data, key) = (data(), key(1));
        let keys = std::sync::Arc::new(KeySpace::new(1_000, 1_000));
        let spec = Spec {
            clients: Clients::Tasks,
            system: "a",
            point: Some(&key),
            terms: Terms {
                threads: 1,
                operations: Some(40),
                seed,
                ..Terms::default()
            },
            ..Spec::new(database.as_ref(), &workload, &data, &keys)
        };
        let phase = tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap();
        let point = tailmark_model::Point {
            key: key.clone(),
            phase,
        };
        Run::from_point(&point, RunRules::default()).values[&Metric::OPS_PER_SEC].value
    }
}

#[test]
fn equal_databases_that_age_are_told_apart_no_more_often_than_promised_if_they_are_restored() {
    table("restored | last repeat to the first | false verdicts");
    let folder = tempfile::tempdir().unwrap();
    let drawn = studies();
    for is_restored in [false, true] {
        let (mut drift, mut wrong) = (0.0, 0);
        for study in 0..drawn {
            let both = ["a", "b"].map(|name| Aging::new(&folder.path().join(name)));
            let runs = [0, 1].map(|system| {
                both[system].restore();
                let run = |repeat: usize| {
                    if is_restored {
                        both[system].restore();
                    }
                    let seed = ((study * REPEATS + repeat) * 2 + system) as u64;
                    both[system].run(seed)
                };
                (0..REPEATS).map(run).collect::<Vec<_>>()
            });
            drift += runs
                .iter()
                .map(|own| own[REPEATS - 1] / own[0])
                .sum::<f64>()
                / 2.0;
            let verdict = verdicts::verdicts(&[(&runs[0], &runs[1])])[0];
            wrong += usize::from(verdict.is_difference());
        }
        let (drift, wrong) = (drift / drawn as f64, wrong as f64 / drawn as f64 * 100.0);
        println!("| {is_restored} | {drift:.2} | {wrong:.1} % |");
        if is_restored {
            assert!((drift - 1.0).abs() < 0.01, "{drift}");
            assert!(wrong < 5.0 + monte_carlo(5.0, drawn), "{wrong} %");
        } else {
            assert!(drift < 0.75, "{drift}");
        }
    }
}
