/* How readers want to see the charts: light or dark, which threads, which scale, and as numbers. Options go through
   here on their way to the page; those in the file stay as they are. */
const viewOf = function (all) {
  'use strict';

  const { dark, figures } = all;
  const state = { theme: 'light', scale: 'log', along: 'rate', threads: Infinity, hidden: new Set() };

  const list = (value) => (Array.isArray(value) ? value : value ? [value] : []);
  const { valueOf } = charts;

  const isLatency = (base) => !Array.isArray(base.yAxis) && base.yAxis && base.yAxis.type === 'log';
  const tipOf = (base) => String((base.tooltip || {}).formatter).split(' ')[0];
  const isCurve = (base) => base.xAxis && base.xAxis.type === 'value' && tipOf(base) === '@curve';
  const isByThreads = (base) => base.xAxis && base.xAxis.name === 'threads';

  const bases = Object.values(figures).flatMap((figure) => figure.charts).map((chart) => chart.base);
  if (bases.some((base) => base.latencyAxis === 'linear')) { state.scale = 'linear'; }

  /* Every thread count that a chart has, ascending. */
  const counts = (function () {
    const all = new Set();
    Object.values(figures).flatMap((figure) => figure.charts).forEach((chart) => {
      if (isByThreads(chart.base)) {
        chart.base.xAxis.data.map(Number).filter(Number.isFinite).forEach((n) => all.add(n));
      }
    });
    return Array.from(all).sort((a, b) => a - b);
  }());

  /* The threads of one of the data of a curve: those of an error bar stand behind all else. */
  const threadsOf = (series, value) => (series.type === 'custom' ? value[6] : value[2]);

  const upTo = (option, base) => {
    const labels = isByThreads(base) ? base.xAxis.data : [];
    const count = labels.filter((label) => !(Number(label) > state.threads)).length;
    if (isByThreads(option)) { option.xAxis.data = labels.slice(0, count); }
    list(option.series).forEach((series) => {
      series.data = series.data.filter((item, i) => {
        const value = valueOf(item);
        if (tipOf(base) !== '@curve') { return series.type === 'custom' ? value[0] < count : i < count; }
        return !Array.isArray(value) || !(threadsOf(series, value) > state.threads);
      });
    });
  };

  /* A curve against threads, where it was against ops/s. */
  const alongThreads = (option, base) => {
    if (option.xAxis) {
      const labels = counts.filter((n) => n <= state.threads).map(String);
      Object.assign(option.xAxis, { type: 'category', name: 'threads', data: labels });
      delete option.xAxis.axisLabel.formatter;
    }
    list(option.series).forEach((series) => {
      series.data.forEach((item) => {
        const value = valueOf(item);
        if (!Array.isArray(value)) { return; }
        value[0] = String(threadsOf(series, value));
        if (series.type === 'custom') { value[2] = value[0]; value[3] = value[0]; }
      });
      if (series.label) { series.label.show = false; }
    });
  };

  const recoloured = (value) => {
    if (Array.isArray(value)) { return value.map(recoloured); }
    if (value !== null && typeof value === 'object') {
      Object.keys(value).forEach((key) => {
        if (key !== 'value') { value[key] = recoloured(value[key]); }
      });
      return value;
    }
    return typeof value === 'string' && dark[value] ? dark[value] : value;
  };

  /* The base of a chart, or what is merged into it, as the reader wants it. */
  const adapted = (option, base, isOnPaper, view) => {
    const own = charts.named(option, view);
    if ((base.paperAxis || state.scale) === 'linear' && isLatency(base) && own.yAxis) { charts.linear(own); }
    if (state.threads < Infinity && (isByThreads(base) || isCurve(base))) { upTo(own, base); }
    if (state.along === 'threads' && isCurve(base)) { alongThreads(own, base); }
    if ((base.paperAxis || state.scale) === 'linear' && isCurve(base) && isLatency(base)) { charts.bent(own); }
    if (state.theme === 'dark' && !isOnPaper) {
      recoloured(own);
      if (own.tooltip) {
        Object.assign(own.tooltip, {
          backgroundColor: dark.tooltip, borderColor: dark['#aab2bd'], textStyle: { color: dark['#1d2733'] },
        });
      }
    }
    return own;
  };

  /* Those of a heat map: a row for each of its rows. */
  const tileNumbers = (data, columns, rows) =>
    [['workload'].concat(columns)].concat(rows.map((row, y) => [row].concat(columns.map((_, x) => {
      const tile = data.find((value) => value[0] === x && value[1] === y);
      return tile ? charts.tileText(tile) + 'X' : '–';
    }))));

  /* The numbers of a chart as rows of a table, the first with its titles. */
  const numbers = (chart, base) => {
    const option = chart.getOption();
    const ways = list(option.yAxis).map((axis) => axis.axisLabel.formatter);
    const tiles = option.series.find((s) => s.id === 'tiles');
    if (tiles) { return tileNumbers(tiles.data, option.xAxis[0].data, option.yAxis[0].data); }
    const series = option.series.filter((s) => s.type !== 'custom');
    const shown = series.filter((s) => (option.legend || [])
      .every((legend) => (legend.selected || {})[s.name] !== false));
    const x = option.xAxis[0];
    const rows = new Map();
    if (x.type === 'category') { x.data.forEach((label) => rows.set(String(label), [])); }
    const byThreads = isCurve(base) && x.type === 'value';
    shown.forEach((s, column) => s.data.forEach((item, i) => {
      const value = valueOf(item);
      if (value === null || value === undefined || !charts.isMarked(item)) { return; }
      const is2d = Array.isArray(value);
      /* Points of a curve are known by their threads: no two systems have the same ops/s. */
      const isRun = tipOf(base) === '@run';
      const key = byThreads ? String(value[2]) : isRun ? value[0] + ', run ' + value[2]
        : String(is2d ? value[0] : x.data[i]);
      const write = charts.full(ways[s.yAxisIndex || 0]);
      const least = item.atLeast && item.atLeast[0] ? '≥ ' : '';
      const y = is2d ? value[1] : value;
      if (y === null || y === undefined) { return; }
      const text = byThreads ? charts.full('rate')(value[3]) + ' ops/s, ' + least + write(y) : least + write(y);
      if (!rows.has(key)) { rows.set(key, []); }
      rows.get(key)[column] = text;
    }));
    const keys = Array.from(rows.keys()).filter((key) => rows.get(key).length > 0);
    if (x.type !== 'category') { keys.sort((a, b) => Number(a) - Number(b)); }
    const head = [byThreads ? 'threads' : x.name || 'workload'].concat(shown.map((s) => s.name));
    const written = tipOf(base) === '@percentile' ? charts.nines : (key) => key;
    return [head].concat(keys.map((key) => [written(key)].concat(shown.map((_, i) => rows.get(key)[i] || '–'))));
  };

  const colour = (light) => (state.theme === 'dark' && dark[light]) || light;

  /* Of the switches those that some chart follows. */
  const follows = { threads: counts.length > 1, along: bases.some(isCurve), scale: bases.some(isLatency) };

  return { colour: colour, follows: follows, figures: figures, state: state, counts: counts, adapted: adapted, numbers: numbers };
};
