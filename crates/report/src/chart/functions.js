/* What options of charts name by `@`: ways to write a value, shapes, and what a pointer over a mark shows. The page
   has them, and so has the engine that draws charts without a browser. */
const charts = (function () {
  'use strict';

  /* How values are written. Latencies come in microseconds. */
  const digits = (v) => (v >= 99.95 ? v.toFixed(0) : v >= 9.995 ? v.toFixed(1) : v.toFixed(2));
  const trimmed = (v) => String(parseFloat(v.toPrecision(3)));
  const grouped = (v) => Math.round(v).toLocaleString('en-US');
  const scaled = (v, steps) => {
    const step = steps.find((s) => v >= s[0]) || steps[steps.length - 1];
    return [v / step[1], step[2]];
  };
  const TIMES = [[1e6, 1e6, 's'], [1e3, 1e3, 'ms'], [1, 1, 'us'], [0, 1e-3, 'ns']];
  const COUNTS = [[1e9, 1e9, 'G'], [1e6, 1e6, 'M'], [1e3, 1e3, 'k'], [0, 1, '']];
  const BYTES = [[1e9, 1e9, 'GB/s'], [1e6, 1e6, 'MB/s'], [1e3, 1e3, 'kB/s'], [0, 1, 'B/s']];
  const number = (params) =>
    params !== null && typeof params === 'object' ? Number(params.value) : Number(params);

  const write = {
    latency: (v) => { const [n, unit] = scaled(v, TIMES); return trimmed(n) + ' ' + unit; },
    rate: (params) => {
      const [n, unit] = scaled(number(params), COUNTS);
      return trimmed(n) + unit;
    },
    bandwidth: (v) => { const [n, unit] = scaled(v, BYTES); return trimmed(n) + ' ' + unit; },
    percent: (v) => trimmed(v) + ' %',
    /* A name on one line, as legends have room for. */
    name: (text) => String(text).replace(/\s+/g, ' '),
  };
  const full = {
    latency: (v) => { const [n, unit] = scaled(v, TIMES); return digits(n) + ' ' + unit; },
    rate: (v) => (v < 99.95 ? v.toFixed(1) : grouped(v)),
    bandwidth: (v) => { const [n, unit] = scaled(v, BYTES); return digits(n) + ' ' + unit; },
    percent: (v) => v.toFixed(1) + ' %',
  };

  const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ENTITIES[c]);
  const table = (title, rows) =>
    '<b>' + escaped(title) + '</b><table class="tip">' + rows.map((row) =>
      '<tr><td>' + (row[2] || '') + escaped(row[0]) + '</td><td>' + row[1] + '</td></tr>'
    ).join('') + '</table>';
  const between = (low, high, how, least) =>
    low === undefined ? ''
      : ' (' + sign(least, 1) + how(low) + ' – ' + sign(least, 2) + how(high) + ')';
  /* Before a latency that is a lower bound. */
  const sign = (least, which) => (least && least[which] ? '≥ ' : '');

  /* What a tooltip says. */
  const tips = {
    curve: (params, before) => {
      const offered = Array.isArray(before) ? before : [];
      const [, latency, threads, ops, opsLow, opsHigh, low, high] = params.value;
      const least = params.data && params.data.atLeast;
      const rows = [
        ['ops/s', full.rate(ops) + between(opsLow, opsHigh, full.rate)],
        ['latency', sign(least, 0) + full.latency(latency)
          + between(low, high, full.latency, least)],
      ];
      if (least) { rows.push(['≥', 'operations were never done']); }
      if (params.data && params.data.itemStyle) {
        rows.push(['hollow', 'fewer than 100 samples beyond']);
      }
      const title = params.seriesName + ', ' + threads + (threads === 1 ? ' thread' : ' threads');
      return table(title, offered.concat(rows));
    },
    offered: (params) =>
      tips.curve(params, [['offered', full.rate(params.value[0]) + ' ops/s']]),
    bars: (list) => {
      const shown = list.filter((p) => p.seriesType !== 'custom' && typeof p.value === 'number');
      if (shown.length === 0) { return ''; }
      const threads = /^\d+$/.test(shown[0].name);
      const title = threads ? shown[0].name + ' thread' + (shown[0].name === '1' ? '' : 's')
        : shown[0].name;
      /* The error bar of a bar is in a series of the same name. */
      const around = (p) => {
        const bar = list.find((c) => c.seriesType === 'custom' && c.seriesName === p.seriesName
          && c.value && c.value[0] === p.dataIndex);
        return bar ? between(bar.value[1], bar.value[2], full.rate) : '';
      };
      return table(title, shown.map((p) =>
        [p.seriesName, full.rate(p.value) + ' ops/s' + around(p), p.marker]));
    },
    timeline: (list) => {
      const units = ['rate', 'latency', 'bandwidth', 'rate', 'percent'];
      const rows = list
        .filter((p) => p.value && p.value[1] !== null && p.value[1] !== undefined)
        .sort((a, b) => a.axisIndex - b.axisIndex || a.seriesIndex - b.seriesIndex)
        .map((p) => [p.seriesName, full[units[p.axisIndex]](p.value[1]), p.marker]);
      return rows.length === 0 ? '' : table('at ' + list[0].axisValue.toFixed(1) + ' s', rows);
    },
  };

  /* A line with a bar at either end: an error bar. */
  const whisker = (from, to, style) => {
    const across = from[0] === to[0] ? [4, 0] : [0, 4];
    const bar = (p) => ({
      type: 'line', style: style,
      shape: { x1: p[0] - across[0], y1: p[1] - across[1], x2: p[0] + across[0], y2: p[1] + across[1] },
    });
    return [
      { type: 'line', style: style, shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] } },
      bar(from), bar(to),
    ];
  };
  const stroke = (api) => ({ stroke: api.visual('color'), lineWidth: 1.2, fill: null });
  const shapes = {
    spread: (params, api) => {
      const at = (x, y) => api.coord([api.value(x), api.value(y)]);
      const across = api.value(2) === api.value(3) ? [] : whisker(at(2, 1), at(3, 1), stroke(api));
      return { type: 'group', children: across.concat(whisker(at(0, 4), at(0, 5), stroke(api))) };
    },
    bar_spread: (params, api) => {
      const place = api.barLayout({
        count: api.value(4), barMaxWidth: 46, barGap: '12%', barCategoryGap: '28%',
      })[api.value(3)];
      const at = (dimension) => {
        const point = api.coord([api.value(0), api.value(dimension)]);
        return [point[0] + place.offsetCenter, point[1]];
      };
      return { type: 'group', children: whisker(at(1), at(2), stroke(api)) };
    },
  };

  /* Puts functions in the place of their names. */
  const named = (value, key) => {
    if (Array.isArray(value)) { return value.map((item) => named(item, key)); }
    if (value !== null && typeof value === 'object') {
      const copy = {};
      Object.keys(value).forEach((k) => { copy[k] = named(value[k], k); });
      return copy;
    }
    if (typeof value === 'string' && value.charAt(0) === '@') {
      if (key === 'formatter') { return tips[value.slice(1)] || write[value.slice(1)] || value; }
      if (key === 'renderItem') { return shapes[value.slice(1)]; }
    }
    return value;
  };

  /* How a value is written with all its digits, by its axis: what writes there, or its name. */
  const fully = (of) => full[Object.keys(write).find((name) => name === of || write[name] === of)]
    || ((v) => String(v));

  return { named: named, full: fully, escaped: escaped };
}());
