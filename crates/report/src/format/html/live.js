/* Follows the run that a served page is of: its seconds as they come, and the page again when a point is in the study.
   What was chosen stays. */
const live = function (view) {
  'use strict';

  const KEPT = 'tailmark-chosen';
  const panel = document.getElementById('live');
  const what = document.getElementById('live-what');
  const points = document.getElementById('live-points');
  const notices = document.getElementById('live-notices');
  const chart = echarts.init(document.getElementById('live-chart'), null, { renderer: 'svg' });
  const choices = () => Array.from(document.querySelectorAll('select, input[type=checkbox]'));
  const name = (e) => [e.closest('.figure') ? e.closest('.figure').id : '', e.name || e.dataset.key, e.type === 'checkbox'
    ? e.value : ''].join('|');

  const keep = () => {
    const all = choices().map((e) => [name(e), e.type === 'checkbox' ? e.checked : e.value]);
    sessionStorage.setItem(KEPT, JSON.stringify(all));
  };
  const restore = () => {
    const kept = new Map(JSON.parse(sessionStorage.getItem(KEPT) || '[]'));
    choices().forEach((e) => {
      const value = kept.get(name(e));
      const is = e.type === 'checkbox' ? e.checked : e.value;
      if (value === undefined || value === is) { return; }
      if (e.type === 'checkbox') { e.checked = value; } else { e.value = value; }
      e.dispatchEvent(new Event('change'));
    });
    sessionStorage.removeItem(KEPT);
  };

  const axis = (title, formatter, more) => Object.assign({
    type: 'value', name: title, nameLocation: 'middle', nameGap: 50, axisLabel: { formatter: formatter },
  }, more);
  const option = (series) => charts.named({
    animation: false, textStyle: { fontFamily: 'inherit', color: view.colour('#1d2733') },
    grid: { left: 70, right: 80, top: 26, bottom: 30 }, legend: { top: 0, textStyle: { color: view.colour('#1d2733') } },
    xAxis: { type: 'value', name: 's', min: 0 },
    yAxis: [axis('ops/s', '@rate'), axis('p99', '@latency', { splitLine: { show: false } })],
    series: [
      { type: 'line', name: 'ops/s', showSymbol: false, data: series.map((s) => [s[0], s[1]]), itemStyle: { color: view.colour('#004cba') } },
      { type: 'line', name: 'p99', showSymbol: false, yAxisIndex: 1, data: series.map((s) => [s[0], s[2]]),
        itemStyle: { color: view.colour('#d97d34') }, lineStyle: { type: [9, 3] } },
    ],
  });

  const seconds = (s) => {
    const whole = Math.round(s);
    if (whole < 120) return whole + ' s';
    if (whole >= 600 || whole % 60 === 0) return Math.round(whole / 60) + ' min';
    return Math.floor(whole / 60) + ' min ' + (whole % 60) + ' s';
  };
  const show = (state) => {
    what.textContent = state.what;
    /* How long a step between phases takes is not known before. */
    const all = state.duration ? ' of ' + seconds(state.duration) : '';
    const time = all || state.elapsed >= 1 ? seconds(state.elapsed) + all + '; ' : '';
    points.textContent = time + state.done + ' of ' + state.points + (state.points === 1 ? ' point' : ' points');
    notices.replaceChildren(...state.notices.map((text) => {
      const item = document.createElement('li');
      item.textContent = text;
      return item;
    }));
    chart.setOption(option(state.series));
    document.documentElement.dataset.live = state.version + ' ' + state.series.length;
  };

  let version = null;
  const ended = () => {
    what.textContent = 'The run has ended';
    points.textContent = '';
    panel.classList.add('ended');
  };
  const follow = () => fetch('live.json' + location.search, { cache: 'no-store' })
    .then((answer) => answer.json())
    .then((state) => {
      show(state);
      if (version !== null && version !== state.version) {
        keep();
        location.reload();
        return;
      }
      version = state.version;
      setTimeout(follow, 1000);
    })
    .catch(ended);

  addEventListener('resize', () => chart.resize());
  restore();
  follow();
};
