//! How RocksDB was built, as `./dev` states it, and a function of its C++ interface that its C
//! interface lacks.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rocksdb_io_uring)");
    println!("cargo::rustc-check-cfg=cfg(rocksdb_contexts)");
    println!("cargo::rerun-if-env-changed=ROCKSDB_BUILD");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("ROCKSDB_BUILD").is_ok_and(|build| build.contains("io_uring")) {
        println!("cargo::rustc-cfg=rocksdb_io_uring");
    }
    #[cfg(feature = "rocksdb")]
    contexts();
}

/// Compiles `contexts.cc`, if the headers of the RocksDB that is linked are known.
#[cfg(feature = "rocksdb")]
fn contexts() {
    const SOURCE: &str = "src/db/rocksdb/contexts.cc";
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-env-changed=DEP_ROCKSDB_INCLUDE");
    let headers = std::env::var_os("DEP_ROCKSDB_INCLUDE").map(std::path::PathBuf::from);
    let is_there = |path: &std::path::PathBuf| path.join("rocksdb/iostats_context.h").is_file();
    let Some(headers) = headers.filter(is_there) else {
        return;
    };
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .file(SOURCE)
        .include(headers)
        .compile("tailmark_rocksdb_contexts");
    println!("cargo::rustc-cfg=rocksdb_contexts");
}
