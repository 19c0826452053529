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
  /* The value of one of the data of a series, and whether it is not merely a point on a line between two. */
  const valueOf = (item) => (item !== null && typeof item === 'object' && !Array.isArray(item) ? item.value : item);
  const isMarked = (item) => !(item && item.symbol === 'none');
  const number = (params) =>
    params !== null && typeof params === 'object' ? Number(params.value) : Number(params);

  const write = {
    latency: (v) => { const [n, unit] = scaled(v, TIMES); return v === 0 ? '0' : trimmed(n) + ' ' + unit; },
    rate: (params) => {
      const [n, unit] = scaled(number(params), COUNTS);
      return trimmed(n) + unit;
    },
    bandwidth: (v) => { const [n, unit] = scaled(v, BYTES); return trimmed(n) + ' ' + unit; },
    percent: (v) => trimmed(v) + ' %',
    whole: (params) => { const v = number(params); return v < 10 ? trimmed(v) : grouped(v); },
    bytes: (v) => write.bandwidth(v).replace('/s', ''),
    figure: (params) => write.rate(params),
    /* Of an axis of nines: 3 is p99.9. */
    nines: (v) => 'p' + parseFloat((100 - 100 * Math.pow(10, -number(v))).toFixed(Math.max(0, Math.ceil(number(v)) - 1))),
    /* A name on one line, as legends have room for. */
    name: (text) => String(text).replace(/\s+/g, ' '),
  };
  const full = {
    latency: (v) => { const [n, unit] = scaled(v, TIMES); return digits(n) + ' ' + unit; },
    rate: (v) => (v < 99.95 ? v.toFixed(1) : grouped(v)),
    bandwidth: (v) => { const [n, unit] = scaled(v, BYTES); return digits(n) + ' ' + unit; },
    percent: (v) => v.toFixed(1) + ' %',
    bytes: (v) => full.bandwidth(v).replace('/s', ''),
    figure: (v) => (v < 99.95 ? digits(v) : grouped(v)),
  };

  const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ENTITIES[c]);
  /* A name may be written from right to left: what is said of it behind it stays there. */
  const table = (title, rows, more) =>
    '<b><bdi>' + escaped(title) + '</bdi>' + escaped(more || '') + '</b><table class="tip">' + rows.map((row) =>
      '<tr><td>' + (row[2] || '') + escaped(row[0]) + '</td><td>' + row[1] + '</td></tr>'
    ).join('') + '</table>';
  const between = (low, high, how, least) =>
    low === undefined ? ''
      : ' (' + sign(least, 1) + how(low) + ' to ' + sign(least, 2) + how(high) + ')';
  /* Before a value that is a lower bound. */
  const sign = (least, which) => (least && least[which] ? '≥ ' : '');

  /* A tile of a heat map: how many times better the first of a pair is. */
  const TILE = (times) => (times >= 1 ? 'as good' : 'as good: the second is better');
  const tileText = (value) => (value[4] ? '≥ ' : '') + Number(value[2]).toFixed(2);
  const mixed = (tone) => {
    const [full, part] = [tone >= 0 ? [0, 76, 186] : [217, 125, 52], Math.abs(tone)];
    const share = part === 0 ? 0 : 0.12 + 0.5 * part;
    return 'rgb(' + full.map((c) => Math.round(255 - (255 - c) * share)).join(',') + ')';
  };

  /* What a tooltip says. An option may name behind it how values are written, and what they are. */
  const tips = {
    curve: (params, how, what, offered) => {
      const written = full[how || 'latency'];
      const [, value, threads, ops, opsLow, opsHigh, low, high] = params.value;
      const least = params.data && params.data.atLeast;
      const rows = [
        ['ops/s', full.rate(ops) + between(opsLow, opsHigh, full.rate)],
        [what || 'latency', sign(least, 0) + written(value) + between(low, high, written, least)],
      ];
      if (least) { rows.push(['≥', 'operations were never done']); }
      if (params.data && params.data.itemStyle) {
        rows.push(['hollow', 'fewer than 100 samples beyond']);
      }
      const more = ', ' + threads + (threads === 1 ? ' thread' : ' threads');
      return table(params.seriesName, (offered || []).concat(rows), more);
    },
    offered: (params, how, what) =>
      tips.curve(params, how, what, [['offered', full.rate(params.value[0]) + ' ops/s']]),
    bars: (list, how) => {
      const written = how ? full[how] : (v) => full.rate(v) + ' ops/s';
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
        [p.seriesName, sign(p.data && p.data.atLeast, 0) + written(p.value) + around(p),
          p.marker]));
    },
    percentile: (params) =>
      table(params.seriesName, [[write.nines(params.value[0]), full.latency(params.value[1])]]),
    share: (params) => {
      const [from, share, to] = params.value;
      return table(params.seriesName,
        [[full.latency(from) + ' to ' + full.latency(to), share.toFixed(share < 1 ? 3 : 1) + ' % of the requests']]);
    },
    run: (params, how, what) => {
      const [step, value, repeat] = params.value;
      return table(params.seriesName, [['at', step], ['run', repeat], [what, full[how](value)]]);
    },
    tile: (params) => table(params.seriesName, [[tileText(params.value) + 'X', TILE(params.value[2])]]),
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
    tile: (params, api) => {
      const value = [0, 1, 2, 3, 4].map((i) => api.value(i));
      const [x, y] = api.coord([value[0], value[1]]);
      const [w, h] = api.size([1, 1]);
      const ground = { x: x - w / 2 + 1, y: y - h / 2 + 1, width: w - 2, height: h - 2, r: 3 };
      return { type: 'group', children: [
        { type: 'rect', shape: ground, style: { fill: mixed(value[3]), stroke: '#dfe3e8' } },
        { type: 'text', style: {
          text: tileText(value), x: x, y: y, align: 'center', verticalAlign: 'middle', fill: '#1d2733',
          fontSize: w < 44 ? 9 : 12, fontFamily: 'inherit',
        } },
      ] };
    },
    bar_spread: (params, api) => {
      const place = api.barLayout({
        count: api.value(4), barMaxWidth: 46, barGap: '12%', barCategoryGap: '28%',
      })[api.value(3)];
      const at = (dimension) => {
        const point = api.coord([api.value(0), api.value(dimension)]);
        return [point[0] + place.offsetCenter, point[1]];
      };
      /* On a light ground, because a bar may be as dark. */
      const ground = { stroke: '#fff', lineWidth: 3.2, fill: null };
      return { type: 'group', children: whisker(at(1), at(2), ground).concat(whisker(at(1), at(2), stroke(api))) };
    },
  };

  /* Where labels stand; `option` is that of the chart, `view` what draws it. Places are pixels of the whole chart. */
  const layouts = {
    /* Above its bar and the error bar on it, upright where bars are narrower than what they say. */
    bar: (option, view) => (params) => {
      const own = option.series[params.seriesIndex];
      const spread = option.series.find((s) => s.type === 'custom' && s.name === own.name);
      const item = spread && spread.data.find((value) => value[0] === params.dataIndex);
      const { x, y, width } = params.rect;
      const top = item ? Math.min(y, view.convertToPixel({ yAxisIndex: 0 }, item[2])) : y;
      const at = { x: x + width / 2, y: top - (item ? 6 : 4), hideOverlap: true };
      return 1.12 * width < BAR_LABEL ? { ...at, rotate: 90, align: 'left', verticalAlign: 'middle' }
        : { ...at, align: 'center', verticalAlign: 'bottom' };
    },
    mark: (option, view) => markLabels(option, view),
  };
  /* What a number on a bar takes, pixels: `69.5k`. */
  const BAR_LABEL = 34;

  /* Beside its mark, where it covers no other mark or label, and neither an axis nor the edge of the chart; hidden if
     there is no such place. */
  const markLabels = (option, view) => {
    const [REACH, DISTANCE, EDGE, LINE] = [5, 3, 2, { width: 62, height: 16 }];
    const grid = { xAxisIndex: 0, yAxisIndex: 0 };
    const values = (type) => option.series.filter((s) => s.type === type).flatMap((s) => s.data
      .filter(isMarked).map(valueOf).filter((value) => Array.isArray(value)));
    const pixel = (x, y) => view.convertToPixel(grid, [x, y]);
    const around = ([x, y]) => [x - REACH, y - REACH, x + REACH, y + REACH];
    const marksOf = () => values('line').map((value) => around(pixel(value[0], value[1])));
    const barsOf = () => values('custom').flatMap((value) => {
      const [x, y] = pixel(value[0], value[1]);
      const [[left, low], [right, high]] = [pixel(value[2], value[4]), pixel(value[3], value[5])];
      return [[x - REACH, high, x + REACH, low], [left, y - REACH, right, y + REACH]];
    });
    const plotOf = () => view.getModel().getComponent('grid').coordinateSystem.getRect();
    /* What is written on level lines, at their left ends. */
    const writtenOf = (plot) => option.series.flatMap((s) => (s.markLine ? s.markLine.data : []))
      .filter((line) => line.yAxis !== undefined).map((line) => {
        const y = view.convertToPixel({ yAxisIndex: 0 }, line.yAxis);
        return [plot.x, y - LINE.height, plot.x + LINE.width, y];
      });
    /* The lines themselves, so that none goes through a label. */
    const linesOf = (plot) => option.series.flatMap((s) => (s.markLine ? s.markLine.data : [])).map((line) => {
      if (line.yAxis === undefined) {
        const x = view.convertToPixel({ xAxisIndex: 0 }, line.xAxis);
        return [x - 1, plot.y, x + 1, plot.y + plot.height];
      }
      const y = view.convertToPixel({ yAxisIndex: 0 }, line.yAxis);
      return [plot.x, y - 1, plot.x + plot.width, y + 1];
    });
    /* The pieces of the curves, each from one mark to the next. */
    const curvesOf = () => option.series.filter((s) => s.type === 'line').flatMap((s) => {
      const points = s.data.map(valueOf)
        .map((value) => (Array.isArray(value) ? pixel(value[0], value[1]) : null));
      return points.slice(1).map((point, i) => [points[i], point]).filter((piece) => piece[0] && piece[1]);
    });
    /* Whether a line goes through a box (Liang and Barsky). */
    const crosses = (box, [[x1, y1], [x2, y2]]) => {
      let [from, to] = [0, 1];
      return [[x1 - x2, x1 - box[0]], [x2 - x1, box[2] - x1], [y1 - y2, y1 - box[1]], [y2 - y1, box[3] - y1]].every(([d, q]) => {
        if (d === 0) { return q > 0; }
        if (d < 0) { from = Math.max(from, q / d); } else { to = Math.min(to, q / d); }
        return from < to;
      });
    };
    const covers = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];
    let [plot, marks, bars, curves, fixed, taken, last] = [null, [], [], [], [], [], Infinity];
    return (params) => {
      /* Labels come in order: one that does not follow is the first of a new drawing. */
      const place = params.seriesIndex * 1e6 + params.dataIndex;
      if (place <= last) {
        plot = plotOf();
        [marks, bars, curves, taken] = [marksOf(), barsOf(), curvesOf(), []];
        fixed = writtenOf(plot).concat(linesOf(plot));
      }
      last = place;
      const { width, height } = params.labelRect;
      const [x, y] = [params.rect.x + params.rect.width / 2, params.rect.y + params.rect.height / 2];
      const isOwn = (box) => covers(box, [x - 1, y - 1, x + 1, y + 1]);
      const own = bars.filter(isOwn).concat([around([x, y])]);
      const end = (side, of) => of(...own.map((box) => box[side]));
      const [least, most] = [plot.x + width / 2, view.getWidth() - EDGE - width / 2];
      const middle = Math.min(Math.max(x, least), most);
      const [above, below] = [end(1, Math.min) - DISTANCE - height / 2, end(3, Math.max) + DISTANCE + height / 2];
      const [left, right] = [end(0, Math.min) - DISTANCE - width / 2, end(2, Math.max) + DISTANCE + width / 2];
      const isAbove = option.series[params.seriesIndex].label.position !== 'bottom';
      const [first, second] = isAbove ? [above, below] : [below, above];
      const near = [[middle, first], [middle, second], [right, y], [left, y], [right, first], [left, first],
        [right, second], [left, second]];
      /* Farther away, if nothing nearer is free. */
      const farther = ([atX, atY]) => [atX + Math.sign(Math.round(atX - x)) * width, atY + Math.sign(Math.round(atY - y)) * height];
      const box = (at) => [at[0] - width / 2, at[1] - height / 2, at[0] + width / 2, at[1] + height / 2];
      const isInside = (at) => at[0] >= least && at[0] <= most
        && at[1] + height / 2 <= plot.y + plot.height && at[1] >= plot.y - height / 2;
      const others = marks.concat(bars).filter((one) => !isOwn(one)).concat(fixed, taken);
      const apart = (at, mark) => Math.hypot(at[0] - (mark[0] + mark[2]) / 2, at[1] - (mark[1] + mark[3]) / 2);
      const isNearest = (at) => marks.every((mark) => isOwn(mark) || apart(at, mark) > Math.hypot(at[0] - x, at[1] - y));
      const places = near.concat(near.map(farther).filter(isNearest)).filter(isInside);
      const isFree = (at) => !others.some((other) => covers(box(at), other));
      const isClear = (at) => !curves.some((line) => crosses(box(at), line));
      const free = places.find((at) => isFree(at) && isClear(at)) || places.find(isFree);
      /* A label on another one is hidden. */
      const hider = taken.find((other) => other[2] - other[0] >= width);
      const inside = places[0] || near[0];
      const at = free || (hider ? [(hider[0] + hider[2]) / 2, (hider[1] + hider[3]) / 2] : inside);
      if (free || !hider) { taken.push(box(at)); }
      return { x: at[0], y: at[1], align: 'center', verticalAlign: 'middle', hideOverlap: true };
    };
  };

  /* Puts functions in the place of their names. */
  const named = (option, view) => {
    const replaced = (value, key) => {
      if (Array.isArray(value)) { return value.map((item) => replaced(item, key)); }
      if (value !== null && typeof value === 'object') {
        const copy = {};
        Object.keys(value).forEach((k) => { copy[k] = replaced(value[k], k); });
        return copy;
      }
      if (typeof value === 'string' && value.charAt(0) === '@') {
        const name = value.slice(1);
        if (key === 'formatter') {
          const [tip, how, ...what] = name.split(' ');
          const said = tips[tip] && ((params) => tips[tip](params, how, what.join(' ')));
          return said || write[name] || value;
        }
        if (key === 'renderItem') { return shapes[name]; }
        if (key === 'labelLayout') { return layouts[name](option, view); }
      }
      return value;
    };
    return replaced(option);
  };

  /* A latency axis from 0 in place of a logarithmic one. */
  const linear = (option) => {
    const axis = option.yAxis;
    axis.type = 'value';
    ['min', 'max'].forEach((key) => delete axis[key]);
    ['axisTick', 'axisLabel', 'splitLine'].forEach((key) => {
      if (axis[key]) { delete axis[key].customValues; }
    });
    axis.min = 0;
    if (axis.name) { axis.name = axis.name.replace('(log scale)', '(linear scale)'); }
  };

  /* Between two points of a curve the logarithm of latency is linear in ops/s, as it is for readings off the curve. On
     a linear axis that is no straight line, so unmarked points are put between them. */
  const bent = (option) => {
    const PIECES = 12;
    const parts = Array.from({ length: PIECES - 1 }, (_, i) => (i + 1) / PIECES);
    const isPoint = (value) => Array.isArray(value) && typeof value[0] === 'number' && value[1] > 0;
    (option.series || []).filter((s) => s.type === 'line').forEach((s) => {
      s.data = s.data.flatMap((item, i) => {
        const [from, to] = [s.data[i - 1], item].map(valueOf);
        if (!isPoint(from) || !isPoint(to)) { return [item]; }
        return parts.map((part) => ({
          value: [from[0] + part * (to[0] - from[0]), from[1] * (to[1] / from[1]) ** part], symbol: 'none',
        })).concat([item]);
      });
    });
  };

  /* Names of a legend, cut in the middle where the room is too narrow for them: those of drives differ at their ends. */
  const fitted = (name, room, font) => {
    const width = (text) => echarts.format.getTextRect(text, font).width;
    const letters = Array.from(write.name(name));
    let kept = letters.length;
    const text = () => (kept === letters.length ? letters.join('')
      : letters.slice(0, Math.ceil(kept / 2)).concat('…', letters.slice(letters.length - Math.floor(kept / 2))).join(''));
    while (kept > 2 && width(text()) > room) { kept -= 1; }
    return text();
  };

  /* The first words of each name, as few as tell them apart and two at least. */
  const shortened = (names) => {
    const words = names.map((name) => write.name(name).split(' '));
    const most = Math.max(2, ...words.map((of) => of.length));
    const counts = Array.from({ length: most - 1 }, (_, i) => i + 2);
    const cut = (count) => words.map((of) => of.slice(0, count).join(' '));
    return cut(counts.find((count) => new Set(cut(count)).size === names.length) || most);
  };

  /* The names of a legend as it has room for them, and how many lines they take: two if possible where short
     names will do. */
  const legendOf = (legend, names, width) => {
    const { fontSize } = legend.textStyle;
    const font = fontSize + 'px ' + (legend.textStyle.fontFamily || 'sans-serif');
    const room = width - legend.left - ROW.gap;
    const widths = (said) => said.map((name) => legend.itemWidth + ROW.pad + echarts.format.getTextRect(name, font).width);
    const linesOf = (said) => {
      let [lines, used] = [1, 0];
      widths(said).forEach((item) => {
        if (used > 0 && used + item > room) { [lines, used] = [lines + 1, 0]; }
        used += Math.min(item, room) + ROW.gap;
      });
      return lines;
    };
    const whole = names.map(write.name);
    const isShort = legend.short && linesOf(whole) > 2;
    const said = isShort ? shortened(names) : whole;
    const [lines, taken] = [linesOf(said), widths(said)];
    const roomOf = (isPaged) => room - legend.itemWidth - ROW.pad - (isPaged ? ROW.pager : 0);
    const isCut = isShort || taken.some((item) => item > room);
    return {
      lines: lines,
      /* All of how it looks stays: what becomes a legend of another type has nothing of what it was. */
      as: (isPaged) => Object.assign({}, legend, {
        type: isPaged ? 'scroll' : 'plain', data: names, width: room, itemGap: ROW.gap,
        formatter: (name) => fitted(said[names.indexOf(name)] || name, roomOf(isPaged), font),
        tooltip: { show: isCut, formatter: (p) => escaped(p.name) },
      }),
    };
  };
  /* Between the names of a legend, beside a mark, for what turns the pages, from line to line, and what a line takes
     at least, pixels. */
  const ROW = { gap: 14, pad: 5, pager: 70, line: 28, least: 240 };

  /* What makes room in an option for every name of its legends: what is below a legend of several lines moves down, by
     `more` pixels in all. Legends of more than `most` lines are turned page by page. */
  const unfolded = (option, width, most) => {
    const list = (value) => (Array.isArray(value) ? value : value ? [value] : []);
    const [grids, titles, legends] = [list(option.grid), list(option.title), list(option.legend)];
    const patch = {
      legend: [], grid: grids.map((g) => ({ top: g.top })), title: titles.map((t) => ({ top: t.top })),
    };
    const there = Array.from(new Set(option.series.map((s) => s.name)));
    let more = 0;
    legends.forEach((wide) => {
      /* One beside a title goes below it where that leaves no room. */
      const isBelow = wide.left > ROW.pager && width - wide.left < ROW.least;
      const legend = isBelow ? Object.assign({}, wide, { left: 4 }) : wide;
      const first = isBelow ? ROW.line : 0;
      const own = list(legend.data).map((item) => (typeof item === 'string' ? item : item.name));
      const of = legendOf(legend, own.length > 0 ? own.filter((name) => there.includes(name)) : there, width);
      const isPaged = of.lines > most;
      const has = legends.length === 1 && grids[0] && grids[0].top > 50 ? 2 : 1;
      const extra = first + (isPaged ? 0 : Math.max(0, of.lines - has) * ROW.line);
      patch.legend.push(Object.assign(of.as(isPaged), { top: legend.top + more + first * 0.75 }));
      patch.grid.forEach((g, n) => { if (grids[n].top > legend.top) { g.top += extra; } });
      patch.title.forEach((t, n) => { if (titles[n].top > legend.top) { t.top += extra; } });
      more += extra;
    });
    return { more: more, patch: patch };
  };

  /* How a value is written with all its digits, by its axis: what writes there, or its name. */
  const fully = (of) => full[Object.keys(write).find((name) => name === of || write[name] === of)]
    || ((v) => String(v));

  return { named: named, linear: linear, bent: bent, valueOf: valueOf, isMarked: isMarked, full: fully, escaped: escaped, unfolded: unfolded, nines: write.nines, tileText: tileText };
}());
