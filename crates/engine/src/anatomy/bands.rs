//! From the sums and the kept requests of a kind to its bands.

use super::{
    leaders::{Leaders, WORK},
    sums::Sums,
    taken::TakenApart,
};
use tailmark_driver::Part;
use tailmark_model::{
    AnatomyKind,
    anatomy::{BAND_QUANTILES, BAND_REQUESTS_MIN, Band, Request},
};

/// The requests of a kind, with all parts.
#[derive(Debug)]
pub struct KindFound {
    timed: u64,
    bands: Vec<BandFound>,
    slowest: Vec<TakenApart>,
    sample: Vec<TakenApart>,
}

#[derive(Debug)]
struct BandFound {
    above: f64,
    up_to: f64,
    requests: f64,
    ns: [f64; Part::COUNT],
    /// Its response times, nanoseconds.
    from_ns: f64,
    to_ns: f64,
}

/// What was found of a kind. Waits in write groups are charged to what their leaders did.
pub fn kind_of(
    sums: &Sums,
    mut slowest: Vec<TakenApart>,
    mut sample: Vec<TakenApart>,
    leaders: &Leaders,
) -> KindFound {
    let mut bands = bands(sums);
    let mut charged = vec![([0.0; WORK.len()], 0.0); bands.len()];
    for taken in slowest.iter_mut().chain(&mut sample) {
        let waited = taken.parts.part_ns(Part::WriteGroup) as f64;
        let work = leaders.charge(taken);
        let response = taken.response() as f64;
        let own = bands
            .iter()
            .rposition(|band| band.from_ns <= response && response <= band.to_ns);
        if let Some(own) = own {
            let (to_work, all) = &mut charged[own];
            *all += waited;
            for (sum, ns) in to_work.iter_mut().zip(work) {
                *sum += ns as f64;
            }
        }
    }
    // Those that are not kept whole waited for the same, on average.
    for (band, (work, waited)) in bands.iter_mut().zip(charged) {
        if waited > 0.0 {
            let in_groups = band.ns[Part::WriteGroup as usize];
            for (part, ns) in WORK.iter().zip(work) {
                let share = in_groups * ns / waited;
                band.ns[*part as usize] += share;
                band.ns[Part::WriteGroup as usize] -= share;
            }
        }
    }
    sample.sort_by_key(|taken| taken.sent);
    KindFound {
        timed: sums.count(),
        bands,
        slowest,
        sample,
    }
}

/// The bands between the quantiles beyond which there are enough requests.
fn bands(sums: &Sums) -> Vec<BandFound> {
    let count = sums.count() as f64;
    let is_enough = |above: &f64| count * (1.0 - above) >= BAND_REQUESTS_MIN as f64 - 1e-6;
    let starts = std::iter::once(0.0).chain(BAND_QUANTILES);
    let starts: Vec<f64> = starts.filter(is_enough).collect();
    let ends = starts.iter().skip(1).copied().chain([1.0]);
    let band = |(above, up_to): (&f64, f64)| band(sums, (*above, up_to), count);
    starts.iter().zip(ends).map(band).collect()
}

/// All requests whose rank is between two quantiles. A bucket that is only partly in it counts in
/// part.
fn band(sums: &Sums, (above, up_to): (f64, f64), count: f64) -> BandFound {
    let (first, last) = (above * count, up_to * count);
    let mut found = BandFound {
        above,
        up_to,
        requests: 0.0,
        ns: [0.0; Part::COUNT],
        from_ns: 0.0,
        to_ns: f64::MAX,
    };
    let mut before = 0.0;
    for (start, end, bucket) in sums.iter() {
        let own = bucket.count as f64;
        let width = end as f64 - start as f64;
        let at = |rank: f64| start as f64 + width * (rank - before) / own;
        let overlap = (last.min(before + own) - first.max(before)).max(0.0);
        if (before..before + own).contains(&first) && above > 0.0 {
            found.from_ns = at(first);
        }
        if (before..before + own).contains(&last) && up_to < 1.0 {
            found.to_ns = at(last);
        }
        found.requests += overlap;
        for (sum, ns) in found.ns.iter_mut().zip(&bucket.ns) {
            *sum += *ns as f64 * overlap / own;
        }
        before += own;
    }
    found
}

impl KindFound {
    /// Whether any request has a part.
    pub fn has(&self, part: Part) -> bool {
        let mut requests = self.slowest.iter().chain(&self.sample);
        part == Part::Rest
            || self.bands.iter().any(|band| band.ns[part as usize] >= 1.0)
            || requests.any(|taken| taken.parts.part_ns(part) > 0)
    }

    /// With these parts, in this order, and the number of requests that were lost.
    pub fn into_model(self, lost: u64, parts: &[Part]) -> AnatomyKind {
        let band = |band: BandFound| Band {
            above: band.above,
            up_to: band.up_to,
            requests: band.requests.round() as u64,
            ns: parts
                .iter()
                .map(|part| band.ns[*part as usize].max(0.0).round() as u64)
                .collect(),
        };
        let request = |taken: TakenApart| Request {
            due: taken.due,
            sent: taken.sent,
            done: taken.done,
            client: taken.client,
            key: taken.key,
            ns: parts
                .iter()
                .map(|part| taken.parts.part_ns(*part))
                .collect(),
            blocks: taken.parts.blocks,
            cache_hits: taken.parts.cache_hits,
        };
        AnatomyKind {
            timed: self.timed,
            lost,
            bands: self.bands.into_iter().map(band).collect(),
            slowest: self.slowest.into_iter().map(request).collect(),
            sample: self.sample.into_iter().map(request).collect(),
        }
    }
}
