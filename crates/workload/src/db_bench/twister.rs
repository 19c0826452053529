//! The 64-bit Mersenne Twister, which db_bench draws from: with its seeds, the same keys in the
//! same order.
//!
//! Nishimura, Matsumoto: Tables of 64-bit Mersenne Twisters (2000), with the parameters that C++
//! names `std::mt19937_64`. The state is renewed as a whole.

const N: usize = 312;
const M: usize = 156;
const UPPER: u64 = 0xffff_ffff_8000_0000;
const MATRIX: u64 = 0xb502_6f5a_a966_19e9;

/// A generator of 64 random bits at a time.
#[derive(Debug, Clone)]
pub(crate) struct Twister {
    state: Box<[u64; N]>,
    at: usize,
}

impl Twister {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        let mut twister = Self {
            state: Box::new([0; N]),
            at: N,
        };
        twister.reseed(seed);
        twister
    }

    /// Begins again with another seed.
    pub fn reseed(&mut self, seed: u64) {
        self.state[0] = seed;
        for i in 1..N {
            let before = self.state[i - 1];
            self.state[i] = (before ^ (before >> 62))
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(i as u64);
        }
        self.at = N;
    }

    /// 64 random bits.
    #[inline]
    pub fn next(&mut self) -> u64 {
        if self.at == N {
            self.renew();
        }
        let mut x = self.state[self.at];
        self.at += 1;
        x ^= (x >> 29) & 0x5555_5555_5555_5555;
        x ^= (x << 17) & 0x71d6_7fff_eda6_0000;
        x ^= (x << 37) & 0xfff7_eee0_0000_0000;
        x ^ (x >> 43)
    }

    /// The first number of another seed.
    pub fn first_of(&mut self, seed: u64) -> u64 {
        self.reseed(seed);
        self.next()
    }

    fn renew(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & UPPER) | (self.state[(i + 1) % N] & !UPPER);
            let odd = if y & 1 == 1 { MATRIX } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ten_thousandth_number_is_that_of_the_standard() {
        // ISO C++, [rand.predef]: of a default constructed mt19937_64, whose seed is 5489.
        let mut twister = Twister::new(5489);
        let last = (0..10_000).map(|_| twister.next()).last();
        assert_eq!(last, Some(9_981_545_732_273_789_042));
    }

    #[test]
    fn a_reseeded_generator_is_a_new_one() {
        let mut used = Twister::new(1);
        (0..500).for_each(|_| {
            used.next();
        });
        assert_eq!(used.first_of(7), Twister::new(7).next());
    }
}
