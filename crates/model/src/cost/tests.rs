//! The hand-computed table of docs/METHOD.md.

use crate::{Bounded, Metric, Phase, SystemCost};

/// 100,000 operations a second for 10 s, of which the devices write 800 bytes each.
fn phase() -> Phase {
    let figure = |name: &str, value| (Metric::from_name(name).unwrap(), Bounded::exact(value));
    Phase {
        duration_s: 10.0,
        operations: 1_000_000,
        figures: [
            figure("host_write_bytes_per_op", 800.0),
            figure("space_amplification", 1.25),
        ]
        .into(),
        ..Phase::default()
    }
}

/// A drive of 4 TB for 400, rated for 7,000 TB, that draws 20 W.
fn drive() -> SystemCost {
    SystemCost {
        price: Some(400.0),
        kwh_price: Some(0.25),
        pue: 1.5,
        rated_tbw: Some(7_000.0),
        capacity: Some(4_000_000_000_000),
        device_watts: Some(20.0),
        ..SystemCost::default()
    }
}

fn value(phase: &Phase, cost: &SystemCost, name: &str) -> Option<f64> {
    let mut phase = phase.clone();
    phase.set_stated_figures(cost);
    phase.figure(name)
}

#[test]
fn every_stated_figure_is_as_computed_by_hand() {
    for (name, expected) in [
        ("device_joules_per_million_ops", 200.0),
        ("ops_per_device_watt", 5_000.0),
        // 80 MB/s are 6.912 TB a day.
        ("drive_writes_per_day", 1.728),
        // 80 MB/s are 2,524.608 TB a year.
        ("life_years", 2.772_707),
        // 1.803297 drives, and 876.6 kWh at 0.375.
        ("cost_of_ownership", 721.319 + 328.725),
        // In 157,788,000 s.
        ("cost_per_million_ops", 6.654_762e-5),
        // 4 TB hold 3.2 TB of values.
        ("cost_per_usable_tb", 125.0),
    ] {
        let found = value(&phase(), &drive(), name).unwrap();
        assert!((found / expected - 1.0).abs() < 1e-5, "{name}: {found}");
    }
}

#[test]
fn a_figure_without_its_key_or_sensor_is_absent() {
    let without = |change: fn(&mut SystemCost), name| {
        let mut cost = drive();
        change(&mut cost);
        value(&phase(), &cost, name)
    };
    assert_eq!(without(|c| c.rated_tbw = None, "life_years"), None);
    assert_eq!(without(|c| c.capacity = None, "drive_writes_per_day"), None);
    assert_eq!(without(|c| c.capacity = None, "cost_per_usable_tb"), None);
    assert_eq!(without(|c| c.price = None, "cost_of_ownership"), None);
    // Energy has a price, but no sensor and no data sheet says how much is used.
    assert_eq!(
        without(|c| c.device_watts = None, "cost_of_ownership"),
        None
    );
    let without_energy = without(
        |c| (c.kwh_price, c.device_watts, c.rated_tbw) = (None, None, None),
        "cost_of_ownership",
    );
    assert_eq!(without_energy, Some(400.0));
}

#[test]
fn a_sensor_takes_precedence_over_the_data_sheet() {
    let mut phase = phase();
    let watts = Metric::from_name("device_watts").unwrap();
    phase.figures.insert(watts, Bounded::exact(10.0));
    assert_eq!(
        value(&phase, &drive(), "ops_per_device_watt"),
        Some(10_000.0)
    );
    let server = Metric::from_name("server_watts").unwrap();
    phase.figures.insert(server, Bounded::exact(100.0));
    assert_eq!(drive().paid_watts(&phase).unwrap().0, 100.0);
}

#[test]
fn a_drive_that_outlives_the_years_is_bought_once() {
    let cost = SystemCost {
        rated_tbw: Some(70_000.0),
        kwh_price: None,
        ..drive()
    };
    assert_eq!(value(&phase(), &cost, "cost_of_ownership"), Some(400.0));
}

#[test]
fn a_rented_system_costs_its_hours() {
    let cost = SystemCost {
        price_per_hour: Some(0.36),
        years: 1.0,
        ..SystemCost::default()
    };
    // A million operations take 10 s.
    let per_million = value(&phase(), &cost, "cost_per_million_ops").unwrap();
    assert!((per_million - 0.001).abs() < 1e-12, "{per_million}");
}

#[test]
fn figures_that_follow_from_the_plan_are_not_kept() {
    let mut phase = phase();
    let kept = phase.figures.clone();
    phase.set_stated_figures(&drive());
    assert!(phase.figures.len() > kept.len());
    assert_eq!(phase.kept_figures(), kept);
}
