//! Verdicts over several studies, and the conditions in which they differ.

use super::*;

/// Runs of both, half of them in one study, half in the other.
fn halves() -> [Data; 2] {
    let mut first = study(&[FAST, SLOW]);
    let mut second = study(&[FAST, SLOW]);
    first.points.retain(|p| p.key.repeat <= 2);
    second.points.retain(|p| p.key.repeat > 2);
    for point in &mut second.points {
        point.key.repeat -= 2;
    }
    [first, second]
}

#[test]
fn runs_of_two_studies_are_enough_together_and_the_narrower_band_counts() {
    let [first, mut second] = halves();
    assert!(said("summary", &first).contains("that takes 4 runs"));
    second.headers[0].settings.report.equivalence = Some(0.25);
    let merged = |half: &Data| Data::merged(vec![first.clone(), half.clone()]);
    let summary = said("summary", &merged(&second));
    assert!(
        summary.contains("by 20 %") && summary.contains("larger than 3 %"),
        "{summary}"
    );
    second.headers[0].settings.report.equivalence = Some(0.01);
    assert!(said("summary", &merged(&second)).contains("larger than 1 %"));
}

fn kernel(release: &str) -> Fact {
    Fact {
        system: None,
        group: "kernel".into(),
        name: "release".into(),
        value: release.into(),
    }
}

#[test]
fn conditions_that_differ_are_a_finding_beside_the_headline_and_in_a_table() {
    let study_on = |release: &str, title: &str| {
        let mut data = study(&[FAST]);
        data.headers[0].title = title.into();
        data.facts.push(kernel(release));
        data
    };
    let merged = Data::merged(vec![study_on("6.1", "old"), study_on("6.18", "new")]);
    let summary = said("summary", &merged);
    let remark = "Besides what is compared, fast (kernel release 6.1) and fast (kernel release 6.18) differ in \
                  kernel release (6.1 against 6.18), which may explain part of the results.";
    assert!(summary.contains(remark), "{summary}");
    let table = &tables("findings", &merged)[0];
    let titles: Vec<&str> = table.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Condition",
            "fast (kernel release 6.1)",
            "fast (kernel release 6.18)"
        ]
    );
    let row: Vec<&str> = table.rows[0]
        .cells
        .iter()
        .map(|c| c.text.as_str())
        .collect();
    assert_eq!(row, ["kernel release", "6.1", "6.18"]);
    let body = html::body(&merged);
    assert!(body.contains("id=\"finding-unequal-conditions\""));
    assert!(
        body.contains("The conditions differ: <strong>kernel release 6.1 against 6.18</strong>.")
    );
}

#[test]
fn what_differs_between_any_number_of_systems_is_one_table() {
    let mut data = study(&[FAST, SLOW, Runs("third", SLOW.1)]);
    for (system, cache) in data.systems.iter_mut().zip(["1GiB", "2GiB", "1GiB"]) {
        system.settings.insert("cache_size".into(), cache.into());
    }
    let merged = Data::merged(vec![data.clone()]);
    let table = &tables("findings", &merged)[0];
    let titles: Vec<&str> = table.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(titles, ["Condition", "fast", "slow", "third"]);
    let rows: Vec<Vec<&str>> = table
        .rows
        .iter()
        .map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect())
        .collect();
    assert_eq!(rows, [["cache_size", "1GiB", "2GiB", "1GiB"]]);
    assert!(said("summary", &merged).contains("the systems differ in cache size, which"));
    for system in &mut data.systems {
        system.settings.clear();
    }
    assert!(tables("findings", &Data::merged(vec![data])).is_empty());
}

#[test]
fn two_devices_of_a_study_are_unequal_in_their_settings_alone() {
    let mut data = study(&[FAST, SLOW]);
    let merged = Data::merged(vec![data.clone()]);
    assert!(
        merged.unequal_pairs().is_empty(),
        "{:?}",
        merged.unequal_pairs()
    );
    data.systems[0]
        .settings
        .insert("cache_size".into(), "1GiB".into());
    data.systems[1]
        .settings
        .insert("cache_size".into(), "2GiB".into());
    let resized = Data::merged(vec![data]);
    let pairs = resized.unequal_pairs();
    let said: Vec<String> = pairs[0].unequal.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["cache_size 1GiB against 2GiB"]);
}

/// A study file with this data.
pub(super) fn stored(data: &Data, dir: &Path) -> PathBuf {
    let study = Study::create(dir, &data.headers[0], &data.systems).unwrap();
    for point in &data.points {
        study.add_point(point).unwrap();
    }
    dir.to_owned()
}

#[test]
fn two_studies_have_the_same_verdicts_in_a_report_and_by_compare() {
    const X: [f64; 5] = [1_000.0, 1_060.0, 970.0, 1_040.0, 1_030.0];
    const Y: [f64; 5] = [2_000.0, 2_010.0, 1_990.0, 2_005.0, 1_995.0];
    let faster = X.map(|ops| ops * 1.06);
    let faster = Box::leak(Box::new([
        faster[1], faster[0], faster[3], faster[2], faster[4],
    ]));
    let before = study(&[Runs("x", &X), Runs("y", &Y), Runs("z", &Y)]);
    let mut now = study(&[Runs("x", faster), Runs("y", &Y), Runs("z", &Y)]);
    now.headers[0].title = "Now".into();
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let paths = [&now, &before].into_iter().zip(&dirs);
    let paths: Vec<PathBuf> = paths.map(|(data, dir)| stored(data, dir.path())).collect();
    let compared = |system: Option<&str>| {
        let request = VerdictsRequest {
            study: paths[0].clone(),
            baseline_study: Some(paths[1].clone()),
            system: system.map(str::to_owned),
            metrics: vec![Metric::OPS_PER_SEC, Metric::from_name("p99 read").unwrap()],
            ..VerdictsRequest::default()
        };
        let document = Verdicts::new(&request).unwrap().document();
        let all = document["comparisons"].as_array().unwrap().clone();
        let is_x = |row: &Value| row["a"].as_str().unwrap().starts_with("x in ");
        all.into_iter().filter(is_x).collect::<Vec<_>>()
    };
    let all = compared(None);
    assert_eq!(all, compared(Some("x")), "whichever system is asked for");
    let find = |place: &str, metric: &str| {
        let is_it =
            |row: &&Value| row["place"] == place && row["metric"] == metric && row["threads"] != 4;
        all.iter().find(is_it).unwrap()
    };
    let rows = tables("against", &now.against(&before).unwrap())
        .remove(0)
        .rows;
    let of_x = rows.iter().filter(|row| row.cells[0].text == "x");
    let changes: Vec<&Cell> = of_x.map(|row| row.cells.last().unwrap()).collect();
    assert_eq!(changes.len(), 2);
    for (cell, row) in changes
        .into_iter()
        .zip([find("peak", "ops_per_sec"), find("point", "p99 read")])
    {
        let [p, adjusted] = ["p", "p_adjusted"].map(|name| row[name].as_f64().unwrap());
        assert!(adjusted > p && adjusted < 1.0, "{row}");
        assert_eq!(cell.hint, format!("p {p:.4}, adjusted {adjusted:.4}"));
        let verdict = row["verdict"].as_str().unwrap();
        let adjusted = if p < 0.05 && adjusted >= 0.05 {
            " among "
        } else {
            ""
        };
        // What only the number of comparisons leaves open is not significant.
        let verdict = if adjusted.is_empty() {
            verdict
        } else {
            "not significant"
        };
        let ends = [&format!("{verdict}{adjusted}"), " comparisons"];
        let parts = &ends[..1 + usize::from(!adjusted.is_empty())];
        assert!(
            parts.iter().all(|part| cell.detail.contains(*part)),
            "{cell:?} {row}"
        );
        assert!(
            cell.detail.ends_with(parts[parts.len() - 1]),
            "{cell:?} {row}"
        );
    }
    let points = find("point", "p99 read");
    let [p, adjusted] = ["p", "p_adjusted"].map(|name| points[name].as_f64().unwrap());
    // Two points of each of three systems: these two have the lowest p, times 6 and 5.
    assert!((4.99..6.01).contains(&(adjusted / p)), "{points}");
}
