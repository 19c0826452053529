//! What the processors of the servers' hosts did, drawn apart from those of the clients' machine.

use super::{
    Panel, TimelineLine, TimelineLines,
    samples::{sum, thinned},
};
use crate::style;
use std::collections::BTreeSet;
use tailmark_results::{Series, SeriesKind};

/// Whether a series is of the processors of a server's host.
pub(super) fn is_processor(series: &Series) -> bool {
    series.probe == "cpu" && series.own_subject() == "machine" && series.server().is_some()
}

impl TimelineLines<'_> {
    /// Shares of all processors' time of each host: what is not idle, and beside it, dashed, what waits
    /// for I/O.
    pub(super) fn servers(&mut self, series: &[Series]) {
        let of_servers = || series.iter().filter(|of| is_processor(of));
        let servers: BTreeSet<&str> = of_servers().filter_map(Series::server).collect();
        for (i, server) in servers.into_iter().enumerate() {
            let times = || {
                let own = of_servers().filter(move |of| of.server() == Some(server));
                own.filter(|of| of.kind == SeriesKind::Counter && of.name.ends_with("_s"))
            };
            let waiting = sum(times().filter(|of| of.name.starts_with("iowait")));
            let idle = sum(times().filter(|of| of.name.starts_with("idle")));
            let all = sum(times());
            let share = |of: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
                let whole = all
                    .iter()
                    .enumerate()
                    .filter(|(_, (_, whole))| *whole > 0.0);
                whole
                    .map(|(at, (s, whole))| (*s, (100.0 * of(at) / whole).clamp(0.0, 100.0)))
                    .collect()
            };
            let at = |of: &[(f64, f64)], at: usize| of.get(at).map_or(0.0, |(_, value)| *value);
            let busy = share(&|i| all[i].1 - at(&idle, i) - at(&waiting, i));
            let waits = share(&|i| at(&waiting, i));
            let color = style::look(i).color;
            for (name, values, dash) in [
                (server.to_owned(), busy, &[][..]),
                (format!("{server} waiting for I/O"), waits, &[3, 3][..]),
            ] {
                self.lines.push(TimelineLine {
                    panel: Panel::ServerProcessor,
                    name,
                    color: color.into(),
                    width: 1.5,
                    dash,
                    area: false,
                    data: thinned(self.start_s, &values),
                });
            }
        }
    }
}
