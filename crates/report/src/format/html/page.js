/* Draws the figures of the page and follows its controls. */
(function () {
  'use strict';

  const figures = JSON.parse(document.getElementById('figures').textContent);
  const drawn = [];

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
  };
  const full = {
    latency: (v) => { const [n, unit] = scaled(v, TIMES); return digits(n) + ' ' + unit; },
    rate: (v) => (v < 99.95 ? v.toFixed(1) : grouped(v)),
    bandwidth: (v) => { const [n, unit] = scaled(v, BYTES); return digits(n) + ' ' + unit; },
    percent: (v) => v.toFixed(1) + ' %',
  };

  const escaped = (text) => {
    const span = document.createElement('span');
    span.textContent = text;
    return span.innerHTML;
  };
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

  const selects = (figure) => Array.from(figure.querySelectorAll('.controls select'));

  /* Which variant is chosen: the last control runs fastest. */
  const chosen = (figure) => selects(figure).reduce(
    (index, select) => index * select.options.length + select.selectedIndex, 0);

  /* A legend of more than the two lines that it has room for is turned page by page. */
  const fitLegend = (view) => {
    const { legend, series } = view.getOption();
    const names = Array.from(new Set(series.map((s) => s.name)));
    const length = names.reduce((sum, name) => sum + 44 + 6.5 * name.length, 0);
    if (legend && legend[0].type === 'plain' && length > 2 * view.getWidth()) {
      view.setOption({ legend: Object.assign({}, legend[0], { type: 'scroll' }) });
    }
  };

  const draw = (figure) => {
    const index = chosen(figure);
    drawn.filter((d) => d.figure === figure).forEach((d) => {
      const variant = d.chart.variants.length === 1 ? 0 : index;
      const patch = d.chart.variants[variant];
      d.element.classList.toggle('empty', !patch);
      if (d.variant === variant) { return; }
      d.variant = variant;
      d.view.clear();
      if (patch) {
        d.view.setOption(named(d.chart.base), true);
        d.view.setOption(named(patch));
        fitLegend(d.view);
      }
    });
  };

  /* The same choice everywhere: who wants p99.9 wants it of all workloads. */
  const follow = (changed) => {
    const label = changed.options[changed.selectedIndex].text;
    document.querySelectorAll('.figure').forEach((figure) => {
      selects(figure)
        .filter((s) => s !== changed && s.dataset.key === changed.dataset.key)
        .forEach((s) => {
          const at = Array.from(s.options).findIndex((o) => o.text === label);
          if (at >= 0) { s.selectedIndex = at; }
        });
      draw(figure);
    });
  };

  document.querySelectorAll('.figure').forEach((figure) => {
    figure.querySelectorAll('.chart').forEach((element) => {
      const chart = figures[figure.id].charts[Number(element.dataset.chart)];
      const view = echarts.init(element, null, { renderer: 'svg' });
      drawn.push({ figure: figure, element: element, chart: chart, view: view, variant: -1 });
    });
    selects(figure).forEach((s) => s.addEventListener('change', () => follow(s)));
    draw(figure);
  });

  /* On paper the width is that of the page, whatever the window has. */
  const PAPER = { wide: 650, half: 300 };
  const isWide = (d) => d.element.parentNode.classList.contains('wide');
  const toWindow = () => drawn.forEach((d) => d.view.resize({ width: 'auto' }));
  const toPaper = () => drawn.forEach((d) =>
    d.view.resize({ width: isWide(d) ? PAPER.wide : PAPER.half }));
  addEventListener('resize', toWindow);
  addEventListener('beforeprint', toPaper);
  addEventListener('afterprint', toWindow);

  /* A link to a finding opens it; paper has all of them open. */
  const unfold = (within) => within.querySelectorAll('details').forEach((d) => { d.open = true; });
  const unfoldTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.matches('.finding')) { target.open = true; }
  };
  addEventListener('hashchange', unfoldTarget);
  addEventListener('beforeprint', () => unfold(document.getElementById('findings') || document));
  unfoldTarget();

  /* Marks in the contents what is being read. */
  const links = new Map(Array.from(document.querySelectorAll('.contents a'))
    .map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
  const targets = Array.from(links.keys()).map((id) => document.getElementById(id)).filter(Boolean);
  const mark = () => {
    let current = targets[0];
    targets.forEach((t) => { if (t.getBoundingClientRect().top < 120) { current = t; } });
    links.forEach((a, id) => a.classList.toggle('here', Boolean(current) && id === current.id));
  };
  addEventListener('scroll', mark, { passive: true });
  mark();

  document.documentElement.dataset.charts = String(drawn.length);
}());
