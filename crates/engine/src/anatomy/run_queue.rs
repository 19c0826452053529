//! How long a thread waited for a processor, as the kernel counts it. Throttling by a quota counts.

use std::{fs::File, os::unix::fs::FileExt};

/// The count of the thread that opened it.
#[derive(Debug)]
pub struct RunQueue(File);

impl RunQueue {
    /// That of this thread; `None` if the kernel does not count.
    pub fn of_this_thread() -> Option<Self> {
        File::open("/proc/thread-self/schedstat").ok().map(Self)
    }

    /// How long it has waited so far, nanoseconds.
    pub fn waited_ns(&self) -> u64 {
        let mut text = [0; 96];
        let length = self.0.read_at(&mut text, 0).unwrap_or_default();
        second_number(&text[..length])
    }
}

/// `<time on a processor> <time waited> <times run>`.
fn second_number(text: &[u8]) -> u64 {
    let mut words = text.split(|byte| *byte == b' ');
    let digits = words.nth(1).unwrap_or_default();
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let digits = digits.iter().map_while(digit);
    digits.fold(0, |sum, own| sum.saturating_mul(10).saturating_add(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(second_number(b"2510 123456 7\n"), 123_456);
        assert_eq!(second_number(b""), 0);
    }
}
