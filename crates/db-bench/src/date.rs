//! Dates in db_bench's format, in local time.

use jiff::Zoned;

/// `Sat Nov 21 11:02:03 2026`: the C library's form.
pub fn long() -> String {
    Zoned::now().strftime("%a %b %e %H:%M:%S %Y").to_string()
}

/// `2026/11/21-11:02:03`: RocksDB's form.
pub fn short() -> String {
    Zoned::now().strftime("%Y/%m/%d-%H:%M:%S").to_string()
}
