use super::*;
use std::{
    os::unix::fs::{PermissionsExt, symlink},
    process::Command,
};

fn contents(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    let files = files.iter();
    files
        .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().flatten();
    let names = names.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| *name != OwnFiles::LIST).collect();
    names.sort();
    names
}

fn is_refused(written: &Result<(), Error>) -> bool {
    matches!(written, Err(Error::ForeignFile { .. }))
}

#[test]
fn what_an_earlier_report_left_goes_and_what_others_put_there_stays() {
    let dir = tempfile::tempdir().unwrap();
    let svg = |files| write(dir.path(), "charts", &contents(files), &["svg"]);
    svg(&[("peaks.svg", "1"), ("load.svg", "1"), ("mine.svg", "1")]).unwrap();
    let png = contents(&[("peaks.png", "1"), ("load.png", "1")]);
    write(dir.path(), "charts", &png, &["png"]).unwrap();
    let charts = dir.path().join("charts");
    fs::write(charts.join("logo.svg"), "of others").unwrap();
    fs::write(charts.join("mine.svg"), "drawn again").unwrap();
    svg(&[("peaks.svg", "2"), ("ycsb-a.svg", "2")]).unwrap();
    let expected = [
        "load.png",
        "logo.svg",
        "mine.svg",
        "peaks.png",
        "peaks.svg",
        "ycsb-a.svg",
    ];
    assert_eq!(names(&charts), expected);
    assert_eq!(fs::read(charts.join("peaks.svg")).unwrap(), b"2");
}

#[test]
fn a_file_that_was_changed_or_replaced_is_neither_written_over_nor_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    let put = |text| write(dir.path(), "", &contents(&[("report.html", text)]), &[]);
    let [other, gone] = ["other", "gone"].map(|name| dir.path().join(name));
    let changes: [&dyn Fn(); 6] = [
        &|| fs::write(&path, "changed").unwrap(),
        &|| fs::hard_link(&path, &other).unwrap(),
        &|| {
            fs::rename(&path, &other).unwrap();
            symlink(&other, &path).unwrap();
        },
        &|| {
            fs::remove_file(&path).unwrap();
            symlink(&gone, &path).unwrap();
        },
        &|| {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
        },
        &|| {
            fs::remove_file(&path).unwrap();
            Command::new("mkfifo").arg(&path).status().unwrap();
        },
    ];
    for (i, change) in changes.iter().enumerate() {
        put("one").unwrap();
        put("two").unwrap();
        change();
        let before = fs::symlink_metadata(&path).unwrap().ino();
        assert!(is_refused(&put("three")), "{i}");
        let own = OwnFiles::read(dir.path(), "").unwrap();
        assert!(matches!(own.look("report.html"), Ok(Held::Foreign)), "{i}");
        assert_eq!(fs::symlink_metadata(&path).unwrap().ino(), before);
        if path.is_dir() {
            fs::remove_dir(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        let _ = fs::remove_file(&other);
    }
    assert!(!gone.exists());
    // What the user removed is written again.
    put("four").unwrap();
}

#[test]
fn a_file_that_was_there_first_stays_and_nothing_is_written_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("b.csv"), "mine").unwrap();
    let written = write(
        dir.path(),
        "",
        &contents(&[("a.csv", ""), ("b.csv", "")]),
        &[],
    );
    assert!(is_refused(&written));
    assert_eq!(names(dir.path()), ["b.csv"]);
    assert_eq!(fs::read(dir.path().join("b.csv")).unwrap(), b"mine");
}

#[test]
fn nothing_is_made_in_a_folder_that_is_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    symlink(other.path(), dir.path().join("charts")).unwrap();
    let files = contents(&[("peaks.svg", "")]);
    assert!(is_refused(&write(dir.path(), "charts", &files, &["svg"])));
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
    // The directory itself is the user's to name.
    let link = dir.path().join("out");
    symlink(other.path(), &link).unwrap();
    write(&link, "charts", &files, &["svg"]).unwrap();
}

#[test]
fn a_list_of_a_stranger_names_nothing_elsewhere_and_no_file_that_it_does_not_know() {
    let dir = tempfile::tempdir().unwrap();
    let (out, mine) = (dir.path().join("out"), dir.path().join("own.svg"));
    let list = out.join("charts").join(OwnFiles::LIST);
    fs::create_dir_all(out.join("charts")).unwrap();
    fs::write(&mine, "of others").unwrap();
    fs::write(out.join("charts/notes.svg"), "of others").unwrap();
    let known = hex(&Sha256::digest("of others"));
    let unknown = hex(&Sha256::digest("guessed"));
    let put = || write(&out, "charts", &contents(&[("peaks.svg", "")]), &["svg"]);
    fs::write(&list, format!("{unknown}  notes.svg\n")).unwrap();
    put().unwrap();
    for text in [
        format!("{known}  ../../own.svg\n"),
        format!("{known}  {}\n", mine.display()),
        format!("{known}  ..\n"),
        format!("{known}  .own.svg\n"),
        format!("{known}  a\u{1b}[2J.svg\n"),
        "own.svg\n".to_owned(),
        format!("{}  own.svg\n", &known[1..]),
        "\u{0}".repeat(100),
        "x".repeat(LIST_MAX as usize + 1),
    ] {
        fs::write(&list, &text).unwrap();
        assert!(is_refused(&put()), "{text}");
        assert_eq!(fs::read_to_string(&list).unwrap(), text);
    }
    fs::remove_file(&list).unwrap();
    symlink(&mine, &list).unwrap();
    assert!(is_refused(&put()));
    assert_eq!(fs::read(&mine).unwrap(), b"of others");
    assert_eq!(names(&out.join("charts")), ["notes.svg", "peaks.svg"]);
}

#[test]
fn a_kill_at_any_step_leaves_files_that_the_next_report_replaces() {
    let dir = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|text| contents(&[("a.csv", text), ("b.csv", text)]));
    write(dir.path(), "", &old, &["csv"]).unwrap();
    // As far as it came: with the list, with the first file, with both.
    for written in 0..3 {
        let mut own = OwnFiles::read(dir.path(), "").unwrap();
        own.list_all(&new).unwrap();
        own.save().unwrap();
        for (name, bytes) in new.iter().take(written) {
            own.replace(name, bytes).unwrap();
        }
        write(dir.path(), "", &old, &["csv"]).unwrap();
        assert_eq!(fs::read(dir.path().join("b.csv")).unwrap(), b"old");
        let list = fs::read_to_string(dir.path().join(OwnFiles::LIST)).unwrap();
        assert_eq!(list.lines().count(), 2, "{list}");
    }
}

#[test]
fn eight_reports_at_once_leave_one_that_is_whole_and_known() {
    let dir = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        for text in ["1", "2", "3", "4", "5", "6", "7", "8"] {
            let dir = dir.path();
            scope.spawn(move || {
                let files = contents(&[("a.csv", text), ("b.csv", text)]);
                (0..5).for_each(|_| write(dir, "tables", &files, &["csv"]).unwrap());
            });
        }
    });
    let tables = dir.path().join("tables");
    assert_eq!(names(&tables), ["a.csv", "b.csv"]);
    let [a, b] = ["a.csv", "b.csv"].map(|name| fs::read(tables.join(name)).unwrap());
    assert_eq!(a, b);
    write(dir.path(), "tables", &contents(&[("a.csv", "9")]), &["csv"]).unwrap();
    assert_eq!(names(&tables), ["a.csv"]);
}

#[test]
fn the_list_is_one_that_sha256sum_checks_and_permissions_stay() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    let put = |text| write(dir.path(), "", &contents(&[("report.html", text)]), &[]).unwrap();
    put("one");
    fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
    put("two");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o604);
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--strict", OwnFiles::LIST]);
    assert!(check.current_dir(dir.path()).status().unwrap().success());
}
