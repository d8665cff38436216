/* words.js - numbers and slices in words. */

function seconds(ps) {
  const units = [['s', 1e12], ['ms', 1e9], ['\u00b5s', 1e6], ['ns', 1e3]];
  const size = Math.abs(ps);
  const [unit, one] = units.find(([, u]) => size >= u) || ['ps', 1];
  return size === 0 ? '0 s' : (ps / one).toPrecision(size >= 1000e12 ? 6 : 4) + ' ' + unit;
}

/* Seconds as a double. */
function secs(s) {
  return seconds(s * 1e12);
}

function bytes(b) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let at = 0;
  for (; Math.abs(b) >= 1024 && at + 1 < units.length; at++) {
    b /= 1024;
  }
  return (at === 0 ? Math.round(b) : b.toFixed(1)) + ' ' + units[at];
}

/* Parts of a sum in the unit of their sum, two digits after the point, so that they add up as they
 * stand: those with the largest remainders are rounded up. */
function adding(parts) {
  const sum = parts.reduce((a, b) => a + b, 0), units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const at = Math.max(Math.min(Math.floor(Math.log2(Math.max(sum, 1)) / 10), 5), 0), one = at === 0 ? 1 : 1024 ** at / 100;
  const whole = parts.map((b) => Math.floor(b / one)), total = Math.round(sum / one), place = at === 0 ? 0 : 2;
  const order = parts.map((b, k) => [b / one - whole[k], k]).sort((x, y) => y[0] - x[0]);
  for (let left = total - whole.reduce((a, b) => a + b, 0), k = 0; left > 0; left--, k++) {
    whole[order[k % order.length][1]]++;
  }
  const say = (n) => (n / 10 ** place).toFixed(place);
  return {unit: units[at], parts: whole.map(say), sum: say(total), rest: (of) => say(Math.round(of / one) - total), of: (b) => say(Math.round(b / one))};
}

/* "weights 8.32 + gradients 8.32 = 16.64 GiB" of pairs [what, bytes]. */
function sumWords(pairs) {
  const there = pairs.filter(([, b]) => b > 0), sum = adding(there.map(([, b]) => b));
  return `${there.map(([what], k) => `${what} ${sum.parts[k]}`).join(' + ')} = ${sum.sum} ${sum.unit}`;
}

function share(x) {
  return (100 * x).toFixed(Math.abs(x) < 0.0995 ? 2 : 1) + ' %';
}

/* "1 micro-batch", "4 micro-batches" */
function held(n) {
  return `${n} micro-batch${n === 1 ? '' : 'es'}`;
}

function count(x) {
  return Math.round(x).toLocaleString('en-US');
}

function rowName(run, row) {
  const r = run.rows[row];
  return `${r.job ? r.job + ' ' : ''}stage ${r.stage}`;
}

/* "rank 12 · dp 0 tp 4 · node 1, GPU 4" */
function rankName(run, row) {
  const r = run.rows[row];
  const at = [['dp', run.data], ['cp', run.context], ['tp', run.tensor], ['ep', run.expert], ['etp', run.expert_tensor]]
    .filter(([, size]) => size > 1).map(([axis]) => `${axis} ${r[axis]}`).join(' ');
  return `rank ${r.rank}${at ? ' \u00b7 ' + at : ''} \u00b7 node ${r.node}, GPU ${r.gpu}`;
}

/* What idle time is for, by bucket. */
const IDLE = {
  bubble_fill: ['fill', 'the first micro-batch of the step had not come this far yet'],
  bubble_stall: ['stall', 'the neighbour had not produced yet what this stage needs next'],
  bubble_drain: ['drain', 'the other stages were still at work at the end of the step'],
  exposed_pipeline: ['exposed message', 'the message was on the wire and nothing else was left to do'],
  exposed_data: ['exposed data-parallel', 'gradients or weights were on the wire and nothing hid it'],
  exposed_tensor: ['exposed tensor-parallel', 'a tensor-parallel collective ran and nothing hid it'],
  exposed_context: ['exposed context-parallel', 'a context-parallel collective ran and nothing hid it'],
  exposed_expert: ['exposed expert-parallel', 'tokens were on their way to experts and nothing hid it'],
  exposed_offload: ['exposed offload', 'states were on their way to or from the host, or updated there, and nothing hid it'],
  exposed_uneven: ['uneven work', 'another rank, whose documents take longer, had not come to the collective yet'],
};

const BUCKET_WORDS = {
  compute_forward: 'forward', compute_backward: 'backward', recompute: 'recomputation',
  optimizer: 'optimizer', bubble_fill: 'bubble: fill', bubble_stall: 'bubble: stall',
  bubble_drain: 'bubble: drain', exposed_pipeline: 'exposed messages', exposed_data: 'exposed data',
  exposed_tensor: 'exposed tensor', exposed_context: 'exposed context',
  exposed_expert: 'exposed expert', exposed_offload: 'exposed offload',
  exposed_uneven: 'uneven work',
};

/* Where all runs stopped, what they wait for in the end never comes. */
function bucketWords(runs, bucket) {
  return bucket === 'bubble_drain' && runs.every((run) => run.halted) ? 'deadlock' : BUCKET_WORDS[bucket];
}

/* "forward 3", "send act 3", "all-reduce dp", "stall before backward 2" */
function sliceName(run, i) {
  const kind = run.kinds[run.kind[i]];
  const mb = run.mb[i] >= 0 ? ' ' + run.mb[i] : '';
  if (kind.sort === 'idle' && isStuck(run, i)) {
    return 'deadlock';
  }
  if (kind.sort === 'idle') {
    return IDLE[kind.name] ? IDLE[kind.name][0] : kind.name;
  }
  if (kind.sort === 'pass') {
    return kind.name + mb;
  }
  const message = kind.name === 'send' || kind.name === 'recv';
  const layer = run.layer[i] >= 0 ? ', layer ' + run.layer[i] : '';
  return message ? `${kind.name} ${kind.group}${mb}` : kind.name + (kind.group ? ' ' + kind.group : '') + layer;
}

/* The same with its row, for sentences about other rows. */
function placedName(run, i, from) {
  return sliceName(run, i) + (from === undefined || run.row[i] !== from ? ' on ' + rowName(run, run.row[i]) : '');
}

/* The pass that a message comes from, by way of receive and send; "" when that is clear already. */
function comesFrom(run, before) {
  let i = before;
  for (let k = 0; k < 4 && i >= 0 && run.kinds[run.kind[i]].cat === 'comm.pp'; k++) {
    i = run.before[i];
  }
  const message = before >= 0 && run.kinds[run.kind[before]].name === 'recv';
  return message && i >= 0 && run.kinds[run.kind[i]].sort === 'pass'
    ? `, which ${placedName(run, i)} made` : '';
}

/* Why slice i started when it did, in one sentence. */
function why(run, i) {
  const kind = run.kinds[run.kind[i]], before = run.before[i], how = run.hows[run.how[i]];
  const via = run.via[i] >= 0 ? `, by way of rank ${run.via[i]}, which is not shown` : '';
  if (kind.sort === 'idle' && isStuck(run, i)) {
    return `It can never continue. It waits at ${run.rows[run.row[i]].stuck}.`;
  }
  if (kind.sort === 'idle') {
    const cause = IDLE[kind.name] ? IDLE[kind.name][1] : 'nothing was there to do';
    if (before >= 0 && endOf(run, before) + run.delay[i] < endOf(run, i)) {
      return `The GPU had nothing to compute: ${cause}. It is not shown at this level of detail; it came after ${placedName(run, before, run.row[i])}.`;
    }
    return `The GPU had nothing to compute: ${cause}` +
      (before >= 0 ? `. It continued after ${placedName(run, before, run.row[i])}${comesFrom(run, before)}${via}.` : '.');
  }
  if (before < 0) {
    return run.start[i] === 0 ? 'It starts with the run: nothing had to end first.'
      : 'What it waited for is not shown.';
  }
  const name = placedName(run, before, run.row[i]);
  const part = endOf(run, before) > run.start[i] ? 'a part of ' : '';
  const sent = kind.sort === 'pass' && run.kinds[run.kind[before]].name === 'send' ? ': this framework continues to compute once the message is sent' : '';
  const late = run.delay[i] > 0 ? `, ${seconds(run.delay[i])} after it was sent` : '';
  switch (how) {
    case 'stream': return `It is next in order: ${part}${name} ended${via}.`;
    case 'event': return `It waited for ${part}${name}${comesFrom(run, before)}${via}${sent}.`;
    case 'message': return `It waited for a message: ${name} arrived${late}${via}.`;
    case 'partner': return `A collective starts with its last member, which waited for ${part}${name}${via}.`;
    default: return `${part}${name} ended${via}.`;
  }
}

/* Whom a collective connects. */
const GROUPS = {
  tp: 'GPUs that share every layer', dp: 'GPUs with the same layers and other data', cp: 'GPUs that share a sequence',
  ep: 'GPUs that share experts', etp: 'GPUs that share every expert', edp: 'GPUs with the same experts and other data', mp: 'GPUs of one data-parallel replica', world: 'all GPUs',
};

function detailOf(run, i) {
  const kind = run.kinds[run.kind[i]], out = [];
  out.push(['from', seconds(run.start[i])], ['to', seconds(endOf(run, i))], ['lasts', seconds(run.dur[i])]);
  if (kind.sort === 'idle' && run.mb[i] >= 0 && !run.open[i]) {
    out.push(['before micro-batch', run.mb[i]]);
  }
  if (run.stage[i] >= 0 && run.chunks > 1) {
    out.push(['virtual stage', run.stage[i]]);
  }
  if (run.steps > 1) {
    out.push(['step', run.step[i]]);
  }
  if (kind.bytes) {
    out.push(['carries', bytes(kind.bytes)]);
    out.push(['bytes over time', (kind.bytes / run.dur[i] * 1e3).toFixed(1) + ' GB/s']);
  }
  if (GROUPS[kind.group]) {
    out.push([kind.group, GROUPS[kind.group]]);
  }
  if (kind.algorithm) {
    out.push(['algorithm', kind.algorithm]);
  }
  if (kind.acquire || kind.release) {
    out.push(['memory', [kind.acquire ? 'takes ' + bytes(kind.acquire) : '', kind.release ? 'gives back ' + bytes(kind.release) : '']
      .filter((x) => x).join(', ')]);
  }
  return out;
}

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === 'onclick') {
      node.addEventListener('click', value);
    } else if (value !== undefined && value !== false) {
      node.setAttribute(key, value === true ? '' : value);
    }
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

function svg(name, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes || {})) {
    node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/* Beside the pointer, in that corner where the tip hides fewest of some boxes of the window. */
function placeTip(tip, x, y, boxes = []) {
  const w = tip.offsetWidth, h = tip.offsetHeight, most = (at, size, all) => Math.max(4, Math.min(at, all - size - 4));
  const corners = [[x + 16, y + 20], [x + 16, y - h - 12], [x - w - 16, y + 20], [x - w - 16, y - h - 12]].map(([left, top]) => {
    const at = {left: most(left, w, window.innerWidth), top: most(top, h, window.innerHeight)};
    const hides = (box) => box.left < at.left + w && box.right > at.left && box.top < at.top + h && box.bottom > at.top;
    return {...at, hidden: boxes.filter(hides).length + (hides({left: x, right: x, top: y, bottom: y}) ? 1e6 : 0)};
  });
  const best = corners.reduce((a, b) => b.hidden < a.hidden ? b : a);
  tip.style.left = best.left + 'px';
  tip.style.top = best.top + 'px';
}
