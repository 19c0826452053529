//! What is accepted but may not be meant is a notice.

use super::plan;

fn notices(text: &str) -> Vec<String> {
    plan(text).notices().collect()
}

const SYSTEM: &str = "[[system]]\nname = 'a'\npath = '/x'\n";

#[test]
fn a_size_in_thousands_is_a_notice_with_what_it_was_read_as() {
    let text = format!(
        "[dataset]\nrecords = '100k'\nfields = 1\nfield_length = '4k'\n\
         [database]\ndriver = 'rocksdb'\nblock_size = '16K'\nblock_cache = '64MiB'\n{SYSTEM}"
    );
    assert_eq!(
        notices(&text),
        [
            "test, line 4: dataset.field_length is `4k`, read as 4,000 bytes; write `4KiB` for \
             4,096 bytes",
            "test, line 7: database.block_size is `16K`, read as 16,000 bytes; write `16KiB` for \
             16,384 bytes",
        ]
    );
    for exact in ["4KiB", "4kB", "4000"] {
        let plan_text = format!("[dataset]\nfield_length = '{exact}'\n{SYSTEM}");
        assert_eq!(notices(&plan_text), [""; 0], "{exact}");
    }
}

#[test]
fn a_workload_that_no_sweep_uses_is_a_notice() {
    let text = format!(
        "{SYSTEM}[sweep]\nworkloads = ['used']\n\
         [[workload]]\nname = 'used'\nread = 1\n[[workload]]\nname = 'mine'\nread = 1\n"
    );
    let expected = "test, line 10: workload `mine` is not used; add it to sweep.workloads";
    assert_eq!(notices(&text), [expected]);
}

#[test]
fn a_scale_of_times_that_changes_nothing_is_a_notice() {
    let with = |duration: &str, scale: &str| {
        notices(&format!(
            "time_scale = {scale}\n[sweep]\nduration = '{duration}'\nwarmup = '1s'\n\
             settle = '10s'\n{SYSTEM}"
        ))
    };
    let expected = "test, line 1: time_scale is 0.1 but changes nothing: times are not shortened \
                    to less than 10 s";
    assert_eq!(with("10s", "0.1"), [expected]);
    assert_eq!(with("5m", "0.1"), [""; 0]);
    assert_eq!(with("10s", "1.0"), [""; 0]);
}
