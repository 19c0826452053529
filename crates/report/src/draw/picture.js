/* Draws one chart for paper: nobody points at it, chooses in it or turns the pages of its legend. `measure` comes
   from the program, so that text is measured in the font that draws it. */
const picture = (function () {
  'use strict';

  echarts.setPlatformAPI({ measureText: (text, font) => ({ width: measure(text, font) }) });

  const list = (value) => (Array.isArray(value) ? value : value ? [value] : []);

  /* What is hidden at first, and shown by a click on its name, is left out. */
  const withoutHidden = (chart) => {
    const legends = [chart.base, chart.variant].flatMap((option) => list(option.legend));
    const selected = Object.assign({}, ...legends.map((legend) => legend.selected));
    [chart.base, chart.variant].filter((option) => option.series).forEach((option) => {
      option.series = option.series.filter((s) => selected[s.name] !== false);
    });
  };

  return (text, width, height) => {
    const chart = JSON.parse(text);
    withoutHidden(chart);
    if ([chart.base, chart.variant].some((option) => option.paperAxis === 'linear')) {
      [chart.base, chart.variant].filter((option) => option.yAxis).forEach(charts.linear);
      charts.bent(chart.variant);
    }
    const view = echarts.init(null, null, {
      renderer: 'svg', ssr: true, width: width, height: height,
    });
    /* Drawn once all is known. */
    view.setOption(charts.named(chart.base, view), { notMerge: true, lazyUpdate: true });
    view.setOption(charts.named(chart.variant, view), { lazyUpdate: true });
    const placed = charts.unfolded(view.getOption(), width, Infinity);
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
