/* Draws the figures of the page and follows its controls. */
(function () {
  'use strict';

  const figures = JSON.parse(document.getElementById('figures').textContent);
  const drawn = [];

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
        d.view.setOption(charts.named(d.chart.base), true);
        d.view.setOption(charts.named(patch));
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
