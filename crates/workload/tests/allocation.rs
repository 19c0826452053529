//! Drawing operations leaves the allocator alone.
#![expect(unsafe_code, reason = "an allocator that counts is one")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::Arc,
};
use tailmark_driver::{DataSet, Schema};
use tailmark_workload::{DISTRIBUTIONS, KeySpace, Stream, StreamConfig, WORKLOADS};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn drawing_an_operation_allocates_nothing() {
    let fields = vec!["field0".into(), "field1".into()];
    for row in WORKLOADS {
        for distribution in DISTRIBUTIONS {
            let config = StreamConfig {
                workload: Arc::new(row.workload().with_distribution(distribution.default)),
                group: 0,
                data: DataSet {
                    schema: Schema {
                        table: "usertable".into(),
                        fields: Vec::clone(&fields),
                    },
                    records: 1_000,
                    field_length: 1_000,
                },
                keys: Arc::new(KeySpace::new(1_000, 1_000)),
                seed: 1,
                client: 0,
                operations: Some(10_000),
                write_all_fields: true,
                compressibility: 0.5,
            };
            let mut stream = Stream::new(&config).expect("a valid configuration");
            let before = COUNT.get();
            assert!(before > 0, "allocations are counted");
            for _ in 0..10_000 {
                std::hint::black_box(stream.next_item());
                stream.acknowledge();
            }
            assert_eq!(COUNT.get(), before, "{} {}", row.name, distribution.name);
        }
    }
}
