//! Runs work on a few threads. A report of many points is made when the machine has nothing else to
//! do.

use std::thread;

/// More threads would need more memory than they save time.
const THREADS_MAX: usize = 4;

/// What `make` makes of neighbouring items taken together, one part for each thread, in order.
pub fn of_parts<T: Sync, R: Send>(items: &[T], make: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(threads.min(THREADS_MAX)).max(1);
    let make = &make;
    thread::scope(|scope| {
        let parts = items.chunks(share);
        let all: Vec<_> = parts.map(|part| scope.spawn(move || make(part))).collect();
        let all = all.into_iter();
        all.map(|one| one.join().expect("nothing that makes a report panics"))
            .collect()
    })
}

/// What `make` makes of each item, in order.
pub fn of_each<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let parts = of_parts(items, |part| part.iter().map(&make).collect::<Vec<_>>());
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_made_once_and_in_order() {
        for count in [0, 1, 2, 7, 100] {
            let items: Vec<usize> = (0..count).collect();
            let expected: Vec<usize> = (0..count).map(|n| n * n).collect();
            assert_eq!(of_each(&items, |n| n * n), expected);
        }
    }
}
