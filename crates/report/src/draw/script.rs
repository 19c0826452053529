//! ECharts in an embedded JavaScript engine (QuickJS): draws the charts of the page without a
//! browser, from the same options by the same script.

use super::font;
use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};
use serde::Deserialize;
use serde_json::{Value, json};
use tailmark_model::script_json;

const ECHARTS: &str = include_str!(concat!(env!("OUT_DIR"), "/echarts.min.js"));
const FUNCTIONS: &str = include_str!("../chart/functions.js");
const PICTURE: &str = include_str!("picture.js");

/// The script asks for these when it is loaded. Nothing is animated, so nothing waits.
const TIMERS: &str = "globalThis.setTimeout = () => 0; globalThis.clearTimeout = () => {};";

/// The stack for the script, bytes. The main thread has 8 MiB, other threads 2 MiB.
const STACK_BYTES: usize = 1 << 20;

/// The engine with its scripts; it draws one chart after another.
pub struct Script {
    context: Context,
}

/// A drawing of the engine.
#[derive(Debug, Deserialize)]
pub struct EngineDrawing {
    /// The SVG.
    pub svg: String,
    /// In pixels: the requested height, plus what the legend needs.
    pub height: f32,
}

impl Script {
    /// Loads the scripts.
    ///
    /// # Errors
    /// If the engine fails.
    pub fn load() -> Result<Self, String> {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_max_stack_size(STACK_BYTES);
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        let family = format!("const FONT = {};", json!(font::FAMILY));
        context.with(|ctx| {
            let measure = Function::new(ctx.clone(), |text: String, font: String| {
                font::css_width(&text, &font)
            });
            let measure = measure.map_err(|error| error.to_string())?;
            let global = ctx.globals();
            global
                .set("measure", measure)
                .map_err(|error| error.to_string())?;
            // Only what has been declared by `var` or `globalThis` is seen by the next script otherwise.
            [TIMERS, ECHARTS, FUNCTIONS, &family, PICTURE]
                .into_iter()
                .try_for_each(|script| evaluate::<()>(&ctx, script))
        })?;
        Ok(Self { context })
    }

    /// Draws an option with this width and height in pixels.
    ///
    /// # Errors
    /// If the script fails.
    pub fn draw(
        &self,
        base: &Value,
        variant: &Value,
        size: (f32, f32),
    ) -> Result<EngineDrawing, String> {
        let chart = json!({"base": base, "variant": variant}).to_string();
        let chart = script_json(&chart).into_owned();
        let text = self.context.with(|ctx| {
            let picture: Function<'_> = evaluate(&ctx, "picture")?;
            let drawn = picture.call((chart, size.0, size.1));
            drawn.catch(&ctx).map_err(|error| error.to_string())
        });
        let text: String = text?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }
}

fn evaluate<'js, T: rquickjs::FromJs<'js>>(ctx: &Ctx<'js>, script: &str) -> Result<T, String> {
    let value = ctx.eval(script);
    value.catch(ctx).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart;
    use tailmark_testing::HOSTILE_NAMES;

    #[test]
    fn names_that_every_object_has_are_drawn() {
        let script = Script::load().unwrap();
        for name in HOSTILE_NAMES {
            let series = |own: &str| json!({"type": "bar", "name": own, "data": [1]});
            let mut option = chart::base();
            option["xAxis"] = json!({"type": "category", "data": ["1"]});
            option["yAxis"] = json!({"type": "value"});
            option["legend"] = json!({"selected": {*name: true, "other": true}});
            option["series"] = json!([series(name), series("other")]);
            let drawn = script.draw(&option, &json!({}), (400.0, 300.0));
            assert!(
                drawn.is_ok_and(|drawn| drawn.svg.contains(">other<")),
                "{name:?}"
            );
        }
    }

    #[test]
    fn a_name_of_several_lines_is_one_line_of_a_legend() {
        let mut option = chart::base();
        option["xAxis"] = json!({"type": "category", "data": ["1"]});
        option["yAxis"] = json!({"type": "value"});
        option["series"] = json!([{"type": "bar", "name": "one\n\ntwo", "data": [1]}]);
        let script = Script::load().unwrap();
        let drawn = script.draw(&option, &json!({}), (400.0, 300.0)).unwrap();
        assert!(drawn.svg.contains(">one two<"), "{}", drawn.svg);
    }

    #[test]
    fn between_two_points_a_curve_is_drawn_as_it_is_read() {
        let script = Script::load().unwrap();
        let drawn: String = script.context.with(|ctx| {
            let bent = "{ const option = { series: [{ type: 'line', data: [[10, 1], [20, 4]] }] }; \
                        charts.bent(option); JSON.stringify(option.series[0].data); }";
            evaluate(&ctx, bent).unwrap()
        });
        let points: Vec<Value> = serde_json::from_str(&drawn).unwrap();
        // Halfway the latency is the geometric mean of its ends, without a mark.
        let halfway = &points[points.len() / 2];
        let [x, y] = [0, 1].map(|at| halfway["value"][at].as_f64().unwrap());
        assert!((x - 15.0).abs() < 1e-9 && (y - 2.0).abs() < 1e-9, "{drawn}");
        let marked = points.iter().filter(|point| point["symbol"] != "none");
        assert_eq!(marked.count(), 2, "{drawn}");
    }
}
