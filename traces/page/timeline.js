/* timeline.js - the timeline on a canvas: which rows and lanes there are and where, zooming, what lies
 * under the pointer; draw.js draws it. What is drawn follows from `runs`, `view` and `shown`; nothing is kept between two drawings but the
 * places of the rows. */

const LANE = {work: 24, inner: 13, comm: 8, memory: 40, gap: 11, between: 2, head: 26, axis: 26};
const CANVAS_MAX = 16000; /* pixels: what browsers of today give a canvas at least, guess */
const OVERVIEW = 34;
const COMM = 3; /* lanes from here on are communication; before them passes, parts of layers, operations */

const ON_WHITE = {card: '#ffffff', ink: '#000000', soft: '#555555', faint: '#eeeeee', mark: '#d4145a', bad: '#b3261e'};

const shown = {
  comm: true, memory: true, arrows: false, path: false,
  off: new Set(),  /* looks that the legend has switched off */
  chosen: null,    /* {run, i} */
  over: null,      /* under the pointer */
  trail: null,     /* {run, slices: from the chosen back, at} */
  range: null,     /* {from, to}: times whose sums are told */
  now: null,       /* where playing has come to */
};
const view = {from: 0, to: 1};

class Timeline {
  constructor(runs, canvas, overview) {
    Object.assign(this, {runs, canvas, overview, context: canvas.getContext('2d')});
    this.end = Math.max(...runs.map((r) => r.makespan_ps), 1);
    this.most = this.memoryScale();
    this.memory = runs.map((run) => run.rows.map((_, row) => memoryOf(run, row)));
    this.opening = true; /* nobody has moved the view yet */
  }

  /* The fullest row and some air; up to the limit where that is near. */
  memoryScale() {
    const rows = this.runs.flatMap((run) => run.rows);
    const peak = Math.max(...rows.map((row) => row.peak), 1), room = Math.max(...rows.map((row) => row.capacity));
    return room < 1.5 * peak ? Math.max(room, peak) * 1.06 : 1.25 * peak;
  }

  /* ---- what lies where ---- */

  lanesOf(run, row) {
    return run.lanes.filter((l) => l.row === row && (l.lane < COMM || shown.comm));
  }

  layout() {
    let y = LANE.axis;
    this.items = [];
    this.tops = []; /* where rows begin, with the name of their run: paper may be cut there */
    this.runs.forEach((run, r) => {
      const head = y;
      if (this.runs.length > 1) {
        this.items.push({type: 'head', run: r, y, h: LANE.head});
        y += LANE.head;
      }
      run.rows.forEach((_, row) => {
        const top = y;
        this.tops.push(row === 0 ? head : top);
        this.lanesOf(run, row).forEach((lane) => {
          const h = lane.lane === 0 ? LANE.work : lane.lane < COMM ? LANE.inner : LANE.comm;
          this.items.push({type: 'lane', run: r, row, lane, y, h});
          y += h + LANE.between;
        });
        if (shown.memory) {
          this.items.push({type: 'memory', run: r, row, y: y + 2, h: LANE.memory});
          y += LANE.memory + 2;
        }
        this.items.push({type: 'label', run: r, row, y: top, h: y - top});
        y += LANE.gap;
      });
    });
    this.height = y;
  }

  resize() {
    this.layout();
    this.width = this.paper ? PAPER.wide : this.canvas.clientWidth;
    this.left = this.width < 640 ? 78 : 124;
    this.right = this.width - 8;
    this.style = getComputedStyle(document.documentElement);
    this.family = getComputedStyle(document.body).fontFamily;
    this.known = new Map();
    this.widths = new Map();
    this.size(this.canvas, this.height);
    if (this.opening) { this.open(); }
  }

  /* Dots for a canvas: those of the screen, or of paper, which has more. */
  size(canvas, height) {
    this.scale = Math.min(this.paper ? PAPER.dots : window.devicePixelRatio || 1, CANVAS_MAX / height);
    canvas.style.height = this.paper ? 'auto' : height + 'px';
    canvas.width = Math.round(this.width * this.scale);
    canvas.height = Math.round(height * this.scale);
  }

  css(name) {
    if (this.paper) {
      return ON_WHITE[name];
    }
    if (!this.known.has(name)) { /* asked for once a slice */
      this.known.set(name, this.style.getPropertyValue('--' + name).trim());
    }
    return this.known.get(name);
  }

  x(t) {
    return this.left + (t - view.from) / (view.to - view.from) * (this.right - this.left);
  }

  time(x) {
    return view.from + (x - this.left) / (this.right - this.left) * (view.to - view.from);
  }

  /* ---- moving ---- */

  /* What is seen first: all, where the numbers of micro-batches fit into most boxes; else as much from
   * the start on as lets them. */
  open() {
    const lasts = this.runs.flatMap((run) => run.lanes.filter((l) => l.lane === 0).flatMap((lane) =>
      Array.from({length: lane.n}, (_, k) => lane.first + k).filter((i) => run.kinds[run.kind[i]].sort === 'pass' && run.mb[i] >= 0).map((i) => run.dur[i])));
    const short = lasts.sort((a, b) => a - b)[Math.floor(lasts.length / 4)], most = Math.max(...this.runs.map((run) => run.micro_batches)) - 1;
    this.font(10, 600);
    const span = short * (this.right - this.left) / (this.context.measureText(String(most)).width + 5);
    const whole = this.runs.some((run) => run.halted) || !(span < 0.8 * this.end);
    Object.assign(view, {from: 0, to: whole ? this.end : Math.round(span)});
  }

  /* At least a nanosecond, never outside of the runs. */
  show(from, to) {
    const span = Math.min(Math.max(to - from, 1e3), this.end);
    view.from = Math.round(Math.min(Math.max(from, 0), this.end - span));
    view.to = Math.round(view.from + span);
    this.opening = false;
    this.moved();
    this.draw();
  }

  /* Around a time; one that is out of sight comes into the middle. */
  zoom(factor, around) {
    const middle = (view.from + view.to) / 2, t = around === undefined ? middle : around;
    if (t < view.from || t > view.to) {
      this.show(t - (middle - view.from) * factor, t + (view.to - middle) * factor);
      return;
    }
    this.show(t - (t - view.from) * factor, t + (view.to - t) * factor);
  }

  pan(parts) {
    const by = (view.to - view.from) * parts;
    this.show(view.from + by, view.to + by);
  }

  /* Brings a slice into sight, without changing the scale unless it would fill the window. */
  reveal(run, i) {
    const r = this.runs[run], span = view.to - view.from, from = r.start[i], to = endOf(r, i);
    if (to - from > span) {
      this.show(from - (to - from) * 0.1, to + (to - from) * 0.1);
    } else if (from < view.from || to > view.to) {
      this.show((from + to - span) / 2, (from + to + span) / 2);
    }
  }

  /* ---- what is there ---- */

  /* {run, i} of a slice, {run, row, t} in a memory strip, or null. */
  hit(x, y) {
    if (x < this.left || x > this.right) {
      return null;
    }
    const item = this.items.find((k) => k.type !== 'label' && k.type !== 'head' && y >= k.y - 1 && y <= k.y + k.h + 1);
    if (!item) {
      return null;
    }
    const t = this.time(x), run = this.runs[item.run];
    if (item.type === 'memory') {
      return t > run.makespan_ps ? null : {run: item.run, row: item.row, t};
    }
    const near = (view.to - view.from) / (this.right - this.left) * 2; /* two pixels */
    const i = lastBefore(run, item.lane, t + near);
    const fits = (k) => k >= item.lane.first && t <= endOf(run, k) + near && !shown.off.has(lookOf(run, k));
    if (i < 0) {
      return null;
    }
    return fits(i) && t >= run.start[i] ? {run: item.run, i} : fits(i - 1) && t <= endOf(run, i - 1)
      ? {run: item.run, i: i - 1} : fits(i) ? {run: item.run, i} : null;
  }

  /* The next slice in a lane (step 1 or -1), or the one at the same time in the lane above or below. */
  neighbour(spot, step) {
    const run = this.runs[spot.run];
    const lane = run.lanes.find((l) => l.row === run.row[spot.i] && l.lane === run.lane[spot.i]);
    for (let i = spot.i + step; i >= lane.first && i < lane.first + lane.n; i += step) {
      if (!shown.off.has(lookOf(run, i))) {
        return {run: spot.run, i};
      }
    }
    return spot;
  }

  across(spot, step) {
    const lanes = this.items.filter((k) => k.type === 'lane');
    const run = this.runs[spot.run], t = run.start[spot.i] + run.dur[spot.i] / 2;
    for (let k = lanes.indexOf(this.place(spot.run, spot.i)) + step; k >= 0 && k < lanes.length; k += step) {
      const other = this.runs[lanes[k].run];
      const i = Math.max(lastBefore(other, lanes[k].lane, t), lanes[k].lane.first);
      if (!shown.off.has(lookOf(other, i))) {
        return {run: lanes[k].run, i};
      }
    }
    return spot;
  }
}
