//! Cost against latency: what an operation costs at each client count or rate, and how long it takes.

use super::{axis, log_axis};
use crate::{
    chart::quantised::quantised,
    grid_cell::GridCell,
    sweep::{SweepTable, WorkloadGrid},
};
use serde_json::{Value, json};
use tailmark_model::Metric;

/// The part that does not depend on measurements, and a line for each system. `None` if no system
/// has two places.
pub fn lines(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    cost: Metric,
    currency: &str,
) -> Option<(Value, Value)> {
    let latency = sweep.latency_metric(group)?;
    let mark = |cell: &GridCell<'_>| {
        let (cost, us) = (cell.value(cost)?, cell.value(latency)?);
        let ops = cell.ops()?;
        let us = latency.in_unit(us.middle).value;
        Some((
            us,
            json!([
                cost.middle.value,
                quantised(us),
                cell.step.threads,
                ops.middle.round()
            ]),
        ))
    };
    let (mut all_us, mut series, mut has_line) = (Vec::new(), Vec::new(), false);
    for &system in &sweep.systems {
        let look = sweep.look(&system.name)?;
        let cells = group.cells_of(&system.name);
        let valid = cells.filter(|cell| cell.fault.is_none());
        let (us, marks): (Vec<f64>, Vec<Value>) = valid.filter_map(mark).unzip();
        has_line |= us.len() > 1;
        all_us.extend(us);
        series.push(json!({
            "type": "line", "name": system.name, "symbol": look.symbol, "symbolSize": 9,
            "itemStyle": {"color": look.color}, "lineStyle": {"color": look.color, "width": 2},
            "data": marks,
        }));
    }
    if !has_line {
        return None;
    }
    let row = latency.row();
    let mut option = super::base();
    let tip = format!("@curve latency {}", row.name);
    option["tooltip"] = json!({"trigger": "item", "formatter": tip, "confine": true});
    let title = format!("{}, {currency}", cost.row().title);
    option["xAxis"] = axis("value", &title, 28, "@figure");
    option["xAxis"]["scale"] = true.into();
    option["yAxis"] = axis("log", "latency", 62, "@latency");
    option["yAxis"]["name"] = format!("{} (log scale)", row.title).into();
    let marks = json!({"yAxis": log_axis(all_us.into_iter()), "series": series});
    Some((option, marks))
}
