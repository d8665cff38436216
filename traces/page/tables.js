/* tables.js - every number of the page as a table: for screen readers, for print, for copying. */

/* A column's name; above names of lines and changes there is none. */
function headCell(name) {
  return name === '' ? el('td') : el('th', {scope: 'col'}, name);
}

/* head: column names; rows: arrays, the first cell a heading. */
function table(title, note, head, rows) {
  const wide = head.length > 7 ? ' wide' : '';
  const body = el('tbody', {});
  rows.forEach((row) => body.append(el('tr', {class: row.sum ? 'sum' : undefined},
    ...row.cells.map((cell, k) => el(k === 0 ? 'th' : 'td', k === 0 ? {scope: 'row'} : {class: cell && cell.left ? 'text' : undefined},
      cell && cell.node ? cell.node : cell && cell.text !== undefined ? cell.text : String(cell))))));
  return el('div', {class: 'card' + wide, tabindex: 0, role: 'region', 'aria-label': title}, el('table', {},
    el('caption', {}, title, note ? el('small', {}, note) : null),
    el('thead', {}, el('tr', {}, ...head.map(headCell))), body));
}

/* "-1.234 s" and "-5.8 %", coloured when one way is better. */
function delta(a, b, format, better) {
  const by = b - a;
  const good = better === 0 || Math.abs(by) <= 1e-9 * Math.abs(a) ? '' : by * better > 0 ? 'better' : 'worse';
  return Math.abs(by) <= 1e-9 * Math.abs(a) ? {text: '='} : {node: el('span', {class: good}, (by < 0 ? '\u2212' : '+') + format(Math.abs(by)))};
}

function ratio(a, b) {
  return a === 0 || Math.abs(b / a - 1) < 1e-9 ? '' : signedShare(b / a - 1);
}

/* Rows [name, value(run), format, better] of one or two runs, with the difference. */
function compared(title, note, runs, entries) {
  const two = runs.length > 1;
  return table(title, note, two ? ['', 'A', 'B', 'B \u2212 A', 'change'] : ['', 'value'], entries.map(([name, value, format, better, sum]) => {
    const values = runs.map(value);
    return {sum, cells: [name, ...values.map(format), ...(two ? [delta(values[0], values[1], format, better), ratio(values[0], values[1])] : [])]};
  }));
}

const FIGURE_FORMATS = {s: secs, share, bytes, 'TFLOP/s': (x) => x.toFixed(1) + ' TFLOP/s', days: (x) => Number(x.toPrecision(4)) + ' days'};

/* Those that all runs have; what a fleet section asks for may be missing. */
function figuresTable(runs, figures) {
  const rows = figures.filter(([, key]) => runs.every((run) => run.figures[key] !== undefined));
  return compared('Figures', 'of a step', runs, rows.map(([label, key, unit, better]) => [label, (run) => run.figures[key], FIGURE_FORMATS[unit] || count, better]));
}

function breakdownTable(runs) {
  const used = runs[0].buckets.filter((b) => runs.some((run) => run.figures.breakdown[b] > 0));
  const rows = used.map((b) => [BUCKET_WORDS[b], (run) => run.figures.breakdown[b], secs, -1]);
  rows.push(['step', (run) => run.figures.step_time_s, secs, -1, true]);
  if (runs.length > 1) {
    return compared('Breakdown', 'seconds of a step, mean over GPUs', runs, rows);
  }
  return table('Breakdown', 'of a step, mean over GPUs', ['', 'time', 'share'], rows.map(([name, value, , , sum]) => ({sum,
    cells: [name, secs(value(runs[0])), share(value(runs[0]) / runs[0].figures.step_time_s)]})));
}

function pathTable(run, name) {
  const sums = new Map();
  run.path.forEach((step) => {
    const kind = step.slice >= 0 ? run.kinds[run.kind[step.slice]] : null;
    const what = !kind ? 'streams and ranks not shown' : kind.name + (kind.group ? ' ' + kind.group : '');
    const sum = sums.get(what) || {time: 0, n: 0};
    sum.time += step.dur;
    sum.n++;
    sums.set(what, sum);
  });
  const total = run.path.reduce((sum, step) => sum + step.dur, 0);
  const rows = [...sums].sort((a, b) => b[1].time - a[1].time)
    .map(([what, s]) => ({cells: [what, seconds(s.time), share(s.time / total), s.n]}));
  rows.push({sum: true, cells: ['all', seconds(total), share(1), run.path.length]});
  const hidden = run.path.reduce((sum, step) => sum + (step.slice < 0 ? step.dur : 0), 0) > 0.5 * total;
  return table(`Critical path${name}`, 'sets the run time' +
    (hidden ? '; most of it is on ranks that are not shown; show them with --ranks slowest:8' : ''), ['', 'time', 'share', 'times'], rows);
}

function rowsTable(run, name) {
  const used = run.buckets.map((b, at) => [b, at]).filter(([, at]) => run.rows.some((row) => row.buckets_ps[at] > 0));
  return table(`Ranks shown${name}`, 'time of the compute stream by cause, whole run', ['', ...used.map(([b]) => bucketWords([run], b))],
    run.rows.map((row, at) => ({cells: [`${rowName(run, at)}, rank ${row.rank}`, ...used.map(([, b]) => seconds(row.buckets_ps[b]))]})));
}

function memoryTable(run, name) {
  const items = [...new Set(run.stages.flatMap((s) => s.bill.map(([what]) => what)))];
  const sums = run.stages.map((s) => adding(s.bill.map(([, b]) => b)));
  const cell = (k, what) => {
    const at = run.stages[k].bill.findIndex(([w]) => w === what);
    return at < 0 ? '\u2013' : `${sums[k].parts[at]} ${sums[k].unit}`;
  };
  const all = (say) => run.stages.map((s, k) => `${say(sums[k], s)} ${sums[k].unit}`);
  const rows = items.map((what) => ({cells: [what, ...run.stages.map((_, k) => cell(k, what))]}));
  rows.push({sum: true, cells: ['peak: their sum', ...all((sum) => sum.sum)]});
  rows.push({cells: ['left free', ...all((sum, s) => sum.rest(s.capacity).replace('-', '\u2212'))]});
  rows.push({sum: true, cells: ['memory of the GPU', ...all((sum, s) => sum.of(s.capacity))]});
  rows.push({cells: ['verdict', ...run.stages.map((s) => s.verdict)]});
  rows.push({cells: ['micro-batches held', ...run.stages.map((s) => s.held)]});
  rows.push({cells: ['layers', ...run.stages.map((s) => s.layers)]});
  return table(`Memory${name}`, 'of a GPU at the fullest moment of its stage; rounded so that the lines add up', ['', ...run.stages.map((_, s) => `stage ${s}`)], rows);
}

function trafficTable(run, name) {
  return table(`Traffic${name}`, 'bytes that all GPUs send in a step', ['', 'NVLink', 'network'],
    run.figures.traffic.map(([group, nvlink, net]) => ({cells: [group, bytes(nvlink), bytes(net)]})));
}

/* Who gets most rows, layer by layer: those that cost most, and all of them below. */
const EXPERT_LAYERS = 8;

function expertsTable(run, name) {
  const step = run.figures.step_time_s;
  const cells = (x) => ({cells: [`layer ${x.layer}`, `ep ${x.ep}, rank ${x.rank}`, `\u00d7 ${x.load.toFixed(2)}`, secs(x.waited_s), share(x.waited_s / step)]});
  const head = ['', 'fullest expert rank', 'its rows', 'waiting', 'of the step'];
  const most = [...run.experts].sort((a, b) => b.waited_s - a.waited_s).slice(0, EXPERT_LAYERS);
  const waited = run.experts.reduce((sum, x) => sum + x.waited_s, 0);
  const few = most.length === run.experts.length;
  const rows = (few ? run.experts : most).map(cells);
  rows.push({sum: true, cells: [`all ${run.experts.length} layers`, '', '', secs(waited), share(waited / step)]});
  const card = table(`Who waits for experts${name}`, 'exchanges begin when the last rank of their group is ready; rows over the mean, waiting a GPU' +
    (few ? '' : ', layers that are waited for longest'), head, rows);
  if (!few) {
    card.append(el('details', {}, el('summary', {}, 'layer by layer'), ...table('', '', head, run.experts.map(cells)).childNodes));
  }
  return card;
}

const LINK_WORDS = {nvlink: 'NVLink', pcie: 'PCIe', nic: 'NIC', leaf_uplink: 'leaf uplinks', pod_uplink: 'pod uplinks'};

function linksTable(run, name) {
  return table(`Links${name}`, 'of those used: share of their capacity, and the busiest', ['', 'used', 'bytes', 'mean', 'peak', 'busiest'],
    Object.entries(run.links).map(([key, c]) => ({cells: [LINK_WORDS[key] || key, `${c.used} of ${c.links}`, bytes(c.bytes), share(c.mean_utilisation),
      share(c.peak_utilisation), c.busiest.length > 0 ? `${c.busiest[0].name} ${share(c.busiest[0].mean_utilisation)}` : '']})));
}

function fillTables(place, runs, figures) {
  const ready = runs.filter((run) => run.figures), all = [];
  if (ready.length === runs.length) {
    all.push(figuresTable(runs, figures), breakdownTable(runs));
  }
  runs.forEach((run, r) => {
    const name = runs.length > 1 ? `, ${'AB'[r]}` : '';
    all.push(memoryTable(run, name));
    if (run.path.length > 0) { all.push(pathTable(run, name)); }
    if (run.figures && run.experts) { all.push(expertsTable(run, name)); }
    if (run.figures && run.figures.traffic.length > 0) { all.push(trafficTable(run, name)); }
    if (run.links && Object.keys(run.links).length > 0) { all.push(linksTable(run, name)); }
    all.push(rowsTable(run, name));
  });
  place.replaceChildren(...inColumns(all));
}

/* Two columns of about the same height, each table in the shorter one; wide tables after them. */
function inColumns(tables) {
  const columns = [0, 1].map(() => ({node: el('div', {class: 'column'}), rows: 0}));
  tables.filter((t) => !t.classList.contains('wide')).forEach((t) => {
    const to = columns[0].rows <= columns[1].rows ? columns[0] : columns[1];
    to.node.append(t);
    to.rows += t.querySelectorAll('tr').length + 3;
  });
  return [...columns.map((column) => column.node), ...tables.filter((t) => t.classList.contains('wide'))];
}
