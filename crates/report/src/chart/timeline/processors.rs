//! Processor load of the clients' machine and, separately, of the hosts of servers.

use super::{
    Panel, TimelineLine, TimelineLines,
    samples::{sum, thinned},
};
use crate::style;
use std::collections::BTreeSet;
use tailmark_model::{Series, SeriesKind};

/// Seconds and values.
type Samples = Vec<(f64, f64)>;

/// Whether a series belongs to the processors of a server's host.
pub(super) fn is_of_server(series: &Series) -> bool {
    is_of_machine(series) && series.server().is_some()
}

fn is_of_machine(series: &Series) -> bool {
    series.probe == "cpu" && series.own_subject() == "machine"
}

/// The time of all processors of one machine at each instant, busy or not.
struct Time<'s> {
    series: Vec<&'s Series>,
    all: Samples,
}

impl<'s> Time<'s> {
    /// The times of the clients' machine, or of a server's host.
    fn new(series: &'s [Series], server: Option<&str>) -> Self {
        let is_time = |one: &&Series| one.kind == SeriesKind::Counter && one.name.ends_with("_s");
        let own = series
            .iter()
            .filter(|one| is_of_machine(one) && one.server() == server);
        let times: Vec<_> = own.filter(is_time).collect();
        let all = sum(times.iter().copied());
        Self { series: times, all }
    }

    /// The sum of what begins with one of these names.
    fn named(&self, names: &[&str]) -> Samples {
        let is_named = |one: &&&Series| names.iter().any(|name| one.name.starts_with(name));
        sum(self.series.iter().filter(is_named).copied())
    }

    /// The share of a part, percent.
    fn share(&self, part: &[(f64, f64)]) -> Samples {
        let both = part.iter().zip(&self.all);
        let both = both.filter(|(_, (_, whole))| *whole > 0.0);
        both.map(|((at, v), (_, whole))| (*at, (100.0 * v / whole).clamp(0.0, 100.0)))
            .collect()
    }

    /// The share that is not idle.
    fn busy(&self) -> Samples {
        let still = self.named(&["idle", "iowait"]);
        let both = self.all.iter().zip(&still);
        let busy: Samples = both.map(|(all, idle)| (all.0, all.1 - idle.1)).collect();
        self.share(&busy)
    }

    /// The share that waits for I/O.
    fn waiting(&self) -> Samples {
        self.share(&self.named(&["iowait"]))
    }
}

impl TimelineLines<'_> {
    /// Shares of all processors' time: everything that is not idle on the machine, and this
    /// process.
    pub(super) fn processors(&mut self, series: &[Series]) {
        let machine = Time::new(series, None);
        let process = series
            .iter()
            .filter(|s| s.probe == "process" && (s.name == "user_s" || s.name == "system_s"));
        let process = machine.share(&sum(process));
        for (name, values, color) in [
            ("machine", machine.busy(), style::MUTED),
            ("this process", process, self.color),
            ("waiting for I/O", machine.waiting(), "#f2ae0e"),
        ] {
            self.of_processors(Panel::Processor, name, color, &[], &values);
        }
    }

    /// The same for each host of a server: everything that is not idle, and dashed the wait for
    /// I/O.
    pub(super) fn servers(&mut self, series: &[Series]) {
        let of_servers = series.iter().filter(|one| is_of_server(one));
        let servers: BTreeSet<&str> = of_servers.filter_map(Series::server).collect();
        for (i, server) in servers.into_iter().enumerate() {
            let (time, panel) = (Time::new(series, Some(server)), Panel::ServerProcessor);
            let color = style::look(i).color;
            self.of_processors(panel, server, color, &[], &time.busy());
            let name = format!("{server} waiting for I/O");
            self.of_processors(panel, &name, color, &[3, 3], &time.waiting());
        }
    }

    fn of_processors(
        &mut self,
        panel: Panel,
        name: &str,
        color: &str,
        dash: &'static [u32],
        values: &[(f64, f64)],
    ) {
        if !values.is_empty() {
            self.lines.push(TimelineLine {
                panel,
                name: name.to_owned(),
                color: color.to_owned(),
                width: 1.5,
                dash,
                area: false,
                data: thinned(self.start_s, values),
            });
        }
    }
}
