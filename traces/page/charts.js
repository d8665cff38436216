/* charts.js - bubbles beside the formula, the breakdown by stage, memory at the peak. */

function signedShare(x) {
  return (x < 0 ? '\u2212' : '+') + share(Math.abs(x));
}

/* A legend of small squares; words alone where there is no background. */
function keyOf(entries) {
  return el('div', {class: 'key', 'aria-hidden': 'true'},
    ...entries.map(([words, background]) => el('span', {}, background ? el('i', {style: `background:${background}`}) : null, words)));
}

function nameOf(runs, r) {
  return runs.length > 1 ? `${'AB'[r]} ` : '';
}

/* ---- bubbles ---- */

const BUBBLE = ['bubble_fill', 'bubble_stall', 'bubble_drain', 'exposed_pipeline'];

/* Share of idle time that the published makespan implies, or null. */
function formulaShare(run) {
  const f = run.formula;
  if (!f || !f.makespan_s) {
    return null;
  }
  const work = run.micro_batches * run.chunks * f.slices * (f.forward_s + f.backward_s);
  return {makespan: f.makespan_s, share: 1 - work / f.makespan_s, work};
}

/* (p - 1) / (v m + p - 1), where that is what the formula comes to; else null. */
function simpleShare(run, f) {
  const p = run.pipeline, most = run.chunks * run.micro_batches + p - 1;
  return p > 1 && Math.abs((p - 1) / most - f.share) < 1e-6 ? {p, most, words: `(p \u2212 1) / (${run.chunks > 1 ? 'v m' : 'm'} + p \u2212 1) = ${p - 1} / ${most}`} : null;
}

/* A bar of parts [share, look or colour, title], drawn as SVG, whose patterns printers know. */
function measure(label, parts, most, value) {
  const defs = svg('defs'), bar = svg('svg', {class: 'bar', width: '100%', height: 20, 'aria-hidden': 'true'}, defs);
  let at = 0;
  parts.forEach(([x, look, words]) => {
    const wide = most > 0 ? 100 * Math.max(x, 0) / most : 0, title = svg('title');
    title.textContent = words;
    bar.append(svg('rect', {x: at + '%', y: 0, width: wide + '%', height: 20, fill: LOOKS[look] ? svgFill(defs, look) : look}, title));
    at += wide;
  });
  return [el('span', {}, label), bar, el('b', {}, value)];
}

/* Share of the step in which a GPU, on average, has nothing to compute. */
function idleShare(run) {
  return run.buckets.filter((b) => colours.isIdle(b)).reduce((sum, b) => sum + run.figures.breakdown[b], 0) / run.figures.step_time_s;
}

/* Without a pipeline there are no bubbles: what a GPU waits for instead. */
function waitingCard(card, runs) {
  const idle = (run) => run.buckets.filter((b) => colours.isIdle(b) && run.figures.breakdown[b] > 0);
  card.replaceChildren(el('h2', {id: 'h-bubbles'}, 'Waiting'),
    el('p', {class: 'lead'}, 'There is one stage, so nobody waits for a pipeline. Share of the step in which a GPU, on average, waits for communication that nothing hides:'));
  runs.forEach((run, r) => {
    const grid = el('div', {class: 'measure'});
    grid.append(...measure(nameOf(runs, r) + 'measured', idle(run).map((b) => [run.figures.breakdown[b] / run.figures.step_time_s, b, LOOKS[b][0]]),
      Math.max(...runs.map(idleShare)), share(idleShare(run))));
    card.append(grid);
  });
  card.append(keyOf([...new Set(runs.flatMap(idle))].map((b) => [LOOKS[b][0], colours.css(b)])));
}

function bubblesCard(card, runs) {
  const ready = runs.filter((run) => run.figures);
  card.replaceChildren(el('h2', {id: 'h-bubbles'}, 'Bubbles: simulated and by formula'));
  card.hidden = ready.length === 0; /* a run that never ends has no share of idle time */
  if (card.hidden) {
    return;
  }
  if (runs.every((run) => run.pipeline === 1)) {
    waitingCard(card, runs);
    return;
  }
  const parts = (run) => BUBBLE.map((b) => [b, run.figures.breakdown[b] / run.figures.step_time_s]);
  const most = Math.max(...ready.flatMap((run) => [run.figures.bubble_fraction, (formulaShare(run) || {share: 0}).share]), 1e-9);
  card.append(el('p', {class: 'lead'}, 'Share of the step in which a GPU, on average, waits for the pipeline.'));
  ready.forEach((run) => {
    const r = runs.indexOf(run), f = formulaShare(run), grid = el('div', {class: 'measure'});
    grid.append(...measure(nameOf(runs, r) + 'measured', parts(run).map(([b, x]) => [x, b, `${LOOKS[b][0]} ${share(x)}`]),
      most, share(run.figures.bubble_fraction)));
    if (f) {
      grid.append(...measure(nameOf(runs, r) + 'formula', [[Math.max(f.share, 0), 'var(--soft)', 'by the formula']], most, share(f.share)));
    }
    card.append(grid, ...formulaWords(run, f));
  });
  card.append(keyOf(BUBBLE.filter((b) => ready.some((run) => run.figures.breakdown[b] > 0))
    .map((b) => [`${LOOKS[b][0]} ${ready.map((run) => share(run.figures.breakdown[b] / run.figures.step_time_s)).join(', ')}`, colours.css(b)])));
}

/* The formula with its numbers, and what it leaves out. */
function formulaWords(run, f) {
  const times = run.formula, out = [], simple = f && simpleShare(run, f);
  if (!f) {
    return [el('p', {class: 'small'}, `No formula is published for the makespan of ${run.schedule}.`)];
  }
  out.push(el('div', {class: 'formula'}, `${run.schedule}: ${times.expression} = ${secs(f.makespan)}\n` +
    `p = ${run.pipeline}, m = ${run.micro_batches}${run.chunks > 1 ? ', v = ' + run.chunks : ''}, F = ${secs(times.forward_s)}, ` +
    (times.weight_s > 0 ? `I = ${secs(times.input_s)}, W = ${secs(times.weight_s)}` : `B = ${secs(times.backward_s)}`) +
    `\nbubble = 1 \u2212 ${secs(f.work)} of work / ${secs(f.makespan)}` +
    `${simple ? '\n       = ' + simple.words : ''} = ${share(f.share)}`));
  const left = [], by = run.figures.bubble_fraction - f.share;
  const b = run.figures.breakdown;
  if (times.in_domain === 'no') {
    left.push(`this run is outside its domain (${times.domain})`);
  }
  if (times.slowest_over_mean > 1.005) {
    left.push(`stage ${times.slowest} takes ${share(times.slowest_over_mean - 1)} longer than the mean`);
  }
  if (b.exposed_pipeline > 0) { left.push(`messages on the wire take ${secs(b.exposed_pipeline)}`); }
  if (b.exposed_data > 0) { left.push(`data-parallel communication takes ${secs(b.exposed_data)}`); }
  if (b.optimizer > 0) { left.push(`the optimizer takes ${secs(b.optimizer)}`); }
  const apart = Math.abs(by) < 5e-4 ? 'The simulation gives what the formula gives' : `The simulation is ${(100 * Math.abs(by)).toFixed(1)} points ${by > 0 ? 'above' : 'below'} the formula`;
  out.push(el('p', {class: 'small'}, apart + (left.length > 0 ? `, which does not know that ${left.join('; ')}` : '') + `. Source: ${times.source || 'docs/internals/model.md of trainyard'}.`));
  return out;
}

/* ---- other schedules ---- */

/* Whether the others wait for the slowest stage longer than for filling and draining. */
function isUneven(run) {
  return run.formula.uneven_s > run.figures.breakdown.bubble_fill + run.figures.breakdown.bubble_drain;
}

/* What helps against it, from the simulations: layers moved between stages. */
function unevenWords(run) {
  const f = run.formula, b = run.figures.breakdown, moved = run.schedules.items.find((item) => item.balance);
  const own = run.schedules.items.find((item) => item.own);
  return `Most of it comes from uneven stages: stage ${f.slowest} takes ${share(f.slowest_over_mean - 1)} longer than the mean, and all others wait for it in every round: ` +
    `${secs(f.uneven_s)} a step. Filling and draining take ${secs(b.bubble_fill + b.bubble_drain)}. More micro-batches do not change that; moving layers may: ` +
    (moved ? `with ${moved.set[0]} the step takes ${secs(moved.step_s)} (${signedShare(moved.step_s / own.step_s - 1)}).` :
      'these stages are as even as whole layers allow; try other numbers of stages or chunks.');
}

/* Words of a row: "zb-v, 2 chunks", "1f1b, layers [15, 15, 16, 14]". */
function scheduleName(item) {
  const name = item.name === 'file' ? 'own order' : item.name;
  const layers = item.balance ? item.set[0].split('=')[1] : '';
  return name + (item.chunks > 1 ? `, ${item.chunks} chunks` : '') + (item.own ? ': this run' : layers ? `, layers ${layers.length > 24 ? 'repartitioned' : layers}` : '');
}

/* Each of them simulated, the fastest first. */
function othersTable(run, name) {
  const items = run.schedules.items, own = items.find((item) => item.own);
  const row = (item) => [secs(item.step_s), item.own ? '' : signedShare(item.step_s / own.step_s - 1), share(item.bubble),
    item.formula === null ? '\u2013' : share(item.formula), bytes(item.peak) + (item.verdict === 'fits' ? '' : item.verdict === 'tight' ? ', tight' : ', too much')];
  const heads = [name.trim(), 'step', 'change', 'bubble', 'by formula', 'fullest GPU'];
  return el('table', {}, el('caption', {class: 'visually-hidden'}, `${name}other schedules, simulated`),
    el('thead', {}, el('tr', {}, ...heads.map(headCell))),
    el('tbody', {}, ...items.map((item) => el('tr', {class: item.own ? 'this' : item.verdict === 'does not fit' ? 'nofit' : undefined},
      el('th', {scope: 'row', title: `${held(Math.round(item.held * 10) / 10)} held at most`}, scheduleName(item)), ...row(item).map((x) => el('td', {}, x))))));
}

/* What follows from the table: the cause of the bubble first, then the fastest that fits. */
function othersWords(run) {
  const items = run.schedules.items, own = items.find((item) => item.own), out = [];
  const best = items.find((item) => !item.own && item.verdict !== 'does not fit');
  if (isUneven(run)) {
    out.push(el('p', {class: 'small'}, 'Where the bubble of this run comes from: ' + unevenWords(run)));
  }
  if (best) {
    const sets = best.set.map((set) => ` --against-set ${/[^\w.=-]/.test(set) ? `'${set}'` : set}`).join('');
    out.push(el('p', {class: 'small'}, best.step_s < own.step_s ? `The fastest that fits is ${scheduleName(best)}. To see it beside this run: ` : 'None that fits is faster. To see the next one beside this run: '),
      el('code', {class: 'formula'}, `trainyard report ${run.file}${sets} -o compare.html`));
  }
  return out;
}

/* Of the first run: of two, the second is an answer already. */
function othersCard(card, runs) {
  const run = runs[0];
  card.hidden = !run.schedules || run.schedules.items.length < 2;
  card.replaceChildren();
  if (!card.hidden) {
    card.append(el('h2', {id: 'h-others'}, 'What would another schedule do?'),
      el('p', {class: 'lead'}, `Each is simulated on this job${run.schedules.no_dice ? ', this run too, without jitter, spread and uneven routing' : ''}; beside its bubble is that of its formula for the passes of this run, where the formula holds` +
        (run.formula.weight_s > 0 ? '' : ' (a backward that is split is taken as two halves, a guess)') + '.'),
      othersTable(run, nameOf(runs, 0)), ...othersWords(run));
  }
}

/* ---- bars of stacked parts ---- */

/* Pixels there are for a chart: its text is then as large as any other. */
function room(card) {
  const style = getComputedStyle(card);
  return Math.max(card.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight), 240);
}

/* rows: [{label, parts: [[value, fill, title]], note}]; returns an SVG as wide as its place. */
function stackedBars(rows, most, describe, wide) {
  const long = Math.max(...rows.map((row) => row.label.length)), left = Math.min(Math.max(92, 7 * long + 14), 0.4 * wide), right = 78, high = 23;
  const chart = svg('svg', {viewBox: `0 0 ${wide} ${rows.length * high + 2}`, width: '100%', role: 'img', 'aria-label': describe});
  rows.forEach((row, k) => {
    const y = k * high;
    let x = left;
    const label = svg('text', {x: 0, y: y + 15});
    const fit = Math.floor((left - 6) / 7); /* letters of 7 pixels */
    label.textContent = row.label.length > fit ? row.label.slice(0, fit - 1) + '\u2026' : row.label;
    chart.append(label);
    row.parts.forEach(([value, fill, title, dashed]) => {
      const w = value / most * (wide - left - right);
      const box = svg('rect', {x, y: y + 3, width: Math.max(w, 0), height: high - 7, fill});
      if (dashed) { box.setAttribute('stroke', dashed); box.setAttribute('stroke-width', '0.8'); }
      const words = svg('title');
      words.textContent = title;
      box.append(words);
      chart.append(box);
      x += w;
    });
    if (row.limit !== undefined) {
      const at = left + row.limit / most * (wide - left - right);
      chart.append(svg('path', {d: `M${at} ${y}V${y + high - 1}`, stroke: row.over ? 'var(--bad)' : 'var(--ink)', 'stroke-width': 1.5, 'stroke-dasharray': '3 2'}));
    }
    const note = svg('text', {x: wide, y: y + 15, 'text-anchor': 'end', class: 'soft'});
    note.textContent = row.note;
    chart.append(note);
  });
  return chart;
}

/* A hatched fill for SVG: one pattern a look. */
function svgFill(chartDefs, key) {
  const colour = colours.of(key);
  const lines = colours.palette === 'print' ? LOOKS[key][3][0] : colours.isIdle(key) ? 'up' : 'none';
  if (lines === 'none') {
    return colour;
  }
  const id = 'p-' + key.replace('.', '-'), print = colours.palette === 'print';
  if (!chartDefs.querySelector('#' + id)) {
    chartDefs.append(svg('pattern', {id, width: 6, height: 6, patternUnits: 'userSpaceOnUse'},
      svg('rect', {width: 6, height: 6, fill: print ? colour : colour + '2e'}),
      svg('path', {d: HATCHES[lines], stroke: print ? '#222' : colour, 'stroke-width': lines === 'dots' ? 2 : 1.2})));
  }
  return `url(#${id})`;
}

function breakdownCard(card, runs) {
  const present = runs[0].buckets.filter((b, at) => runs.some((run) => run.rows.some((row) => row.buckets_ps[at] > 0)));
  const defs = svg('defs'), rows = [], look = (b) => (bucketWords(runs, b) === 'deadlock' ? 'deadlock' : BUCKET_LOOK[b] || b);
  const ready = runs.filter((run) => run.figures);
  const most = Math.max(...runs.map((run) => run.makespan_ps)) / 1e12;
  ready.forEach((run) => rows.push({
    label: nameOf(runs, runs.indexOf(run)) + 'mean of all',
    parts: present.map((b) => [run.figures.breakdown[b] * run.steps, svgFill(defs, look(b)), `${BUCKET_WORDS[b]} ${secs(run.figures.breakdown[b])} (${share(run.figures.breakdown[b] / run.figures.step_time_s)})`]),
    note: secs(run.figures.step_time_s),
  }));
  runs.forEach((run, r) => run.rows.slice(0, 32).forEach((row, at) => rows.push({
    label: nameOf(runs, r) + (run.rows.filter((x) => x.stage === row.stage && x.job === row.job).length > 1 ? `rank ${row.rank}` : rowName(run, at)),
    parts: present.map((b) => { const t = row.buckets_ps[run.buckets.indexOf(b)]; return [t / 1e12, svgFill(defs, look(b)), `${bucketWords(runs, b)} ${seconds(t)}`]; }),
    note: share(row.buckets_ps.reduce((sum, t, b) => sum + (colours.isIdle(run.buckets[b]) ? 0 : t), 0) / run.makespan_ps) + ' busy',
  })));
  const chart = stackedBars(rows, most, 'Where the time of the compute streams goes; the numbers are in the tables Breakdown and Ranks shown.', room(card));
  chart.prepend(defs);
  card.replaceChildren(el('h2', {id: 'h-breakdown'}, 'Where the time goes'),
    el('p', {class: 'lead'}, 'Every moment of the compute stream has one cause. Hatched: waiting.'), chart,
    keyOf(present.map((b) => [bucketWords(runs, b), colours.css(look(b))])));
}

/* ---- memory ---- */

/* A bill's items as shares of memory: [colour, bytes, words]. */
function sharesOf(stage) {
  const at = {weights: 0, 'expert weights': 0, gradients: 1, 'expert gradients': 1, optimizer: 2, 'expert optimizer': 2, 'communication buffers': 3, activations: 4,
    fragmentation: 6, 'CUDA context': 6, communicators: 6, reserve: 6};
  const sum = adding(stage.bill.map(([, b]) => b)), order = (k) => (k + 1) % 7; /* the reserve first, as under the rows */
  return stage.bill.map(([what, b], k) => [at[what] === undefined ? 5 : at[what], b, `${what} ${sum.parts[k]} ${sum.unit}`])
    .sort((x, y) => order(x[0]) - order(y[0]));
}

function memoryCard(card, runs) {
  const rows = [];
  const most = 1.02 * Math.max(...runs.flatMap((run) => run.stages.map((s) => Math.max(s.total, s.capacity))));
  runs.forEach((run, r) => run.stages.forEach((stage, s) => rows.push({
    label: `${nameOf(runs, r)}stage ${s}`, limit: stage.capacity, over: stage.total > stage.capacity,
    parts: sharesOf(stage).map(([k, b, words]) => [b, colours.memory(k), words, 'rgba(0,0,0,.15)']),
    note: bytes(stage.total) + (stage.total > stage.capacity ? ' !' : ''),
  })));
  card.replaceChildren(el('h2', {id: 'h-memory'}, 'Memory at the fullest moment'),
    ...runs.flatMap((run, r) => {
      const fullest = run.stages.reduce((a, s, k) => (s.total / s.capacity > run.stages[a].total / run.stages[a].capacity ? k : a), 0);
      const stage = run.stages[fullest];
      return [el('p', {class: 'lead'}, `${nameOf(runs, r)}${stage.verdict === 'does not fit' ? 'Does not fit: ' : ''}stage ${fullest} needs most: ${bytes(stage.total)} of ${bytes(stage.capacity)} ` +
        `(dashed), in ${stage.during} ${stage.during_mb} with ${held(stage.held)} held.`), el('p', {class: 'small'}, `${sumWords(stage.bill)}.`)];
    }),
    stackedBars(rows, most, 'Memory of a GPU of each stage by what fills it; the numbers are in the table Memory.', room(card)),
    keyOf(MEMORY.map(([, words], k) => [words, colours.memory(k)])));
}
