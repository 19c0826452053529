use super::*;
use crate::findings::tests::{in_sweep, with_context};
use tailmark_model::{Series, SeriesKind, subject_on_server};
use tailmark_plan::RawPlan;

fn counter(probe: &str, subject: &str, name: &str, rise: f64) -> Series {
    Series {
        probe: probe.to_owned(),
        subject: subject.to_owned(),
        name: name.to_owned(),
        kind: SeriesKind::Counter,
        at_s: vec![0.0, 100.0],
        values: vec![7.0, 7.0 + rise],
    }
}

fn phase(series: Vec<Series>) -> Phase {
    Phase {
        duration_s: 100.0,
        series,
        ..Phase::default()
    }
}

/// A minute of 4 processors, of which others used this share.
fn machine(others: f64) -> Vec<Series> {
    vec![
        counter("cpu", "machine", "user_s", 400.0 * (0.25 + others)),
        counter("cpu", "machine", "idle_s", 400.0 * (0.75 - others)),
        counter("process", "process", "user_s", 100.0),
        counter("process", "process", "system_s", 0.0),
        counter("power", "package-0", "energy_j", 4_000.0),
    ]
}

#[test]
fn a_sensor_beside_other_programs_covers_more_than_the_system() {
    let text = |others| {
        let text = |point: &PointContext<'_>| covers_others(point).map(|said| said.to_string());
        with_context("null", phase(machine(others)), text)
    };
    assert_eq!(text(0.02), None);
    let said = text(0.2).unwrap();
    assert!(said.starts_with("The power of processors includes other programs, which used 20 %"));
}

#[test]
fn the_clients_machine_is_not_the_databases_server() {
    let said = |series| {
        with_context("cassandra", phase(series), |point| {
            covers_others(point).is_some()
        })
    };
    // A drop-in does not know where the server is; the sensor of the server itself is right.
    assert!(!said(machine(0.0)));
    let on_server = |mut series: Series| {
        series.subject = subject_on_server(&series.subject, "db1");
        series
    };
    assert!(!said(machine(0.5).into_iter().map(on_server).collect()));
}

#[test]
fn a_counter_that_rose_by_few_steps_gives_bounds() {
    let text = |host: f64, media: f64| {
        let series = vec![
            counter("nvme-smart", "nvme0n1", "write_bytes", host),
            counter("nvme-ocp", "nvme0n1", "media_write_bytes", media),
        ];
        with_context("null", phase(series), |point| {
            coarse_counter(point).map(|said| said.to_string())
        })
    };
    // 10 steps, which may be 9 or 11.
    let said = text(5_120_000.0, 10_137_600.0).unwrap();
    let expected = "so write amplification inside the device is 1.80 to 2.20. Measure longer.";
    assert!(said.contains(expected), "{said}");
    // One step, which may be next to nothing.
    let of_one = text(512_000.0, 2_048_000.0).unwrap();
    assert!(of_one.contains("is ≥ 2.00. Measure"), "{of_one}");
    assert_eq!(text(512_000.0 * 200.0, 1e9), None);
}

#[test]
fn a_counter_that_stood_still_while_the_host_wrote_says_nothing_and_says_so() {
    let series = vec![
        counter("disk", "nvme0n1", "write_bytes", 1e9),
        counter("nvme-ocp", "nvme0n1", "media_write_bytes", 0.0),
    ];
    let said = with_context("null", phase(series), |point| {
        coarse_counter(point).map(|said| said.to_string())
    });
    let said = said.unwrap();
    assert!(
        said.contains("so values from its counter of media writes are unknown"),
        "{said}"
    );
}

#[test]
fn a_life_from_fewer_writes_than_the_capacity_says_how_few() {
    let said = |written: f64, cost: &str| {
        let text = format!("[[system]]\nname = 'a'\npath = '/a'\ncost = {{ {cost} }}");
        let plan = RawPlan::parse("test", &text).unwrap().check().unwrap();
        let series = vec![counter("disk", "nvme0n1", "write_bytes", written)];
        with_context("null", phase(series), |point| {
            let sweep = in_sweep(&plan);
            let point = PointContext {
                sweep: Some(sweep),
                ..point.clone()
            };
            life_extrapolated(&point).map(|said| said.to_string())
        })
    };
    let drive = "rated_tbw = 7000, capacity = '4TB'";
    let text = said(8e9, drive).unwrap();
    assert!(
        text.starts_with(
            "The years of life follow from 8.00 GB, 0.2 % of the capacity of 4.00 TB."
        ),
        "{text}"
    );
    assert_eq!(said(5e12, drive), None);
    assert_eq!(said(8e9, "capacity = '4TB'"), None);
}
