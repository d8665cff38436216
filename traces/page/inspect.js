/* inspect.js - the tip under the pointer, the panel of the chosen slice, and the walk back through
 * what each slice waited for. */

function swatch(key) {
  return el('i', {style: `background:${colours.css(key)}`, 'aria-hidden': 'true'});
}

/* ---- the tip ---- */

function tipOf(timeline, spot) {
  const run = timeline.runs[spot.run];
  if (spot.i === undefined) {
    return memoryTip(timeline, spot);
  }
  const i = spot.i, kind = run.kinds[run.kind[i]];
  const what = [el('b', {}, sliceName(run, i), el('span', {}, seconds(run.dur[i]))),
    el('p', {class: 'dim'}, `${rowName(run, run.row[i])} \u00b7 ${run.lane_names[run.lane[i]]} \u00b7 from ${seconds(run.start[i])}`)];
  if (kind.sort === 'pass') {
    const parts = run.mixes[run.mix[i]].filter(([b]) => colours.isIdle(run.buckets[b]));
    if (parts.length > 0) {
      what.push(el('p', {}, 'Waits inside: ' + parts.map(([b, t]) => `${BUCKET_WORDS[run.buckets[b]]} ${seconds(t)}`).join(', ')));
    }
  }
  what.push(el('p', {}, why(run, i)));
  return what;
}

/* The step function at a time. */
function memoryAt(memory, t) {
  let at = memory.points[0];
  for (const point of memory.points) {
    if (point.t > t) {
      break;
    }
    at = point;
  }
  return at;
}

function memoryTip(timeline, spot) {
  const run = timeline.runs[spot.run], row = run.rows[spot.row];
  const at = memoryAt(timeline.memory[spot.run][spot.row], spot.t);
  const parts = [...row.fixed.map((b, k) => [MEMORY[k][0], b]), ['activations', at.kept], ['the current pass', at.passing], ['reserve', row.reserve]];
  return [el('b', {}, 'Memory', el('span', {}, `${bytes(parts.reduce((sum, [, b]) => sum + b, 0))} of ${bytes(row.capacity)}`)),
    el('p', {class: 'dim'}, `${rowName(run, spot.row)} \u00b7 at ${seconds(spot.t)}`),
    el('p', {}, sumWords(parts)),
    el('p', {}, `Peak ${bytes(row.peak)}, with ${held(row.peak_held)} held. Reserve: context, communicators and, as at the peak, fragmentation.`)];
}

/* ---- the walk ---- */

/* Every slice from the chosen one back to the start of the run. */
function beginTrail(runs, spot) {
  const slices = chainOf(runs[spot.run], spot.i);
  shown.trail = {run: spot.run, slices, set: new Set(slices), at: 0, path: false};
}

/* The critical path, from its end: it says where time goes, also where slices are not shown. */
function beginPath(runs, r) {
  const run = runs[r], slices = run.path.map((s) => s.slice).filter((s) => s >= 0);
  const once = slices.filter((s, k) => s !== slices[k - 1]);
  shown.trail = {run: r, slices: once, set: new Set(once), at: 0, path: true};
}

/* ---- the panel ---- */

function mixBar(run, mix, total) {
  const bar = el('div', {class: 'bar'});
  mix.forEach(([b, t]) => {
    const bucket = run.buckets[b];
    bar.append(el('span', {style: `width:${100 * t / total}%;background:${colours.css(BUCKET_LOOK[bucket] || bucket)}`,
      title: `${BUCKET_WORDS[bucket]} ${seconds(t)}`}));
  });
  return bar;
}

const TRAIL_SHOWN = 14;

function trailList(run, trail, choose) {
  const from = Math.max(0, Math.min(trail.at - 3, trail.slices.length - TRAIL_SHOWN));
  const list = el('ol', {class: 'trail'});
  trail.slices.slice(from, from + TRAIL_SHOWN).forEach((i, k) => {
    list.append(el('li', {}, el('button', {type: 'button', 'aria-current': from + k === trail.at ? 'true' : undefined,
      onclick: () => choose(from + k)}, el('span', {}, placedName(run, i)), el('span', {}, seconds(run.dur[i])))));
  });
  const left = trail.slices.length - from - TRAIL_SHOWN;
  return el('div', {}, list, left > 0 ? el('p', {class: 'small'}, `and ${left} more, back to ${seconds(run.start[trail.slices[trail.slices.length - 1]])}`) : null);
}

/* What is said of the chosen slice; `act` has the buttons' deeds. */
function fillPanel(panel, timeline, act) {
  const spot = shown.chosen, trail = shown.trail;
  panel.replaceChildren();
  panel.classList.toggle('chosen', Boolean(spot || shown.range));
  if (shown.range) { fillRange(panel, timeline, act); }
  if (!spot && shown.range) {
    return;
  }
  if (!spot) {
    panel.append(el('h3', {}, 'Nothing selected'),
      el('p', {class: 'small'}, 'Point at a slice to see what it is and why it started then. Click it to follow, slice by slice, what it waited for, back to the start of the run.'),
      el('div', {class: 'walk'}, ...timeline.runs.filter((run) => run.path.length > 0).map((run, k) =>
        el('button', {type: 'button', onclick: () => act.path(timeline.runs.indexOf(run))},
          timeline.runs.length > 1 ? `Critical path of ${'AB'[k]}` : 'Show the critical path'))), timeline.help);
    return;
  }
  const run = timeline.runs[spot.run], i = spot.i, kind = run.kinds[run.kind[i]];
  panel.append(el('h3', {}, swatch(lookOf(run, i)), sliceName(run, i)),
    el('p', {class: 'where'}, (timeline.runs.length > 1 ? 'AB'[spot.run] + ' \u00b7 ' : '') + rowName(run, run.row[i]) + ' \u00b7 ' + rankName(run, run.row[i])),
    el('p', {class: 'why'}, why(run, i)));
  const facts = el('dl', {});
  detailOf(run, i).forEach(([name, value]) => facts.append(el('dt', {}, name), el('dd', {}, String(value))));
  panel.append(facts);
  if (kind.sort === 'pass') {
    const mix = run.mixes[run.mix[i]];
    panel.append(mixBar(run, mix, run.dur[i]),
      el('p', {class: 'small'}, mix.map(([b, t]) => `${BUCKET_WORDS[run.buckets[b]]} ${seconds(t)}`).join(', ')));
  }
  panel.append(el('div', {class: 'walk'},
    el('button', {type: 'button', id: 'b-back', onclick: () => act.walk(1), disabled: trail && trail.at + 1 >= trail.slices.length},
      '\u2190 Walk back'),
    el('button', {type: 'button', onclick: () => act.walk(-1), disabled: !trail || trail.at === 0}, 'Forward \u2192'),
    el('button', {type: 'button', onclick: () => act.clear()}, 'Clear')));
  if (trail) {
    panel.append(el('h3', {}, trail.path ? 'Critical path, from its end' : 'What it waited for'), trailList(run, trail, act.jump));
  }
}
