/* Draws one chart for paper: nobody points at it, chooses in it or turns the pages of its legend. `measure` comes
   from the program, so that text is measured in the font that draws it. */
const picture = (function () {
  'use strict';

  /* From one line of a legend to the next, pixels. */
  const LINE = 28;

  echarts.setPlatformAPI({ measureText: (text, font) => ({ width: measure(text, font) }) });

  const list = (value) => (Array.isArray(value) ? value : value ? [value] : []);
  const nameOf = (item) => (typeof item === 'string' ? item : item.name);

  /* What is hidden at first, and shown by a click on its name, is left out. */
  const withoutHidden = (chart) => {
    const legends = [chart.base, chart.variant].flatMap((option) => list(option.legend));
    const selected = Object.assign({}, ...legends.map((legend) => legend.selected));
    [chart.base, chart.variant].filter((option) => option.series).forEach((option) => {
      option.series = option.series.filter((s) => selected[s.name] !== false);
    });
  };

  /* Every name has its place in a legend: how many lines that takes, and all of how it looks. */
  const unfold = (legend, option, width) => {
    const own = list(legend.data).map(nameOf);
    const there = Array.from(new Set(option.series.map((s) => s.name)));
    const shown = own.length > 0 ? own.filter((name) => there.includes(name)) : there;
    const of = charts.legendOf(legend, shown, width);
    const unpaged = { type: 'plain', data: shown, width: of.room, itemGap: of.gap, formatter: of.formatter(false) };
    return { lines: of.lines, option: Object.assign({}, legend, unpaged) };
  };

  /* Moves what is below a legend of several lines. */
  const place = (option, width) => {
    const patch = { legend: [], grid: list(option.grid).map((g) => ({ top: g.top })),
      title: list(option.title).map((t) => ({ top: t.top })) };
    const legends = list(option.legend);
    const tops = legends.map((legend) => legend.top);
    let more = 0;
    legends.forEach((legend, i) => {
      const unfolded = unfold(legend, option, width);
      const has = legends.length === 1 && patch.grid[0] && patch.grid[0].top > 50 ? 2 : 1;
      const extra = Math.max(0, unfolded.lines - has) * LINE;
      patch.legend.push(Object.assign(unfolded.option, { top: tops[i] + more }));
      const below = (own) => own > tops[i];
      patch.grid.forEach((g, n) => { if (below(list(option.grid)[n].top)) { g.top += extra; } });
      patch.title.forEach((t, n) => { if (below(list(option.title)[n].top)) { t.top += extra; } });
      more += extra;
    });
    return { more: more, patch: patch };
  };

  return (text, width, height) => {
    const chart = JSON.parse(text);
    withoutHidden(chart);
    const view = echarts.init(null, null, {
      renderer: 'svg', ssr: true, width: width, height: height,
    });
    /* Drawn once all is known. */
    view.setOption(charts.named(chart.base, view), { notMerge: true, lazyUpdate: true });
    view.setOption(charts.named(chart.variant, view), { lazyUpdate: true });
    const placed = place(view.getOption(), width);
    view.setOption({
      animation: false, textStyle: { fontFamily: FONT }, tooltip: { show: false },
      ...placed.patch,
    }, { lazyUpdate: placed.more > 0 });
    if (placed.more > 0) { view.resize({ width: width, height: height + placed.more }); }
    const svg = view.renderToSVGString();
    view.dispose();
    return JSON.stringify({ svg: svg, height: height + placed.more });
  };
}());
