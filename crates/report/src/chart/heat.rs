//! How a system compares with another at every thread count of every workload, at a glance.

use super::{base, categories};
use serde_json::{Value, json};

/// Of one workload at one thread count.
#[derive(Debug, Clone, Copy)]
pub struct Tile {
    /// The column.
    pub column: usize,
    /// The row.
    pub row: usize,
    /// How many times better the first system is; below 1 it is worse.
    pub times: f64,
    /// Whether it is at least or at most so.
    pub is_bound: bool,
    /// Whether the two differ.
    pub differs: bool,
}

/// What all variants share.
pub fn option(columns: &[String], rows: &[String]) -> Value {
    let mut option = base();
    option["legend"]["show"] = false.into();
    option["grid"] = json!({"left": 12, "right": 12, "top": 8, "bottom": 26, "containLabel": true});
    option["xAxis"] = categories("threads", columns);
    option["yAxis"] = categories("", rows);
    option["yAxis"]["inverse"] = true.into();
    option["yAxis"]["axisLabel"]["width"] = 150.into();
    option["yAxis"]["axisLabel"]["overflow"] = "break".into();
    for axis in ["xAxis", "yAxis"] {
        option[axis]["axisTick"]["show"] = false.into();
    }
    option["tooltip"] = json!({"trigger": "item", "formatter": "@tile", "confine": true});
    option
}

/// The tiles of one variant.
pub fn variant(name: &str, tiles: &[Tile]) -> Value {
    let data: Vec<Value> = tiles
        .iter()
        .map(|tile| {
            // Twice as good or bad, or more, has the full colour.
            let tone = if tile.differs {
                tile.times.log2().clamp(-1.0, 1.0)
            } else {
                0.0
            };
            let rounded = |value: f64| (value * 1e3).round() / 1e3;
            json!([
                tile.column,
                tile.row,
                rounded(tile.times),
                rounded(tone),
                u8::from(tile.is_bound)
            ])
        })
        .collect();
    json!({"series": [{
        "type": "custom", "id": "tiles", "name": name, "renderItem": "@tile",
        "encode": {"x": 0, "y": 1}, "data": data,
    }]})
}
