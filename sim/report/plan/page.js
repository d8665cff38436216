/* page.js - a plan's layouts by time and memory: a picture whose points tell what they are, and tables. */

const $ = (id) => document.getElementById(id);
const data = JSON.parse($('data').textContent), plan = data.plan;

/* Colours that colour-blind readers can tell apart (Okabe and Ito 2008), and shapes: of numbers of GPUs. */
const SIZES = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
const SHAPES = ['M-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z', 'M-5 -5h10v10h-10z', 'M0 -7L6 5H-6z', 'M0 -7L7 0L0 7L-7 0z'];
const EDGE = {left: 52, right: 14, top: 16, bottom: 42, high: 400};
const FAR = 1.5; /* steps of the file's own layout that are longer than so many of the slowest are not drawn */

/* ---- layouts ---- */

const unbeaten = new Set(plan.pareto.map((row) => row.row));
const points = [...plan.pareto, ...[...plan.rows, ...plan.tight].filter((row) => !unbeaten.has(row.row))]
  .sort((a, b) => a.step_time_s - b.step_time_s || unbeaten.has(a.row) - unbeaten.has(b.row)); /* what is drawn last is seen */
const sizes = [...new Set(points.map((row) => row.gpus))].sort((a, b) => a - b);
const keys = points.length > 0 ? Object.keys(points[0]).filter((key) => key.includes('.')) : [];
const differing = keys.filter((key) => points.some((row) => row[key] !== points[0][key]));
const short = (key) => key === 'schedule.name' ? 'schedule' : key === 'framework.preset' ? 'framework' : key.replace('layout.', '').replace('schedule.', '');
const said = (row, of) => of.map((key) => `${short(key)} ${row[key]}`).join(', ');
const gib = (b) => b / 1024 ** 3;
let chosen = points.findIndex((row) => plan.rows.length > 0 && row.row === plan.rows[0].row);

function words(row) {
  return `${secs(row.step_time_s)}, ${bytes(row.peak_memory_bytes)} of ${bytes(row.capacity_bytes)}, MFU ${share(row.mfu)}, ${row.gpus} GPUs: ${said(row, differing)}`;
}

/* ---- the picture ---- */

/* Round values around a range, about six steps apart. */
function axisOf(low, high, from, to) {
  const range = high > low ? high - low : high / 5, power = 10 ** Math.floor(Math.log10(range / 6));
  const step = power * [1, 2, 5, 10].find((x) => range / 6 <= x * power * 1.0001);
  const first = Math.floor(low / step) * step, last = Math.max(Math.ceil(high / step) * step, first + step);
  return {at: (x) => from + (x - first) / (last - first) * (to - from), digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)),
    ticks: Array.from({length: Math.round((last - first) / step) + 1}, (_, k) => first + k * step)};
}

function text(x, y, anchor, content, more) {
  const node = svg('text', {x, y, 'text-anchor': anchor, class: 'soft', ...more});
  node.textContent = content;
  return node;
}

function drawAxes(chart, x, y, unit, wide) {
  const bottom = EDGE.high - EDGE.bottom, right = wide - EDGE.right, skip = Math.ceil(x.ticks.length * 50 / wide);
  x.ticks.forEach((t, k) => chart.append(svg('path', {class: 'grid', d: `M${x.at(t)} ${EDGE.top}V${bottom}`}),
    k % skip === 0 ? text(x.at(t), bottom + 17, 'middle', t.toFixed(x.digits)) : ''));
  y.ticks.forEach((t) => chart.append(svg('path', {class: 'grid', d: `M${EDGE.left} ${y.at(t)}H${right}`}), text(EDGE.left - 7, y.at(t) + 4, 'end', t.toFixed(y.digits))));
  chart.append(svg('path', {class: 'frame', d: `M${EDGE.left} ${EDGE.top}V${bottom}H${right}`}), text((EDGE.left + right) / 2, EDGE.high - 5, 'middle', `time of a step, ${unit}`),
    text(0, 0, 'middle', 'memory of the fullest GPU, GiB', {transform: `translate(13 ${(EDGE.top + bottom) / 2}) rotate(-90)`}));
}

function markOf(row, i, x, y) {
  const size = sizes.indexOf(row.gpus), colour = SIZES[size % SIZES.length];
  const mark = svg('path', {class: 'mark', transform: `translate(${x} ${y})`, d: SHAPES[size % SHAPES.length], stroke: colour,
    fill: unbeaten.has(row.row) ? colour : 'var(--card)', role: 'button', 'data-row': row.row, 'aria-label': `row ${row.row}: ${words(row)}`});
  mark.addEventListener('click', () => choose(i));
  mark.addEventListener('focus', () => choose(i));
  mark.addEventListener('pointermove', (event) => {
    $('tip').replaceChildren(el('b', {}, `row ${row.row}`, el('span', {}, secs(row.step_time_s))), el('p', {}, words(row)));
    $('tip').hidden = false;
    placeTip($('tip'), event.clientX, event.clientY);
  });
  mark.addEventListener('pointerleave', () => { $('tip').hidden = true; });
  return mark;
}

/* Stairs of a number of GPUs: to the right of and above a corner every layout is beaten. */
function stairsOf(gpus, x, y, wide) {
  let low = Infinity, path = '';
  points.filter((row) => row.gpus === gpus && row.verdict !== 'tight' && row.peak_memory_bytes < low && (low = row.peak_memory_bytes)).forEach((row) => {
    path += `${path ? `H${x(row)}` : `M${x(row)} ${EDGE.top}`}V${y(row)}`;
  });
  return svg('path', {fill: 'none', stroke: SIZES[sizes.indexOf(gpus) % SIZES.length], d: path && `${path}H${wide - EDGE.right}`});
}

function draw() {
  const wide = Math.max($('plot').clientWidth, 260), last = points[points.length - 1], own = plan.given && plan.given.step_time_s <= FAR * last.step_time_s ? [plan.given] : [];
  const capacity = Math.max(...points.map((row) => row.capacity_bytes)), unit = last.step_time_s < 1 ? 1e-3 : 1, drawn = [...points, ...own];
  const xs = axisOf(Math.min(...drawn.map((row) => row.step_time_s)) / unit, Math.max(...drawn.map((row) => row.step_time_s)) / unit, EDGE.left, wide - EDGE.right);
  const ys = axisOf(0, gib(Math.max(capacity, ...drawn.map((row) => row.peak_memory_bytes))), EDGE.high - EDGE.bottom, EDGE.top);
  const x = (row) => xs.at(row.step_time_s / unit), y = (row) => ys.at(gib(row.peak_memory_bytes));
  const chart = svg('svg', {width: wide, height: EDGE.high, role: 'group', 'aria-label': 'Layouts by step time and memory'});
  drawAxes(chart, xs, ys, unit < 1 ? 'ms' : 's', wide);
  chart.append(svg('path', {class: 'frame', 'stroke-dasharray': '6 4', d: `M${EDGE.left} ${ys.at(gib(capacity))}H${wide - EDGE.right}`}),
    text(wide - EDGE.right, ys.at(gib(capacity)) - 5, 'end', 'memory of a GPU'), ...sizes.map((gpus) => stairsOf(gpus, x, y, wide)),
    ...own.flatMap((row) => [svg('path', {class: 'frame', d: `M${x(row) - 6} ${y(row) - 6}l12 12m0 -12l-12 12`}), text(x(row) - 9, y(row) - 9, 'end', 'yours')]),
    ...points.map((row, i) => markOf(row, i, x(row), y(row))));
  $('plot').replaceChildren(chart);
  show();
}

/* ---- the chosen one ---- */

function choose(i) {
  if (i !== chosen) {
    chosen = i;
    show();
  }
}

function optionsOf(row) {
  return keys.map((key) => `--set ${/^[\w.-]+$/.test(row[key]) ? `${key}=${row[key]}` : `'${key}=${row[key]}'`}`).join(' ');
}

/* Of the layout that is chosen: its point, its line of the tables, and the panel. */
function show() {
  const row = points[chosen], facts = el('dl', {}), bar = el('div', {class: 'bar'});
  const parts = Object.entries(row.breakdown).filter(([, s]) => s > 0).sort((a, b) => b[1] - a[1]);
  document.querySelectorAll('.mark').forEach((mark, i) => {
    mark.setAttribute('aria-pressed', String(i === chosen));
    mark.setAttribute('tabindex', i === chosen ? 0 : -1);
  });
  document.querySelectorAll('#tables tr').forEach((line) => line.classList.toggle('this', line.dataset.row === String(row.row)));
  [['step', secs(row.step_time_s)], ['tokens/s', count(row.tokens_per_s)], ['MFU', share(row.mfu)], ['bubble', share(row.bubble_fraction)],
    ['memory', `${bytes(row.peak_memory_bytes)}, ${row.verdict}`], ['GPUs', row.gpus], ...differing.map((key) => [short(key), row[key]])]
    .forEach(([name, value]) => facts.append(el('dt', {}, name), el('dd', {}, String(value))));
  parts.forEach(([b, s]) => bar.append(el('span', {style: `width:${100 * s / row.step_time_s}%;background:${colours.css(BUCKET_LOOK[b] || b)}`})));
  $('panel').replaceChildren(el('h3', {}, `Row ${row.row}`), el('p', {class: 'where'}, unbeaten.has(row.row) ? 'no other is as fast with as little memory' : row.verdict === 'tight' ? 'among the fastest, but tight' : 'one of the fastest'), facts, bar,
    el('p', {class: 'small'}, parts.map(([b, s]) => `${BUCKET_WORDS[b]} ${secs(s)}`).join(', ')));
  $('options').textContent = sizes.length === 1 ? optionsOf(row) : '';
}

/* ---- head and tables ---- */

function tile(what, value, note) {
  return el('div', {class: 'tile'}, el('div', {class: 'what'}, what), el('div', {class: 'value'}, value), el('div', {class: 'note'}, note));
}

function fillHead() {
  const title = `${data.model || 'A model'} on ${sizes.join(', ')} GPUs: layouts`, best = plan.rows[0], own = plan.given;
  $('title').textContent = title;
  document.title = `${title} \u2013 trainyard`;
  $('subtitle').textContent = `${count(plan.space)} layouts, ${count(plan.fit)} fit: ${count(plan.bounded)} ruled out by a bound, ${count(plan.simulated)} simulated` +
    `${plan.exact ? '. No other is among the best' : '. Interrupted: the best so far'}`;
  $('tiles').append(tile('Best step', secs(best.step_time_s), own ? `yours ${secs(own.step_time_s)}${own.fits ? '' : ', does not fit'}` : `row ${best.row}`),
    tile('Throughput', count(best.tokens_per_s), `tokens/s, ${count(best.tokens_per_s / best.gpus)} per GPU`), tile('MFU', share(best.mfu), `bubble ${share(best.bubble_fraction)}`),
    tile('Memory', bytes(best.peak_memory_bytes), `of ${bytes(best.capacity_bytes)}: ${best.verdict}`));
  $('foot').append(el('p', {}, `trainyard ${plan.version}, configuration ${plan.config_digest}, seed ${plan.seed}. best.yaml beside this page is the first layout as a run file. The page loads nothing from anywhere.`));
  $('legend').append(el('div', {class: 'key'}, ...sizes.map((gpus, k) => el('span', {}, svg('svg', {width: 16, height: 16, viewBox: '-8 -8 16 16', 'aria-hidden': 'true'},
    svg('path', {d: SHAPES[k % SHAPES.length], fill: SIZES[k % SIZES.length]})), `${gpus} GPUs`))));
  $('words').textContent = data.text;
}

function tableOf(title, note, rows) {
  const cost = rows.some((row) => row.cost_per_step > 0), head = ['row', ...differing.map(short), 'GPUs', 'step', 'tokens/s', 'MFU', 'memory', 'bubble'];
  const shown = table(title, note, cost ? [...head, 'cost of a step'] : head, rows.map((row) => ({cells: [{node: el('button', {type: 'button'}, row.row)},
    ...differing.map((key) => row[key]), row.gpus, secs(row.step_time_s), count(row.tokens_per_s), share(row.mfu), bytes(row.peak_memory_bytes), share(row.bubble_fraction),
    ...(cost ? [row.cost_per_step.toPrecision(4)] : [])]})));
  shown.querySelectorAll('tbody tr').forEach((line, k) => {
    line.dataset.row = rows[k].row;
    line.addEventListener('click', () => choose(points.findIndex((point) => point.row === rows[k].row)));
  });
  return shown;
}

function listen() {
  $('plot').addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key];
    if (step && points[chosen + step]) {
      event.preventDefault();
      document.querySelectorAll('.mark')[chosen + step].focus();
    }
  });
  new ResizeObserver(() => { if (document.querySelector('#plot svg').clientWidth !== $('plot').clientWidth) { draw(); } }).observe($('plot'));
  colours.dark.addEventListener('change', show);
}

fillHead();
$('tables').append(tableOf('The best', `${said(points[0], keys.filter((key) => !differing.includes(key)))} in all of them`, plan.rows),
  tableOf('Not beaten in both time and memory (Pareto front)', plan.pareto_within ? `of those up to ${plan.pareto_within} times as long` : '', plan.pareto),
  ...(plan.tight.length > 0 ? [tableOf('Tight', `less than ${share(plan.margin)} of a GPU's memory is free`, plan.tight)] : []));
draw();
listen();
