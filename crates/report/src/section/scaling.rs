//! How the systems of a workload scale with their clients, in words: the Universal Scalability Law
//! fitted to each. Part of the section on workloads, as a note to its charts.

use crate::{
    Block, Text,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::number;
use tailmark_stats::scaling::{Curves, Scaling, SystemScaling};

/// One line for each system whose points follow the law; empty if there are none.
pub fn annotation(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Block> {
    let mut curves = Curves::default();
    let points = group.points();
    points.for_each(|point| {
        curves.add(point, sweep.data.allow_errors(&point.key.system));
    });
    let laws = curves.laws();
    let law = |name: &str| laws.iter().find(|law| law.system == name);
    let systems = sweep.systems.iter().chain(&sweep.ceilings);
    let said = systems.filter_map(|system| law(&system.name).map(line));
    let said = said.reduce(|all, line| all.and(" ").and_all(line))?;
    let what = Text::plain(
        "Fitted, not measured, and not compared: the Universal Scalability Law (contention sigma, \
         coherency kappa) through the points by thread count. ",
    );
    Some(Block::Text(what.and_all(said)))
}

fn line(law: &SystemScaling) -> Text {
    let Scaling {
        sigma,
        kappa,
        explained,
        ..
    } = law.scaling;
    let parameters = format!(
        ": sigma {}, kappa {}, R² {explained:.3}, {}.",
        two_digits(sigma),
        two_digits(kappa),
        peak(law)
    );
    Text::strong(&law.system).and(parameters)
}

/// The peak of the law.
fn peak(law: &SystemScaling) -> String {
    let measured = law.threads_max;
    match law.scaling.peak_threads() {
        None if law.scaling.sigma <= 0.0 => "which rises without end".to_owned(),
        None => {
            let limit = law.scaling.lambda / law.scaling.sigma;
            format!("which rises towards {}", number::ops(limit))
        }
        Some(at) if at <= f64::from(measured) => {
            format!("highest at about {}", number::threads(at.round() as u32))
        }
        // How far beyond, the points do not tell.
        Some(_) => format!(
            "highest beyond the {} that were measured",
            number::threads(measured)
        ),
    }
}

/// A parameter with two significant digits: `0.021`, `0.00053`, `0`.
fn two_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.1e}")
        .parse()
        .expect("a number that was just written");
    // Below it nothing can be told from nothing.
    if rounded < 1e-9 {
        "0".to_owned()
    } else {
        rounded.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(sigma: f64, kappa: f64, threads_max: u32) -> String {
        let law = SystemScaling {
            system: "a".into(),
            workload: "ycsb-c".into(),
            distribution: "uniform".into(),
            threads_max,
            scaling: Scaling {
                lambda: 1_000.0,
                sigma,
                kappa,
                explained: 0.998_7,
            },
        };
        line(&law).to_plain()
    }

    #[test]
    fn a_law_is_said_with_its_parameters_and_its_peak() {
        for (sigma, kappa, threads_max, expected) in [
            (
                0.040_4,
                0.000_6,
                64,
                "a: sigma 0.04, kappa 0.0006, R² 0.999, highest at about 40 threads.",
            ),
            (
                0.040_4,
                0.000_6,
                32,
                "a: sigma 0.04, kappa 0.0006, R² 0.999, highest beyond the 32 threads that were \
                 measured.",
            ),
            (
                0.123,
                0.0,
                64,
                "a: sigma 0.12, kappa 0, R² 0.999, which rises towards 8,130 ops/s.",
            ),
            (
                0.0,
                0.0,
                64,
                "a: sigma 0, kappa 0, R² 0.999, which rises without end.",
            ),
        ] {
            assert_eq!(said(sigma, kappa, threads_max), expected);
        }
    }
}
