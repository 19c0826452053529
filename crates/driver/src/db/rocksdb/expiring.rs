//! Whether RocksDB would remove records of another program's database once it is open for writing: by
//! FIFO compaction, or by a compaction filter.
//!
//! RocksDB reads more forms of an option than are read here. So an options file may leave these
//! options out, repeat the database's own, or write them in the plain form. Anything else is refused.

use super::ini::{Ini, OptionsSection, key};
use std::collections::BTreeMap;

/// The age after which a FIFO family loses its records, seconds.
pub(super) const TTL: &str = "ttl";
/// The option that chooses FIFO compaction.
const STYLE: &str = "compaction_style";
const FIFO: &str = "kCompactionStyleFIFO";
const STYLES: [&str; 4] = [
    "kCompactionStyleLevel",
    "kCompactionStyleUniversal",
    FIFO,
    "kCompactionStyleNone",
];
/// The option that has the limits of FIFO compaction, before version 6 also the age.
const LIMITS: &str = "compaction_options_fifo";
/// The bytes above which it removes the oldest tables, and RocksDB's default.
const SIZE: &str = "max_table_files_size";
const SIZE_BY_DEFAULT: u64 = 1 << 30;
/// Limits that take precedence over it.
const OTHER_SIZES: [&str; 2] = ["max_data_files_size", "use_kv_ratio_compaction"];
/// Options that choose which records a compaction leaves out.
const FILTERS: [&str; 2] = ["compaction_filter", "compaction_filter_factory"];

/// Why a family of another program must not be opened for writing with an options file. `None` if
/// RocksDB removes nothing.
pub(super) fn reason(family: &str, theirs: &Ini, given: Option<&Ini>) -> Option<String> {
    let unclear = given.and_then(|file| unclear(family, theirs, file));
    unclear.or_else(|| expires(family, theirs, given))
}

/// Why it is not known how RocksDB reads the options of a family, or which records a filter drops.
fn unclear(family: &str, theirs: &Ini, file: &Ini) -> Option<String> {
    let lines: Vec<&String> = file.all_lines(OptionsSection::Family, family).collect();
    let set = |name: &str| file.value(OptionsSection::Family, family, name);
    let own = |name: &str| theirs.value(OptionsSection::Family, family, name);
    for name in [STYLE, LIMITS, TTL].into_iter().chain(FILTERS) {
        let nested = format!("{name}.");
        let times = lines.iter().filter(|line| key(line) == name).count();
        if times > 1 || lines.iter().any(|line| key(line).starts_with(&nested)) {
            return Some(format!(
                "the options file sets `{name}` of its column family `{family}` several times or in \
                 parts; set it once, whole"
            ));
        }
    }
    for name in FILTERS {
        let value = set(name).filter(|value| !["", "nullptr"].contains(value));
        if let Some(value) = value.filter(|value| own(name) != Some(value)) {
            return Some(format!(
                "the options file gives its column family `{family}` the {name} `{value}`, which \
                 would remove records; leave it out, or use a copy"
            ));
        }
    }
    let style = set(STYLE).filter(|style| !STYLES.contains(style))?;
    Some(format!(
        "the options file gives its column family `{family}` the {STYLE} `{style}`, but it must be one \
         of {}",
        STYLES.join(", ")
    ))
}

/// Why FIFO compaction would remove records: tables that are older than a limit, or above a size. An
/// options file may turn the age limit off, but not set FIFO compaction or a lower size.
fn expires(family: &str, theirs: &Ini, given: Option<&Ini>) -> Option<String> {
    let set = |name| given.and_then(|file| file.value(OptionsSection::Family, family, name));
    let own_limits = theirs.value(OptionsSection::Family, family, LIMITS);
    let own_ttl = fifo_ttl(theirs, family);
    let is_fifo = set(STYLE).map_or(own_ttl.is_some(), |style| style == FIFO);
    if !is_fifo {
        return None;
    }
    let Some(own_ttl) = own_ttl else {
        return Some(format!(
            "its column family `{family}` does not use FIFO compaction, and with it RocksDB would \
             remove records; leave `{STYLE}` as it is, or use a copy"
        ));
    };
    let given_limits = set(LIMITS).filter(|text| Some(*text) != own_limits);
    let known = given_limits.map(limits);
    if let (Some(text), Some(None)) = (given_limits, &known) {
        return Some(format!(
            "the options file gives its column family `{family}` the {LIMITS} `{text}`, but it must be \
             like `{{{SIZE}={SIZE_BY_DEFAULT};{TTL}=0;}}`, each name once"
        ));
    }
    let changed = known.flatten();
    let file_ttl = changed.as_ref().and_then(|limits| limits.get(TTL).copied());
    let ttl = set(TTL)
        .or(file_ttl)
        .map_or(Some(own_ttl), |ttl| ttl.parse().ok());
    if ttl != Some(0) {
        let age = ttl.map_or_else(|| "an unknown number of".to_owned(), |ttl| ttl.to_string());
        return Some(format!(
            "its column family `{family}` keeps records for {age} s (FIFO compaction with `{TTL}`): once \
             it is open for writing, RocksDB removes older ones; use a copy, or set `{TTL}=0` of that \
             family in an options file"
        ));
    }
    let changed = changed?;
    let own_limits = own_limits.map_or_else(|| Some(BTreeMap::new()), limits);
    let size = |limits: &BTreeMap<&str, &str>| -> Option<u64> {
        let bytes = limits.get(SIZE);
        bytes.map_or(Some(SIZE_BY_DEFAULT), |bytes| bytes.parse().ok())
    };
    let value = |limits: &BTreeMap<&str, &str>, name: &str| {
        let value = limits.get(name).copied().unwrap_or_default();
        let is_off = ["0", "false"].contains(&value);
        if is_off {
            String::new()
        } else {
            value.to_owned()
        }
    };
    let kept = own_limits
        .as_ref()
        .and_then(|kept| Some((kept, size(kept)?)));
    let is_same =
        |name: &&str| kept.is_some_and(|(kept, _)| value(kept, name) == value(&changed, name));
    let other = OTHER_SIZES.into_iter().find(|name| !is_same(name));
    let (Some((_, kept_bytes)), None) = (kept, other) else {
        let name = other.unwrap_or(LIMITS);
        return Some(format!(
            "the options file changes `{name}` of its column family `{family}` (FIFO compaction), with \
             which RocksDB could remove records; leave it as it is, or use a copy"
        ));
    };
    let is_lower = size(&changed).is_none_or(|bytes| bytes < kept_bytes);
    is_lower.then(|| {
        format!(
            "its column family `{family}` keeps {kept_bytes} bytes (FIFO compaction), and with a lower \
             `{SIZE}` RocksDB would remove records; use a copy"
        )
    })
}

/// How long a FIFO family keeps records, seconds; 0: for ever. `None` for any other family. Before
/// version 6 the limit was a part of `compaction_options_fifo`. Without a limit RocksDB would now
/// remove all tables older than 30 days.
pub(super) fn fifo_ttl(theirs: &Ini, family: &str) -> Option<u64> {
    let value = |name| theirs.value(OptionsSection::Family, family, name);
    if value(STYLE) != Some(FIFO) {
        return None;
    }
    let older = value(LIMITS).and_then(limits);
    let older = older.and_then(|limits| limits.get(TTL).copied());
    let ttl = value(TTL).or(older);
    Some(ttl.and_then(|ttl| ttl.parse().ok()).unwrap_or(0))
}

/// The limits in `{max_table_files_size=1073741824;ttl=0;}`. `None` of a text in another form.
fn limits(text: &str) -> Option<BTreeMap<&str, &str>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut all = BTreeMap::new();
    for part in inner.split(';').filter(|part| !part.trim().is_empty()) {
        let (name, value) = part.split_once('=')?;
        let is_plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_plain(name) || !is_plain(value) || all.insert(name, value).is_some() {
            return None;
        }
    }
    Some(all)
}
