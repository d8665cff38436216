/* page.js - puts the page together and listens. */

const $ = (id) => document.getElementById(id);

function readData() {
  try {
    const data = JSON.parse($('data').textContent);
    data.runs.forEach(decodeRun);
    return data;
  } catch (error) {
    $('trouble').hidden = false;
    $('trouble').append(el('b', {}, 'This page is damaged: '), error.message);
    throw error;
  }
}

const data = readData(), runs = data.runs;

/* ---- head and foot ---- */

/* What tells two runs apart in a few words: what differs of the plan, else the file, else which. */
function label(run, r) {
  const words = (x) => [x.model, `${x.ranks} GPUs`, x.cluster, x.schedule, `pp ${x.pipeline}`, `tp ${x.tensor}`, `cp ${x.context}`,
    `ep ${x.expert}`, `etp ${x.expert_tensor}`, `dp ${x.data}`, `v ${x.chunks}`, `m ${x.micro_batches}`, x.stack];
  const file = (x) => x.file === '-' ? 'standard input' : x.file.replace(/^.*\//, '');
  if (runs.length === 1) {
    return file(run);
  }
  const other = words(runs[1 - r]), own = words(run).filter((w, k) => w && w !== other[k]);
  return file(run) !== file(runs[1 - r]) ? file(run) : own.join(', ') || `configuration ${run.digest.slice(0, 6)}`;
}

function fillHead() {
  const first = runs[0];
  runs.forEach((run, r) => { run.label = label(run, r); });
  const title = runs.length > 1 ? `${runs[0].label} against ${runs[1].label}` : `${first.model || 'Model'} on ${first.ranks} GPUs`;
  $('title').textContent = title;
  document.title = `${title} \u2013 trainyard`;
  const lines = first.head.trim().split('\n');
  const of = (run) => `${run.model || 'model'} on ${run.ranks} GPUs`;
  const stacks = () => runs[0].stack === runs[1].stack ? `framework ${first.stack}` : `framework A ${first.stack}, B ${runs[1].stack}`;
  $('subtitle').textContent = runs.length > 1 ? `A above, B below, on one time axis \u00b7 ` +
      (of(runs[1]) === of(first) ? of(first) : `A ${of(first)}, B ${of(runs[1])}: different work, compare with care`) + ` \u00b7 ${stacks()}` +
      ` \u00b7 ${first.file}${runs[1].file !== first.file ? ' and ' + runs[1].file : ''}`
    : `${lines.slice(-2).join(' \u00b7 ')} \u00b7 ${first.file}`;
  const troubles = runs.filter((run) => run.trouble);
  if (troubles.length > 0) {
    $('trouble').hidden = false;
    $('trouble').append(el('b', {}, 'This run can never finish. The page shows the run until it stopped.'),
      ...troubles.map((run) => el('pre', {}, run.trouble)));
  }
}

function tile(what, value, note, other, kind) {
  return el('div', {class: 'tile'}, el('div', {class: 'what'}, what), el('div', {class: 'value ' + (kind || '')}, value),
    note ? el('div', {class: 'note'}, note) : null, other ? el('div', {class: 'other'}, other) : null);
}

function points(x) {
  return `${x < 0 ? '\u2212' : '+'}${(100 * Math.abs(x)).toFixed(1)} points`;
}

function fillTiles() {
  const [a, b] = runs, place = $('tiles');
  const both = b && a.figures && b.figures;
  const other = (key, format, better) => { /* of shares the difference is in points */
    if (!both) { return null; }
    const x = a.figures[key], y = b.figures[key];
    if (Math.abs(y - x) < 1e-6 * Math.abs(x)) { return `B ${format(y)}, the same`; }
    return el('span', {}, `B ${format(y)} `, el('span', {class: (y - x) * better > 0 ? 'better' : 'worse'}, format === share ? points(y - x) : signedShare(y / x - 1)));
  };
  const fullest = (run) => run.stages.reduce((m, s) => (s.total / s.capacity > m.total / m.capacity ? s : m));
  if (a.figures) {
    const f = formulaShare(a);
    place.append(tile(both ? 'Step time, A' : 'Step time', secs(a.figures.step_time_s), `${secs(a.figures.ideal_s)} without bubbles`, other('step_time_s', secs, -1)),
      tile('Throughput', count(a.figures.tokens_per_s), `tokens/s, ${count(a.figures.tokens_per_s_per_gpu)} per GPU`, other('tokens_per_s', count, 1)),
      tile('MFU', share(a.figures.mfu), `${a.figures.model_tflops_per_gpu.toFixed(1)} TFLOP/s per GPU`, other('mfu', share, 1)),
      a.pipeline === 1 ? tile('Waiting', share(idleShare(a)), 'for communication', both ? `B ${share(idleShare(b))}` : null)
        : tile('Bubble', share(a.figures.bubble_fraction), f ? `${share(f.share)} by formula` : 'no formula published', other('bubble_fraction', share, -1)));
  } else {
    place.append(tile('Stopped at', seconds(a.makespan_ps), 'deadlock'));
  }
  const s = fullest(a), t = b && fullest(b);
  place.append(tile('Memory', bytes(s.total), `of ${bytes(s.capacity)}: ${s.verdict}`,
    t ? `B ${bytes(t.total)}: ${t.verdict}` : null, s.verdict === 'does not fit' ? 'worse' : ''));
  const layout = (run) => `pp ${run.pipeline}, tp ${run.tensor}, ${run.context > 1 ? `cp ${run.context}, ` : ""}${run.expert > 1 ? `ep ${run.expert}, ` : ""}${run.expert_tensor > 1 ? `etp ${run.expert_tensor}, ` : ""}dp ${run.data}`;
  place.append(tile(a.schedule === 'file' ? 'own schedule' : a.schedule, `m = ${a.micro_batches}`, layout(a), b ? `B ${b.schedule}, m = ${b.micro_batches}, ${layout(b)}` : null));
}

function fillFoot() {
  const foot = $('foot');
  foot.append(el('p', {}, 'Made by'), el('code', {}, data.command));
  runs.forEach((run, r) => foot.append(el('p', {}, `${nameOf(runs, r)}${run.file}: configuration ${run.digest}, seed ${run.seed}, ` +
    `${count(run.tasks)} tasks on ${run.ranks} GPUs, ${run.engine} engine, sharing ${run.sharing}; ${run.rows.length} of ${run.ranks} ranks shown.`)));
  foot.append(el('p', {}, `trainyard ${data.version}. Times are exact to the picosecond of the simulated clock. The page loads nothing from anywhere.`));
}

/* ---- controls ---- */

const ROWS_WITH_ALL = 48; /* guess: beyond, communication and memory are shown when asked for */

if (runs.reduce((n, run) => n + run.rows.length, 0) > ROWS_WITH_ALL) {
  shown.comm = shown.memory = false;
}
const timeline = new Timeline(runs, $('canvas'), $('overview'));
/* Of two runs both are seen at once, if need be without what is below their passes. */
function makeRoom() {
  fillLegend();
  for (const name of ['comm', 'memory']) {
    timeline.layout();
    if (runs.length > 1 && $('canvas').getBoundingClientRect().top + window.scrollY + timeline.height > window.innerHeight) {
      shown[name] = false;
    }
  }
}

fillHead();
fillTiles();
makeRoom();
const usualRows = ROWS.filter((name) => shown[name]).join();
const keep = keepAddress(timeline, usualRows, () => { readAddress(timeline, act, usualRows); paint(); });

/* What was under the pointer is elsewhere. */
function hideTip() {
  $('tip').hidden = true;
  shown.over = null;
}
timeline.moved = hideTip;
timeline.drawn = () => {
  const words = `${seconds(view.from)} \u2013 ${seconds(view.to)} of ${seconds(timeline.end)}`;
  if ($('window').textContent !== words) { $('window').textContent = words; }
  keep();
};

function redraw() {
  hideTip();
  timeline.resize();
  $('panel').style.setProperty('--high', Math.max(timeline.height + 36, 420) + 'px');
  timeline.draw();
}

function say(text) {
  $('live').textContent = text;
}

const act = {
  choose(spot, keepTrail) {
    shown.chosen = spot;
    if (!keepTrail) {
      const trail = shown.trail, at = spot && trail && trail.path && trail.run === spot.run ? trail.slices.indexOf(spot.i) : -1;
      if (!spot) {
        shown.trail = null;
      } else if (at >= 0) {
        trail.at = at; /* on the critical path that is shown: go on from there */
      } else {
        beginTrail(runs, spot);
      }
    }
    if (spot) {
      const run = runs[spot.run];
      timeline.reveal(spot.run, spot.i);
      say(`${placedName(run, spot.i)}, ${seconds(run.dur[spot.i])}, from ${seconds(run.start[spot.i])}. ${why(run, spot.i)}`);
    }
    act.refresh();
  },
  /* One slice further back (1), or the way we came (-1). */
  walk(step) {
    const trail = shown.trail;
    if (trail && trail.at + step >= 0 && trail.at + step < trail.slices.length) {
      act.jump(trail.at + step);
    }
  },
  jump(at) {
    shown.trail.at = at;
    act.choose({run: shown.trail.run, i: shown.trail.slices[at]}, true);
  },
  path(r) {
    beginPath(runs, r);
    if (shown.trail.slices.length > 0) { act.jump(0); }
  },
  clear() {
    player.clear();
    shown.range = null;
    act.choose(null);
    say('Selection cleared');
  },
  /* Selects a range of time, or none; told when it is done. */
  mark(from, to, quiet) {
    const [a, b] = [from, to].sort((x, y) => x - y).map((t) => Math.round(Math.min(Math.max(t, 0), timeline.end)));
    shown.range = from === null || a === b ? null : {from: a, to: b};
    if (!quiet) { say(shown.range ? rangeSaid(runs, shown.range) : 'Range cleared'); }
    act.refresh();
  },
  refresh() {
    $('b-path').setAttribute('aria-pressed', String(Boolean(shown.trail && shown.trail.path)));
    fillPanel($('panel'), timeline, act);
    timeline.draw();
  },
};

const player = makePlayer(timeline, $('now'), () => {
  $('b-play').textContent = player.playing() ? 'Pause' : 'Play';
  $('b-play').setAttribute('aria-pressed', String(player.playing()));
});

/* Seen and heard. */
function tell(text) {
  $('now').textContent = text;
  say(text);
}

function stepTo(by) {
  player.step(by);
  say($('now').textContent);
}

function pictureName() {
  return runs.map((run) => run.label.replace(/\.\w+$/, '').replace(/[^\w.-]+/g, '-')).join('-against-') + '.svg';
}

function toggle(id, name) {
  $(id).addEventListener('click', () => {
    shown[name] = !shown[name];
    $(id).setAttribute('aria-pressed', String(shown[name]));
    redraw();
  });
}

/* Path of A, then of B, then none. */
function nextPath() {
  const at = shown.trail && shown.trail.path ? shown.trail.run + 1 : 0;
  const next = runs.findIndex((run, r) => r >= at && run.path.length > 0);
  if (next < 0) { act.clear(); } else { act.path(next); }
}

function zoomToChosen() {
  if (shown.range) {
    timeline.show(shown.range.from, shown.range.to);
  }
  if (shown.range || !shown.chosen) {
    return;
  }
  const run = runs[shown.chosen.run], i = shown.chosen.i;
  timeline.show(run.start[i] - 1.5 * run.dur[i], endOf(run, i) + 1.5 * run.dur[i]);
}

/* The first slice in sight: where the keyboard begins. */
function firstSpot() {
  const item = timeline.items.find((k) => k.type === 'lane');
  return item ? {run: item.run, i: Math.max(lastBefore(runs[item.run], item.lane, view.from), item.lane.first)} : null;
}

let pointed = null; /* pixels from the left of the timeline, while the pointer is what was used last */

/* Where zooming goes: to what is under the pointer, else to the selection. */
function focus() {
  const {chosen, range} = shown;
  if (pointed !== null) {
    return timeline.time(pointed);
  }
  return chosen ? runs[chosen.run].start[chosen.i] + runs[chosen.run].dur[chosen.i] / 2 : range ? (range.from + range.to) / 2 : undefined;
}

/* The slice before or after, or the first one in sight; with Shift the range grows to hold it. */
function go(way, step, shift) {
  const last = shown.chosen, spot = last ? timeline[way](last, step) : firstSpot();
  pointed = null;
  act.choose(spot);
  if (shift && spot) {
    const all = [last || spot, spot].flatMap(({run, i}) => [runs[run].start[i], endOf(runs[run], i)]).concat(shown.range ? [shown.range.from, shown.range.to] : []);
    act.mark(Math.min(...all), Math.max(...all));
  }
}

/* The range of the selection, else of what is in sight. */
function markChosen() {
  const {chosen} = shown;
  if (chosen) {
    act.mark(runs[chosen.run].start[chosen.i], endOf(runs[chosen.run], chosen.i));
  } else {
    act.mark(view.from, view.to);
  }
}

/* Of the timeline: what they do elsewhere on a page is something else. */
const OWN_KEYS = {ArrowUp: () => go('across', -1), ArrowDown: () => go('across', 1)};
/* Of the whole page. Those that switch something do not when they are held down. */
const KEYS = {
  ArrowLeft: (shift) => go('neighbour', -1, shift),
  ArrowRight: (shift) => go('neighbour', 1, shift),
  Enter: () => act.walk(1),
  Backspace: () => act.walk(-1),
  w: () => timeline.zoom(0.6, focus()), '+': () => timeline.zoom(0.6, focus()), '=': () => timeline.zoom(0.6, focus()),
  s: () => timeline.zoom(1 / 0.6, focus()), '-': () => timeline.zoom(1 / 0.6, focus()),
  a: () => timeline.pan(-0.2), d: () => timeline.pan(0.2),
  '.': () => stepTo(1), ',': () => stepTo(-1),
};
const SWITCHES = {
  Escape: () => act.clear(),
  f: zoomToChosen, r: markChosen,
  ' ': () => player.toggle(),
  0: () => timeline.show(0, timeline.end),
  c: nextPath, m: () => $('b-memory').click(), l: () => $('b-comm').click(), x: () => $('b-arrows').click(),
};

/* Whether a key is for what has the focus: words for a field, Space and Enter for what can be pressed,
 * arrows for what scrolls. */
function isTaken(key, where) {
  return where.closest('select, input:not([type=checkbox]), textarea') !== null ||
    ([' ', 'Enter'].includes(key) && where.closest('button, summary, a, input') !== null) ||
    (key.startsWith('Arrow') && where.closest('[role=region]') !== null);
}

function listenToKeys() {
  document.addEventListener('keydown', (event) => {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key, own = event.target === timeline.canvas;
    const deed = KEYS[key] || SWITCHES[key] || (own && OWN_KEYS[key]);
    if (!deed || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented ||
        (!own && (!$('everywhere').checked || isTaken(key, event.target)))) {
      return;
    }
    event.preventDefault();
    if (!event.repeat || !SWITCHES[key]) { deed(event.shiftKey); }
  });
}

/* How a pointer begins: in the axis, or with Shift, it marks a range; else it moves the view. */
function dragOf(event) {
  const t = timeline.time(Math.min(Math.max(event.offsetX, timeline.left), timeline.right));
  return {x: event.offsetX, from: view.from, to: view.to, moved: false, mark: event.shiftKey || event.offsetY < LANE.axis - 6 ? t : null};
}

function listenToPointer() {
  const canvas = $('canvas'), tip = $('tip');
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    drag = dragOf(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag) {
      const by = (drag.x - event.offsetX) / (timeline.right - timeline.left) * (drag.to - drag.from);
      drag.moved = drag.moved || Math.abs(event.offsetX - drag.x) > 3;
      if (drag.moved && drag.mark !== null) {
        act.mark(drag.mark, Math.min(Math.max(timeline.time(event.offsetX), view.from), view.to), true);
      } else if (drag.moved) {
        timeline.show(drag.from + by, drag.to + by);
      }
      return;
    }
    pointed = event.offsetX >= timeline.left && event.offsetX <= timeline.right ? event.offsetX : null;
    const spot = timeline.hit(event.offsetX, event.offsetY), slice = spot && spot.i !== undefined ? spot : null;
    if ((shown.over && shown.over.i) !== (slice && slice.i) || (shown.over && shown.over.run) !== (slice && slice.run)) {
      shown.over = slice;
      timeline.draw();
    }
    const told = slice && shown.chosen && slice.run === shown.chosen.run && slice.i === shown.chosen.i; /* in the panel */
    tip.hidden = !spot || told;
    if (!tip.hidden) {
      tip.replaceChildren(...tipOf(timeline, spot));
      placeTip(tip, event.clientX, event.clientY, timeline.trailBoxes());
    }
  });
  canvas.addEventListener('pointerup', (event) => {
    const spot = drag && !drag.moved ? timeline.hit(event.offsetX, event.offsetY) : null;
    const {moved, mark} = drag || {moved: true};
    drag = null;
    if (moved) {
      if (mark >= 0 && shown.range) { say(rangeSaid(runs, shown.range)); }
      return;
    }
    if (mark !== null && !spot) { shown.range = null; }
    tip.hidden = true;
    if (!spot || spot.i === undefined) {
      act.choose(null);
    } else if (shown.chosen && spot.run === shown.chosen.run && spot.i === shown.chosen.i) {
      act.walk(1); /* a click on what is chosen goes on to what it waited for */
    } else {
      act.choose(spot);
    }
  });
  canvas.addEventListener('pointerleave', () => {
    pointed = null;
    hideTip();
    timeline.draw();
  });
  canvas.addEventListener('dblclick', (event) => timeline.zoom(0.35, timeline.time(event.offsetX)));
  canvas.addEventListener('wheel', (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      timeline.zoom(Math.exp(event.deltaY * 0.004), timeline.time(event.offsetX));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      timeline.pan((event.deltaX || event.deltaY) / 900);
    }
  }, {passive: false});
  const overview = $('overview');
  const centre = (event) => {
    const t = timeline.overviewTime(event.offsetX), half = (view.to - view.from) / 2;
    timeline.show(t - half, t + half);
  };
  overview.addEventListener('pointerdown', (event) => { overview.setPointerCapture(event.pointerId); centre(event); });
  overview.addEventListener('pointermove', (event) => { if (event.buttons === 1) { centre(event); } });
}

/* A canvas longer than the window is drawn where it is seen. */
function listenToScrolling() {
  let due = false;
  window.addEventListener('scroll', () => {
    $('tip').hidden = true;
    if (!due && timeline.height > window.innerHeight) {
      due = true;
      requestAnimationFrame(() => {
        due = false;
        timeline.draw();
      });
    }
  }, {passive: true});
}

function fillLegend() {
  $('legend').replaceChildren(...looksOf(runs).map((key) => {
    const chip = el('button', {type: 'button', class: 'chip', 'data-look': key, title: meaningOf(key), 'aria-pressed': String(!shown.off.has(key))}, swatch(key), LOOKS[key][0]);
    chip.addEventListener('click', () => {
      if (!shown.off.delete(key)) { shown.off.add(key); }
      chip.setAttribute('aria-pressed', String(!shown.off.has(key)));
      timeline.draw();
    });
    return chip;
  }));
}

/* What the strips under the rows are made of. */
function fillMemoryKey() {
  $('memorykey').hidden = !shown.memory;
  $('memorykey').replaceChildren(keyOf([['Memory:'], ...memoryKinds(runs).map(([words, k]) => [words, colours.memory(k)]), ['\u25be peak, and micro-batches held'],
  ['\u254c memory of the GPU']]));
}

function paintCards() {
  fillLegend();
  fillMemoryKey();
  timeline.help = helpOf(runs);
  bubblesCard($('bubbles'), runs);
  breakdownCard($('breakdown'), runs);
  othersCard($('others'), runs);
  memoryCard($('memory'), runs);
  trainingCard($('training'), runs);
}

/* All that has colours, and the buttons that say what is shown. */
function paint() {
  ROWS.forEach((name) => $('b-' + name).setAttribute('aria-pressed', String(shown[name])));
  $('palette').value = colours.palette;
  paintCards();
  act.refresh();
}

function listenToButtons() {
  document.addEventListener('mousedown', (event) => { /* a click leaves keys to the timeline */
    if (event.target.closest('.tools button, .chip')) { event.preventDefault(); }
  });
  $('b-path').hidden = runs.every((run) => run.path.length === 0);
  toggle('b-arrows', 'arrows');
  toggle('b-comm', 'comm');
  toggle('b-memory', 'memory');
  $('b-memory').addEventListener('click', fillMemoryKey);
  $('b-play').addEventListener('click', player.toggle);
  $('b-step').addEventListener('click', () => player.step(1));
  $('b-back-step').addEventListener('click', () => player.step(-1));
  $('b-copy').addEventListener('click', () => copyPicture(pictureOf(timeline, document.title), pictureName(), tell));
  $('b-save').addEventListener('click', () => savePicture(pictureOf(timeline, document.title), pictureName()));
  $('b-path').addEventListener('click', nextPath);
  $('b-in').addEventListener('click', () => timeline.zoom(0.6));
  $('b-out').addEventListener('click', () => timeline.zoom(1 / 0.6));
  $('b-fit').addEventListener('click', () => timeline.show(0, timeline.end));
  PALETTES.forEach(([value, words]) => $('palette').append(el('option', {value}, words)));
  $('palette').addEventListener('change', (event) => {
    colours.palette = event.target.value;
    paint();
  });
}

function listenToPrinting() {
  window.addEventListener('beforeprint', () => { timeline.toPaper(); paintCards(); });
  window.addEventListener('afterprint', () => { timeline.toScreen(); paint(); });
}

fillTables($('tables'), runs, data.figure_rows);
placesCard($('places'), runs);
fillFoot();
listenToButtons();
readAddress(timeline, act, usualRows);
redraw();
listenToKeys();
listenToPointer();
listenToPrinting();
listenToScrolling();
paint();
new ResizeObserver(() => {
  if (!timeline.paper && $('canvas').clientWidth !== timeline.width) { /* charts are as wide as there is room, too */
    redraw();
    paint();
  }
}).observe($('plot'));
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  redraw();
  paint();
});
window.trainyard = {data, runs, view, shown, timeline, player, bucketsOf, memoryOf, why, formulaShare, pictureOf, colours, contrast, mixed, inkOn,
  LOOKS, PALETTES, sumsIn, adding, MEMORY};
