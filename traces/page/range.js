/* range.js - a stretch of time that a reader has marked, and where the time of the rows shown goes in
 * it. */

/* Time of the compute streams from `from` to `to`, by bucket, in whole picoseconds: together they are
 * the time there is. A pass that is cut counts by the share inside, each of its parts alike. */
function sumsIn(run, from, to) {
  const sums = run.buckets.map(() => 0);
  run.lanes.filter((l) => l.lane === 0).forEach((lane) => {
    for (let i = Math.max(lastBefore(run, lane, from), lane.first); i < lane.first + lane.n && run.start[i] < to; i++) {
      const inside = Math.min(endOf(run, i), to) - Math.max(run.start[i], from), kind = run.kinds[run.kind[i]];
      if (inside <= 0) {
        continue;
      }
      if (kind.sort === 'idle') {
        sums[run.buckets.indexOf(kind.name)] += inside;
        continue;
      }
      let before = 0, counted = 0;
      run.mixes[run.mix[i]].forEach(([bucket, t]) => {
        before += t;
        const now = Math.round(inside * (before / run.dur[i]));
        sums[bucket] += now - counted;
        counted = now;
      });
    }
  });
  return sums;
}

const GROUPED = [['computation', (b) => !colours.isIdle(b)], ['exposed communication', (b) => b.startsWith('exposed_')],
  ['idle', (b) => b.startsWith('bubble_')]];

/* The table of the panel. */
function rangeTable(runs, range) {
  const sums = runs.map((run) => sumsIn(run, range.from, range.to)), one = runs.length === 1;
  const all = sums.map((s) => s.reduce((a, b) => a + b, 0));
  const line = (name, of, sum) => el('tr', {class: sum ? 'sum' : undefined}, el('th', {scope: 'row'}, name),
    ...of.flatMap((t, r) => [el('td', {}, seconds(t)), ...(one ? [el('td', {}, all[r] > 0 ? share(t / all[r]) : '')] : [])]));
  const body = el('tbody', {});
  GROUPED.forEach(([name, is]) => {
    const own = runs[0].buckets.map((b, k) => [b, k]).filter(([b, k]) => is(b) && sums.some((s) => s[k] > 0));
    if (own.length > 0) {
      body.append(line(name, sums.map((s) => own.reduce((sum, [, k]) => sum + s[k], 0)), true));
      own.forEach(([b, k]) => body.append(line(el('span', {class: 'part'}, swatch(BUCKET_LOOK[b] || b), bucketWords(runs, b).replace(/^(bubble:|exposed) /, '')), sums.map((s) => s[k]))));
    }
  });
  body.append(line('all', all, true));
  return el('table', {id: 'sums'}, el('caption', {class: 'visually-hidden'}, 'Time of the rows shown in the selected range'),
    el('thead', {}, el('tr', {}, ...['', ...(one ? ['time', 'share'] : ['A', 'B'])].map(headCell))), body);
}

function rangeWords(range) {
  return `${seconds(range.from)} to ${seconds(range.to)}, ${seconds(range.to - range.from)} long`;
}

/* The same in a sentence. */
function rangeSaid(runs, range) {
  return `Range from ${rangeWords(range)}. ` + runs.map((run, r) => {
    const sums = sumsIn(run, range.from, range.to), all = sums.reduce((a, b) => a + b, 0);
    return nameOf(runs, r) + GROUPED.map(([name, is]) => `${name} ${share(all > 0 ? sums.reduce((sum, t, k) => sum + (is(run.buckets[k]) ? t : 0), 0) / all : 0)}`).join(', ');
  }).join('. ');
}

function fillRange(panel, timeline, act) {
  const range = shown.range, n = timeline.runs.map((run) => run.rows.length);
  panel.append(el('h3', {}, 'Selected range'), el('p', {class: 'where'}, rangeWords(range)), rangeTable(timeline.runs, range),
    el('p', {class: 'small'}, `Sums over the ${n.join(' and ')} rank${n.length + n[0] > 2 ? 's' : ''} shown. Of a pass that the range cuts, each part counts by the share inside.`),
    el('div', {class: 'walk'}, el('button', {type: 'button', onclick: () => timeline.show(range.from, range.to)}, 'Zoom to it'),
      el('button', {type: 'button', onclick: () => act.mark(null)}, 'Clear range')));
}

Object.assign(Timeline.prototype, {
  /* The range between two lines, what lies outside a little veiled. */
  drawRange() {
    const c = this.context, top = LANE.axis - 8, high = this.height - top;
    const at = (t) => Math.min(Math.max(this.x(t), this.left), this.right), x0 = at(shown.range.from), x1 = at(shown.range.to);
    c.fillStyle = this.css('card');
    c.globalAlpha = 0.45;
    c.fillRect(this.left, top, x0 - this.left, high);
    c.fillRect(x1, top, this.right - x1, high);
    c.globalAlpha = 1;
    c.strokeStyle = this.css('mark');
    c.lineWidth = 1.5;
    [x0, x1].forEach((x) => {
      c.beginPath();
      c.moveTo(x, top);
      c.lineTo(x, this.height);
      c.stroke();
    });
  },
});
