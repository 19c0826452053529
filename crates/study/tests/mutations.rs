//! Whatever a file says, it is read or refused: results of other programs, the bytes in a study,
//! and the study itself. See `tailmark-testing` for how inputs are made and how many.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;
#[path = "inputs/imported.rs"]
mod imported;
mod inputs;

use base64::{Engine, prelude::BASE64_STANDARD};
use common::small_study;
use imported::import_as;
use inputs::{
    COLUMNS, DB_BENCH, FIGURES, FIO_CLONES, FIO_PLUS, FIO_SECTIONS, FIO_WORDS, FIRST, JSON,
    PUBLISHED, SECOND, TABLE, TAGS, WORDS, YCSB, first_encoding, histogram, line, line_and_zeros,
    log, second_encoding, tagged_log,
};
use rusqlite::{Connection, types::ValueRef};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tailmark_model::{Packed, new_latencies};
use tailmark_study::{
    FORMATS, Study,
    encoding::{decode, encode},
    import::Given,
};
use tailmark_testing::{Mutator, Trial, draw};
use tempfile::TempDir;

/// Reads the files in one format, as `tailmark import` does.
fn import(format: &str, files: &[(&str, &[u8])]) {
    import_as(format, files, &Given::default());
}

#[test]
fn lines_of_any_format_are_read_or_refused() {
    let samples = [YCSB, DB_BENCH, TABLE, PUBLISHED, FIGURES, FIO_SECTIONS];
    let lines: Vec<&str> = samples.iter().flat_map(|sample| sample.lines()).collect();
    for at in 0..2_000 {
        draw(&("lines of formats", at), |mut mutator| {
            let chosen = mutator.below(256) as u8;
            let drawn = (0..mutator.below(200)).map(|_| *mutator.one(&lines));
            let text = drawn.collect::<Vec<_>>().join("\n");
            imported::import(&[&[chosen], text.as_bytes()].concat());
        });
    }
}

#[test]
fn ycsbs_output_is_read_or_refused() {
    let trial = Trial {
        name: "ycsb output",
        samples: &[YCSB.into(), JSON.into()],
        words: WORDS,
        inputs: 3_000,
    };
    trial.run(|input| import("ycsb", &[("disk-t8.txt", input)]));
}

#[test]
fn db_benchs_output_is_read_or_refused() {
    let trial = Trial {
        name: "db_bench output",
        samples: &[DB_BENCH.into(), TABLE.into()],
        words: WORDS,
        inputs: 3_000,
    };
    trial.run(|input| import("db_bench", &[("nvme.log", input)]));
}

#[test]
fn a_table_of_published_figures_is_read_or_refused() {
    let trial = Trial {
        name: "published table",
        samples: &[PUBLISHED.into(), FIGURES.into()],
        words: COLUMNS,
        inputs: 3_000,
    };
    trial.run(|input| import("csv", &[("study.csv", input)]));
}

#[test]
fn a_histogram_log_is_read_or_refused() {
    let trial = Trial {
        name: "histogram log",
        samples: &[
            log(),
            line(FIRST, &first_encoding(3)),
            line(SECOND, &second_encoding()),
        ],
        words: WORDS,
        inputs: 3_000,
    };
    trial.run(|input| {
        import(
            "ycsb",
            &[("disk.txt", YCSB.as_bytes()), ("READ.hdr", input)],
        );
        import(
            "ycsb",
            &[("disk.txt", YCSB.as_bytes()), ("Intended-READ.hdr", input)],
        );
    });
}

#[test]
fn a_tagged_histogram_log_is_read_or_refused() {
    let trial = Trial {
        name: "tagged histogram log",
        samples: &[tagged_log(), log()],
        words: TAGS,
        inputs: 3_000,
    };
    trial.run(|input| {
        for unit_ns in [1, 1_000_000] {
            let given = Given {
                unit_ns: Some(unit_ns),
                ..Given::default()
            };
            import_as("hlog", &[("disk-t8-READ.hlog", input)], &given);
        }
    });
}

#[test]
fn fios_json_is_read_or_refused() {
    let trial = Trial {
        name: "fio json",
        samples: &[FIO_PLUS.into(), FIO_CLONES.into(), FIO_SECTIONS.into()],
        words: FIO_WORDS,
        inputs: 1_500,
    };
    trial.run(|input| import("fio", &[("nvme.json", input)]));
}

#[test]
fn an_encoded_histogram_of_a_log_is_read_or_refused() {
    let trial = Trial {
        name: "histogram in a log",
        samples: &[first_encoding(3), first_encoding(5), second_encoding()],
        words: &[],
        inputs: 1_000,
    };
    trial.run(|input| {
        for cookie in [FIRST, SECOND] {
            import(
                "ycsb",
                &[
                    ("d.txt", YCSB.as_bytes()),
                    ("READ.hdr", &line(cookie, input)),
                ],
            );
        }
        let plain = format!("0.000,1.000,1.000,{}\n", BASE64_STANDARD.encode(input));
        import(
            "ycsb",
            &[("d.txt", YCSB.as_bytes()), ("READ.hdr", plain.as_bytes())],
        );
    });
}

#[test]
fn few_bytes_of_a_log_never_stand_for_many() {
    let mut endless = first_encoding(3);
    endless[4..8].fill(0xff);
    let mut long = second_encoding();
    long[4..8].fill(0xff);
    let zeros = 256 << 20;
    let bombs = [
        line_and_zeros(FIRST, &endless, zeros),
        line(SECOND, &long),
        line_and_zeros(SECOND, &endless, zeros),
    ];
    let trial = Trial {
        name: "bombs in a log",
        samples: &bombs,
        words: &[],
        inputs: 0,
    };
    trial.run(|input| import("ycsb", &[("d.txt", YCSB.as_bytes()), ("READ.hdr", input)]));
}

#[test]
fn the_bytes_of_an_interval_are_read_or_refused() {
    let trial = Trial {
        name: "packed interval",
        samples: &[
            Packed::pack(&histogram()).as_bytes().to_vec(),
            vec![1],
            vec![1, 0xc0],
        ],
        words: &[],
        inputs: 3_000,
    };
    trial.run(|input| {
        if let Ok(packed) = Packed::from_bytes(input) {
            let count = packed.unpack().len();
            assert_eq!(Packed::pack(&packed.unpack()).unpack().len(), count);
            assert!(packed.sum(&packed).unpack().len() >= count);
        }
    });
}

#[test]
fn the_bytes_of_a_histogram_are_read_or_refused() {
    let packed = |input: &[u8]| zstd::bulk::compress(input, 1).unwrap();
    let trial = Trial {
        name: "stored histogram",
        samples: &[encode(&histogram()), encode(&new_latencies())],
        words: &[],
        inputs: 3_000,
    };
    trial.run(|input| drop(decode(input)));
    let trial = Trial {
        name: "histogram under its compression",
        samples: &[second_encoding()],
        ..trial
    };
    trial.run(|input| drop(decode(&packed(input))));
}

/// Makes studies to damage.
struct Studies {
    dir: TempDir,
    samples: Vec<Vec<u8>>,
}

impl Studies {
    fn new() -> Self {
        // In memory where that can be had: the disk would be most of the time.
        let shm = Path::new("/dev/shm");
        let dir = if shm.is_dir() {
            TempDir::new_in(shm)
        } else {
            TempDir::new()
        };
        let dir = dir.unwrap();
        // A small one: a million of it are read.
        let samples = vec![fs::read(small_study(dir.path())).unwrap()];
        Self { dir, samples }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(Study::FILE)
    }

    /// Puts a study in place.
    fn put(&self, bytes: &[u8]) {
        for left in ["-journal", "-wal", "-shm"] {
            let mut path = self.path().into_os_string();
            path.push(left);
            let _ = fs::remove_file(path);
        }
        fs::write(self.path(), bytes).unwrap();
    }

    /// Reads everything and exports some of them.
    fn read(&self, exports: bool) {
        let Ok(study) = Study::open_read_only(&self.path()) else {
            return;
        };
        let _ = (
            study.header(),
            study.systems(),
            study.facts(),
            study.notices(),
        );
        let _ = study.loads();
        if let Ok(points) = study.points() {
            for point in &points {
                for interval in point.phase.intervals.iter().flat_map(|i| i.kinds.values()) {
                    let _ = interval.service.unpack().len();
                }
                point
                    .phase
                    .series
                    .iter()
                    .for_each(|series| drop((series.rates(), series.mean_rate(9.0))));
            }
        }
        for format in FORMATS.iter().filter(|_| exports) {
            let _ = (format.write)(&study, &mut std::io::sink());
        }
    }
}

#[test]
fn a_study_with_damaged_pages_is_read_or_refused() {
    let studies = Studies::new();
    let trial = Trial {
        name: "study by pages",
        samples: &studies.samples,
        words: &[
            "CREATE TABLE x(",
            "INTEGER",
            "REAL",
            "TEXT",
            "BLOB",
            "NULL",
            "-- ",
            "WITHOUT ROWID",
        ],
        inputs: 60,
    };
    trial.run(|input| {
        studies.put(input);
        studies.read(input.len() % 64 == 0);
    });
}

/// Damages one value of one row, whatever it is; none where there is no such row.
fn damage(connection: &Connection, mutator: &mut Mutator<'_, '_>) -> rusqlite::Result<()> {
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE%'";
    let tables: Vec<String> = connection
        .prepare(names)?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let table = mutator.one(&tables).clone();
    let columns: Vec<String> = connection
        .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let column = mutator.one(&columns).clone();
    let rows: i64 =
        connection.query_row(&format!("SELECT count(*) FROM \"{table}\""), [], |row| {
            row.get(0)
        })?;
    if rows == 0 {
        return Ok(());
    }
    let offset = mutator.below(rows as usize);
    let select = format!("SELECT \"{column}\" FROM \"{table}\" LIMIT 1 OFFSET {offset}");
    let mut text = |bytes: &[u8]| mutator.mutate(&[bytes.to_vec()], &[]);
    let value: rusqlite::types::Value = connection.query_row(&select, [], |row| {
        Ok(match row.get_ref(0)? {
            ValueRef::Blob(bytes) => text(bytes).into(),
            ValueRef::Text(bytes) => String::from_utf8_lossy(&text(bytes)).into_owned().into(),
            ValueRef::Null => rusqlite::types::Value::from(i64::MAX),
            number => {
                let said = match number {
                    ValueRef::Integer(number) => number.to_string(),
                    ValueRef::Real(number) => number.to_string(),
                    _ => String::new(),
                };
                let said = String::from_utf8_lossy(&text(said.as_bytes())).into_owned();
                match (said.parse::<i64>(), said.parse::<f64>()) {
                    (Ok(whole), _) => whole.into(),
                    (_, Ok(real)) => real.into(),
                    _ => i64::MIN.into(),
                }
            }
        })
    })?;
    let update = format!(
        "UPDATE OR REPLACE \"{table}\" SET \"{column}\" = ?1 WHERE rowid =
         (SELECT rowid FROM \"{table}\" LIMIT 1 OFFSET {offset})"
    );
    connection.execute(&update, [value]).map(drop)
}

#[test]
fn a_study_with_damaged_values_is_read_or_refused() {
    let studies = Studies::new();
    // What is mutated is one value after the other; the input is where to begin.
    let seeds: Vec<_> = (0..8_u64).map(|seed| seed.to_be_bytes().to_vec()).collect();
    let trial = Trial {
        name: "study by values",
        samples: &seeds,
        words: &[],
        inputs: 60,
    };
    let read_damaged = |mut mutator: Mutator<'_, '_>| {
        studies.put(&studies.samples[0]);
        let connection = Connection::open(studies.path()).unwrap();
        connection
            .execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF")
            .unwrap();
        for _ in 0..1 + mutator.below(3) {
            let _ = damage(&connection, &mut mutator);
        }
        drop(connection);
        // So that what was damaged is read, and not only refused by its digest.
        if mutator.below(4) > 0 {
            let _ = Study::open(&studies.path()).and_then(|study| study.reseal());
        }
        studies.read(mutator.below(64) == 0);
    };
    trial.run(|input| draw(input, read_damaged));
}

#[test]
fn a_series_that_claims_to_be_huge_is_refused() {
    let studies = Studies::new();
    studies.put(studies.samples.last().unwrap());
    let connection = Connection::open(studies.path()).unwrap();
    let bomb = zstd::bulk::compress(&vec![0; 256 << 20], 1).unwrap();
    let changed = connection
        .execute("UPDATE tick SET at_s = ?1", [bomb])
        .unwrap();
    assert!(changed > 0);
    drop(connection);
    Study::open(&studies.path()).unwrap().reseal().unwrap();
    let bytes = fs::read(studies.path()).unwrap();
    let trial = Trial {
        name: "huge series",
        samples: &[bytes],
        words: &[],
        inputs: 0,
    };
    trial.run(|input| {
        studies.put(input);
        let error = Study::open(&studies.path()).unwrap().points().unwrap_err();
        assert!(
            error.to_string().contains("failed to read the study"),
            "{error}"
        );
    });
}
