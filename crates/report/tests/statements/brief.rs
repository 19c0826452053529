//! What stands on the pages of a brief besides the statements.

use crate::support::{A, B, C, Curve, assert_said, cards, headline, one, study, tables};
use std::{collections::BTreeSet, path::PathBuf};
use tailmark_model::{
    Fact, LatencyAxis, Logo, PlanValue, Role, Scope,
    finding::{CLIENT_SATURATED, LENGTH_UNKNOWN},
};
use tailmark_report::{Block, Data, write};
use tailmark_testing::assert_says;

/// The text of the brief in HTML, without its tags.
pub fn page(name: &str, data: &Data) -> (String, String, PathBuf) {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&dir).unwrap();
    write("brief", data, &dir).unwrap();
    let html = std::fs::read_to_string(dir.join("brief.html")).unwrap();
    let (_, body) = html.split_once("<body>").unwrap();
    let (body, _) = body.split_once("<script").unwrap();
    let mut text = String::new();
    let mut is_text = true;
    for c in body.chars() {
        match c {
            '<' => {
                is_text = false;
                text.push(' ');
            }
            '>' => is_text = true,
            c if is_text && !('\u{2066}'..='\u{2069}').contains(&c) => text.push(c),
            _ => {}
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    (words.join(" "), html, dir)
}

#[test]
fn the_first_page_has_the_peaks_of_all_workloads_with_their_thread_counts() {
    let (text, ..) = page(
        "brief-peaks",
        &study(&[("ycsb-a", &[A, B]), ("ycsb-c", &[A, B])]),
    );
    assert!(text.contains("YCSB A 400 at 32 250 at 32 +60 %"), "{text}");
    // With a single workload its own table says so.
    let (single, ..) = page("brief-peak", &one(&[A, B]));
    assert!(!single.contains("400 at 32 250 at 32"), "{single}");
}

#[test]
fn of_three_systems_the_table_has_the_difference_from_the_nearest_if_it_fits() {
    let (text, ..) = page("brief-three", &one(&[A, B, C]));
    assert_says(
        &text,
        &[
            "Threads A B C over B A B C over B",
            "32 400 250 130 +60 % 3.00 ms 21.0 ms 22.0 ms 7.0X lower",
        ],
    );
    let long = |curve: Curve| Curve("Competitor-with-a-very-long-name", curve.1);
    let (wide, ..) = page("brief-three-wide", &one(&[A, long(B), C]));
    assert!(!wide.contains("C over Competitor"), "{wide}");
}

#[test]
fn the_letters_of_findings_are_explained_on_the_first_page() {
    let mut data = one(&[A, B]);
    for point in &mut data.points {
        point.phase.findings.push(CLIENT_SATURATED.finding("Busy."));
    }
    let (text, ..) = page("brief-letters", &data);
    let legend = "Client saturated a : see Findings at the end.";
    assert_eq!(text.matches(legend).count(), 1, "{text}");
    let (without, ..) = page("brief-no-letters", &one(&[A, B]));
    assert!(!without.contains("see Findings"), "{without}");
}

#[test]
fn a_curve_of_a_ceiling_says_what_that_is_and_a_system_without_a_mark_is_not_in_its_legend() {
    let mut data = study(&[("ycsb-a", &[A, B]), ("ycsb-c", &[A, B, C])]);
    let hint = "ceiling: the bare device with the same requests";
    assert!(!page("brief-no-ceiling", &data).0.contains(hint));
    let names = |of: &Data, workload: usize| -> Vec<String> {
        let figures = crate::support::blocks("workloads", of).into_iter();
        let mut figures = figures.filter_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            _ => None,
        });
        let figure = figures.nth(workload).unwrap();
        let variant = figure
            .initial_variant(&figure.charts[0])
            .unwrap()
            .into_owned();
        let series = variant["series"].as_array().unwrap().iter();
        series
            .map(|own| own["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&data, 0), ["A", "B"]);
    assert_eq!(names(&data, 1), ["A", "B", "C"]);
    data.systems[1].ceiling_for = Some("A".into());
    assert!(page("brief-ceiling", &data).0.contains(hint));
}

#[test]
fn published_counts_of_one_kind_of_requests_make_no_mix() {
    let mut data = one(&[A, B]);
    assert!(page("brief-mix", &data).0.contains("100 % read"));
    for point in &mut data.points {
        point
            .phase
            .findings
            .push(LENGTH_UNKNOWN.finding("Published."));
    }
    let (text, ..) = page("brief-no-mix", &data);
    assert!(!text.contains("100 % read"), "{text}");
}

#[test]
fn how_it_was_tested_names_the_preparation_and_what_was_not_tested() {
    let mut data = one(&[A, B]);
    let fact = |name: &str, value: &str| Fact {
        system: Some("A".into()),
        group: "preparation".into(),
        name: name.into(),
        value: value.into(),
    };
    data.facts = vec![
        fact("erase", "nvme format /dev/nvme0n1"),
        fact("filesystem", "mkfs.xfs -f /dev/nvme0n1"),
        fact("filesystem found", "xfs"),
        fact(
            "emulate",
            "mkdir -p /var/lib/tailmark/emulated/A; qemu-storage-daemon",
        ),
    ];
    data.systems[0].driver = "sim".into();
    data.systems[1].driver = "rocksdb".into();
    let planned = [
        ("system.A.prepare.erase", "format"),
        ("system.A.prepare.filesystem", "xfs"),
        ("system.A.emulate", "volume, size = 1000000000, iops = 3000"),
        ("system.B.emulate", "volume, size = 1000000000, iops = 1000"),
    ];
    let role = Role::Scope(Scope::Preparation);
    data.headers[0].plan = planned
        .map(|(key, value)| (key.to_owned(), PlanValue::new(value, role)))
        .into();
    let (text, ..) = page("brief-method", &data);
    for expected in [
        "Preparation device erased (format), file system made (xfs), device emulated (1.00 GB, \
         3,000 requests/s)",
        "Database A: simulated: the plan says how long a request takes; B: rocksdb",
        "Threads 4, 8, 16, 32; not tested beyond 32",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn assumed_settings_are_words_that_stand_once_and_so_are_keys_that_all_workloads_draw() {
    let mut data = study(&[("ycsb-a", &[A, B]), ("ycsb-c", &[A, B])]);
    data.headers[0].assumed = ["database.bloom_bits", "system.A.bloom_bits", "sweep.warmup"]
        .map(str::to_owned)
        .into();
    let (text, ..) = page("brief-assumed", &data);
    assert_says(
        &text,
        &[
            "Assumed bloom bits, warmup: the published study does not say",
            "; all with uniform keys Threads",
        ],
    );
}

#[test]
fn the_axis_of_a_latency_is_linear_unless_it_is_wide_or_the_report_says_log() {
    let narrow = one(&[A, B]);
    let hint = "log scale; lower and further right is better";
    let has_log = |name: &str, data: &Data| page(name, data).0.contains(hint);
    assert!(!has_log("brief-linear", &narrow));
    let mut log = narrow.clone();
    log.settings.latency_axis = Some(LatencyAxis::Log);
    assert!(has_log("brief-log", &log));
    let mut wide = narrow;
    for point in wide
        .points
        .iter_mut()
        .filter(|point| point.key.threads == 32)
    {
        let system = point.key.system.clone();
        *point = crate::support::point(&system, "ycsb-a", 32, (300.0, 900.0));
    }
    assert!(has_log("brief-wide", &wide));
}

#[test]
fn a_chosen_colour_is_no_longer_that_of_another_system() {
    let mut data = one(&[A, B]);
    let colors = |of: &Data| -> BTreeSet<String> {
        let (_, html, _) = page("brief-colors", of);
        let colors = html.split("data-color=\"").skip(1);
        colors.map(|rest| rest[..7].to_owned()).collect()
    };
    let usual = colors(&data);
    assert_eq!(usual.len(), 2, "{usual:?}");
    // That of the other one.
    data.settings.colors = [("A".to_owned(), "orange".to_owned())].into();
    let chosen = colors(&data);
    assert!(
        chosen.len() == 2 && chosen.contains("#d97d34"),
        "{chosen:?}"
    );
}

#[test]
fn what_an_import_does_not_say_of_its_keys_is_not_printed() {
    let mut data = one(&[A, B]);
    for point in &mut data.points {
        point.key.distribution = "unknown".into();
        point.phase.kinds.clear();
    }
    for system in &mut data.systems {
        system.driver = "csv (imported)".into();
    }
    let (text, ..) = page("brief-import", &data);
    assert!(!text.contains("unknown keys"), "{text}");
    assert!(text.contains("Tool not stated; results imported"), "{text}");
    // Without a latency the curve is that of ops/s.
    assert!(text.contains("Operations per second by threads"), "{text}");
}

#[test]
fn peaks_over_unlike_thread_counts_are_compared_at_those_in_common_and_it_is_said() {
    let mut data = study(&[("ycsb-a", &[A, B]), ("ycsb-c", &[A, B])]);
    // A peaks where B was never measured.
    data.points
        .retain(|point| point.key.system == "A" || point.key.threads < 32);
    let card = &cards(&data)[0];
    let compared =
        "+25 %: ops/s at peak over the thread counts in common (4 to 16 threads), A over B";
    assert!(card.starts_with(compared), "{card}");
    assert_said(
        &data,
        "At peak, A delivers 25 % more ops/s than B over the thread counts in common (4 to 16 threads): 300 \
         against 240, both at 16 threads.",
    );
    let text = headline(&data);
    let expected = "A has higher peak ops/s than B over the thread counts in common in both workloads, by 25 %.";
    assert!(text.contains(expected), "{expected}\n{text}");
    let peaks = &tables("peaks", &data)[0];
    let higher = peaks
        .columns
        .iter()
        .position(|column| column.title == "Higher");
    let higher = &peaks.rows[0].cells[higher.unwrap()];
    assert_eq!(higher.text, "A, over the thread counts in common");
    // Another peak may be the higher one.
    assert!(peaks.rows[0].cells.iter().all(|cell| !cell.strong));
    assert!(
        peaks.note.contains("over those in common"),
        "{}",
        peaks.note
    );
    // A lower system with more thread counts has had every chance.
    let whole = Curve("B", B.1);
    let mut fewer = study(&[("ycsb-a", &[A, whole])]);
    fewer
        .points
        .retain(|point| point.key.system == "B" || point.key.threads > 4);
    assert!(cards(&fewer)[0].starts_with("+60 %: ops/s at peak, A over B"));
    assert!(!headline(&fewer).contains("in common"));
}

/// A picture of 2 by 1 pixels.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAD0lEQVR42mNg8Nl1s9YEAAgkApHO2eAkAAAAAElFTkSuQmCC";

#[test]
fn the_picture_of_the_author_is_in_the_page_and_the_document() {
    let mut data = one(&[A, B]);
    let image_in_pdf = |dir: &PathBuf| {
        let bytes = std::fs::read(dir.join("brief.pdf")).unwrap();
        let mark = b"/Subtype/Image";
        let spaced = b"/Subtype /Image";
        bytes.windows(mark.len()).any(|part| part == mark)
            || bytes.windows(spaced.len()).any(|part| part == spaced)
    };
    let without = |(_, html, dir): (String, String, PathBuf)| {
        assert!(!html.contains("class=\"logo\"") && !image_in_pdf(&dir));
    };
    without(page("brief-no-logo", &data));
    let mut with = |base64: &str| {
        data.settings.logo = Some(Logo {
            path: "logo.png".into(),
            base64: base64.into(),
        });
        page("brief-logo", &data)
    };
    let (_, html, dir) = with(PICTURE);
    let expected = format!("<img class=\"logo\" alt=\"\" src=\"data:image/png;base64,{PICTURE}\">");
    assert!(html.contains(&expected));
    assert!(image_in_pdf(&dir));
    // What a foreign study calls a picture and is none is left out.
    without(with("PHNjcmlwdD4="));
}
