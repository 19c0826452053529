/* Draws the figures of the page and follows its controls. */
const page = function (view) {
  'use strict';

  const drawn = [];
  const { figures, state } = view;

  const selects = (figure) => Array.from(figure.querySelectorAll('.controls select'));

  /* Which variant is chosen: the last control runs fastest. */
  const chosen = (figure) => selects(figure).reduce(
    (index, select) => index * select.options.length + select.selectedIndex, 0);

  /* More lines of a legend are turned page by page. */
  const LINES_MAX = 4;

  /* Makes room for the legends at the width of now, and draws. What readers chose in them stays. */
  const fit = (d) => {
    const { more, patch } = charts.unfolded(d.fresh, d.view.getWidth(), LINES_MAX);
    const now = d.view.getOption().legend || [];
    patch.legend.forEach((legend, i) => { legend.selected = now[i].selected; });
    d.view.setOption(patch, { lazyUpdate: true });
    d.element.style.height = (d.low || d.height) + more + 'px';
    d.view.resize();
    /* Not with the next frame, which may come after somebody prints or saves the page. */
    d.view.getZr().flush();
  };

  const hide = (d) => state.hidden.forEach((name) =>
    d.view.dispatchAction({ type: 'legendUnSelect', name: name }));

  const paint = (d, patch, isOnPaper) => {
    const { base } = d.chart;
    d.view.clear();
    /* Drawn once all is known. */
    d.view.setOption(view.adapted(base, base, isOnPaper, d.view), { notMerge: true, lazyUpdate: true });
    d.view.setOption(view.adapted(patch, base, isOnPaper, d.view), { lazyUpdate: true });
    d.fresh = d.view.getOption();
    fit(d);
    hide(d);
  };

  /* Some are text, of which only what is seen is read. */
  const patchOf = (d) => {
    const { variants } = d.chart;
    const index = variants.length === 1 ? 0 : chosen(d.figure);
    if (typeof variants[index] === 'string') { variants[index] = JSON.parse(variants[index]); }
    return variants[index];
  };

  /* Draws what has changed, or all where the way to see it has. */
  const draw = (figure, isOtherView) => drawn.filter((d) => d.figure === figure).forEach((d) => {
    const patch = patchOf(d);
    d.element.classList.toggle('empty', !patch);
    if (d.patch === patch && !isOtherView) { return; }
    d.patch = patch;
    if (patch) { paint(d, patch, false); } else { d.view.clear(); }
    tabulate(d);
  });

  const redraw = () => document.querySelectorAll('.figure').forEach((f) => draw(f, true));

  /* The numbers behind a chart, while they are open. */
  const tabulate = (d) => {
    const { details } = d;
    details.querySelectorAll('.scroll').forEach((old) => old.remove());
    if (!details.open || !d.patch) { return; }
    const [head, ...rows] = view.numbers(d.view, d.chart.base);
    const cell = (tag, text, scope) =>
      '<' + tag + (scope ? ' scope="' + scope + '"' : ' class="n"') + '>' + charts.escaped(text) + '</' + tag + '>';
    const box = document.createElement('div');
    box.className = 'scroll';
    box.tabIndex = 0;
    box.setAttribute('role', 'region');
    box.setAttribute('aria-label', details.querySelector('summary').getAttribute('aria-label'));
    box.innerHTML = '<table><thead><tr>' + head.map((h) => cell('th', h, 'col')).join('') + '</tr></thead><tbody>'
      + rows.map((row) => '<tr>' + row.map((text, i) =>
        (i === 0 ? cell('th', text, 'row') : cell('td', text))).join('') + '</tr>').join('')
      + '</tbody></table>';
    details.append(box);
  };

  /* The workload that a figure is of. */
  const headingOf = (figure) => {
    let before = figure.previousElementSibling;
    while (before && before.tagName !== 'H3') { before = before.previousElementSibling; }
    return before ? before.firstChild.textContent.trim() : '';
  };

  /* A chart as a file: its title and what is better above it, on white. */
  const picture = (d) => {
    const caption = d.element.parentNode.querySelector('figcaption');
    const place = headingOf(d.figure);
    const title = (place ? place + ': ' : '') + caption.querySelector('strong').textContent;
    const hint = caption.querySelector('.hint');
    const [width, height] = [d.view.getWidth(), d.view.getHeight()];
    const was = d.patch;
    paint(d, was, true);
    const inner = d.view.renderToSVGString();
    paint(d, was, false);
    const font = 'font-family="Noto Sans, Helvetica, Arial, sans-serif"';
    const text = (y, size, more, words) => '<text x="14" y="' + y + '" font-size="' + size + '" ' + font + more
      + '>' + charts.escaped(words) + '</text>';
    const [w, h] = [width + 28, height + 72];
    return {
      name: (d.figure.id + '-' + d.element.dataset.chart), width: w, height: h,
      svg: '<svg xmlns="http://www.w3.org/2000/svg" width="' + w + '" height="' + h + '" viewBox="0 0 ' + w + ' ' + h
        + '"><rect width="' + w + '" height="' + h + '" fill="#fff"/>'
        + text(28, 17, ' font-weight="bold" fill="#1d2733"', title)
        + (hint ? text(47, 12, ' fill="#5b6675"', hint.textContent) : '')
        + inner.replace('<svg ', '<svg x="14" y="58" ').replace(/font-family:inherit/g, 'font-family:sans-serif') + '</svg>',
    };
  };

  const save = (name, blob) => {
    const link = document.createElement('a');
    link.download = name;
    link.href = URL.createObjectURL(blob);
    link.click();
    document.documentElement.dataset.saved = name + ' ' + blob.size;
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  const savers = {
    svg: (of) => save(of.name + '.svg', new Blob([of.svg], { type: 'image/svg+xml' })),
    png: (of) => {
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [2 * of.width, 2 * of.height];
        canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((blob) => save(of.name + '.png', blob), 'image/png');
      };
      image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(of.svg);
    },
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
      const own = element.parentNode;
      const d = {
        figure: figure, element: element, chart: chart, details: own.querySelector('details.numbers'),
        view: echarts.init(element, null, { renderer: 'svg' }), height: element.clientHeight,
      };
      drawn.push(d);
      d.details.addEventListener('toggle', () => tabulate(d));
      own.querySelectorAll('button[data-save]').forEach((button) =>
        button.addEventListener('click', () => savers[button.dataset.save](picture(d))));
    });
    selects(figure).forEach((s) => s.addEventListener('change', () => follow(s)));
  });

  /* How all charts are seen. */
  const form = document.querySelector('form.view');
  const prefersDark = matchMedia('(prefers-color-scheme: dark)');
  const byName = (name) => form.elements[name];
  const look = () => {
    const theme = byName('theme').value;
    state.theme = theme === 'auto' ? (prefersDark.matches ? 'dark' : 'light') : theme;
    document.documentElement.dataset.theme = state.theme;
    document.querySelectorAll('[data-color]').forEach((e) => {
      e.style.backgroundColor = view.colour(e.dataset.color);
    });
    state.scale = byName('scale').value;
    state.along = byName('along').value;
    state.threads = Number(byName('threads').value);
    redraw();
  };
  view.counts.slice(0, -1).reverse().forEach((n) => byName('threads').add(new Option('up to ' + n, n)));
  Object.keys(view.follows).forEach((name) => {
    byName(name).parentNode.hidden = !view.follows[name];
  });
  form.querySelectorAll('select').forEach((select) => select.addEventListener('change', look));
  form.querySelectorAll('input[name=system]').forEach((box) => box.addEventListener('change', () => {
    state.hidden[box.checked ? 'delete' : 'add'](box.value);
    const type = box.checked ? 'legendSelect' : 'legendUnSelect';
    drawn.forEach((d) => {
      d.view.dispatchAction({ type: type, name: box.value });
      tabulate(d);
    });
  }));
  form.addEventListener('submit', (event) => event.preventDefault());
  prefersDark.addEventListener('change', look);
  byName('scale').value = state.scale;
  form.hidden = false;
  look();

  /* On paper the width is that of the page, whatever the window has, and all is light. */
  const PAPER = { wide: 650, half: 300, low: 200 };
  const isWide = (d) => d.element.parentNode.classList.contains('wide');
  const isLow = (d) => d.element.closest('.beside') !== null;
  const resize = (d, width, low) => {
    d.low = low;
    d.view.resize({ width: width });
    if (d.patch) { fit(d); }
  };
  const toWindow = () => drawn.forEach((d) => resize(d, 'auto', 0));
  const repaint = (isOnPaper) => {
    if (state.theme === 'dark') {
      drawn.filter((d) => d.patch).forEach((d) => paint(d, d.patch, isOnPaper));
    }
  };
  const toPaper = () => {
    drawn.forEach((d) => resize(d, isWide(d) ? PAPER.wide : PAPER.half, isLow(d) ? PAPER.low : 0));
    repaint(true);
  };
  addEventListener('resize', toWindow);
  addEventListener('beforeprint', toPaper);
  addEventListener('afterprint', () => { toWindow(); repaint(false); });

  /* A link to a finding opens it; paper has all of them open. */
  const unfold = (within) => within.querySelectorAll('details:not(.numbers)').forEach((d) => { d.open = true; });
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
};
