//! Whether RocksDB was built with io_uring: `./dev` states how it was built.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rocksdb_io_uring)");
    println!("cargo::rerun-if-env-changed=ROCKSDB_BUILD");
    if std::env::var("ROCKSDB_BUILD").is_ok_and(|build| build.contains("io_uring")) {
        println!("cargo::rustc-cfg=rocksdb_io_uring");
    }
}
