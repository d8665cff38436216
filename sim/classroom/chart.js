/* chart.js - schedules on one time axis, a lane each: a row for every rank, a box for every pass, idle time
 * hatched by its cause. The core says what starts when; nothing is worked out here. */

const LOOK_OF_ATOM = {F: 'compute.forward', B: 'compute.backward', I: 'compute.dgrad', W: 'compute.wgrad'};
const WORD_OF_ATOM = {F: 'Forward', B: 'Backward', I: 'Input gradient', W: 'Weight gradient'};
const CAUSES = ['fill', 'stall', 'drain'];
const CAUSE_WORDS = {
  fill: 'Fill: the first micro-batch is still on its way here',
  stall: 'Stall: the next pass waits for another rank',
  drain: 'Drain: this rank is done, others are not',
};
const GUTTER = 62, HEAD = 26, AXIS = 24, LANE_GAP = 14; /* of a page of usual width; `zoom` makes them larger */
const NARROW = 4; /* pixels: boxes below are drawn by a Strip */
const IDLE_INK = 0.4; /* share of its ground that hatching hides, about */

class Chart {
  constructor(canvas) {
    this.canvas = canvas;
    this.lanes = [];
    this.chosen = null; /* {lane, rank, slot} */
    this.mark = null; /* where a box that is dragged would go: {lane, rank, slot} */
  }

  show(lanes) {
    this.lanes = lanes;
    this.draw();
  }

  get end() {
    return Math.max(...this.lanes.map((lane) => lane.makespan));
  }

  /* Heights: lower where there are more rows, readable where they are few. */
  place() {
    const rows = this.lanes.reduce((n, lane) => n + lane.ranks.length, 0), width = this.canvas.clientWidth;
    const room = Math.max(330, Math.min(window.innerHeight * 0.58, 900));
    this.zoom = zoomOf(width);
    this.gutter = GUTTER * this.zoom;
    this.row = Math.max(11, Math.min(40 * this.zoom, room / rows));
    let y = 0;
    for (const lane of this.lanes) {
      lane.top = y + HEAD * this.zoom;
      y = lane.top + lane.ranks.length * this.row + LANE_GAP;
    }
    this.high = y - LANE_GAP + AXIS * this.zoom;
  }

  font(size, weight = 400) {
    return `${weight} ${Math.round(size * this.zoom)}px system-ui, sans-serif`;
  }

  x(time) {
    return this.gutter + time * this.scale;
  }

  draw() {
    if (this.lanes.length === 0 || this.canvas.clientWidth === 0) {
      return;
    }
    this.place();
    const {context: c, width} = canvasOf(this.canvas, this.high);
    this.c = c;
    this.width = width;
    this.scale = (width - this.gutter - 6) / (this.end || 1);
    this.ink = colourOf('--ink');
    this.soft = colourOf('--soft');
    this.looks = new Map();
    this.axis(colourOf('--line'));
    for (const [at, lane] of this.lanes.entries()) {
      this.title(lane);
      this.labels(lane);
      this.narrow(lane);
      lane.ranks.forEach((rank, k) => this.rank(lane, rank, k));
      lane.ranks.forEach((rank, k) => this.marks(at, rank, k));
    }
  }

  axis(line) {
    const c = this.c, y = this.high - AXIS * this.zoom;
    c.font = this.font(12);
    c.textAlign = 'center';
    c.textBaseline = 'alphabetic';
    for (const time of ticks(this.end, this.width / (90 * this.zoom))) {
      const x = Math.round(this.x(time)) + 0.5;
      c.strokeStyle = line;
      c.beginPath();
      c.moveTo(x, HEAD * this.zoom - 4);
      c.lineTo(x, y + 4);
      c.stroke();
      c.fillStyle = this.soft;
      c.fillText(number(time), x, y + 18 * this.zoom);
    }
  }

  title(lane) {
    const c = this.c, y = lane.top - 9 * this.zoom;
    c.textAlign = 'left';
    c.textBaseline = 'alphabetic';
    c.fillStyle = this.ink;
    c.font = this.font(14, 650);
    c.fillText(lane.schedule, 0, y);
    const at = c.measureText(lane.schedule).width + 10;
    c.fillStyle = this.soft;
    c.font = this.font(13);
    c.fillText(lane.untimed ? 'this order cannot run: no times' : `makespan ${number(lane.makespan)}, bubble ${percent(lane.bubble_fraction)}`, at, y);
  }

  labels(lane) {
    const c = this.c, size = Math.min(13, this.row / this.zoom);
    c.font = this.font(size);
    c.fillStyle = this.soft;
    c.textAlign = 'left';
    c.textBaseline = 'middle';
    lane.ranks.forEach((rank, k) => { c.fillText(`rank ${k}`, 0, this.top(lane, k) + this.high1 / 2); });
  }

  top(lane, k) {
    return lane.top + k * this.row;
  }

  /* Height of a rank's boxes. */
  get high1() {
    return this.row - (this.row > 14 ? 3 : 1);
  }

  /* Colours of a pass: of each kind and chunk (or pipe) once for a drawing. */
  look(lane, row) {
    const chunk = lane.v > 1 ? Math.floor(lane.stage[row] / lane.p) : lane.direction[row];
    const name = lane.phase[row] * 1024 + chunk, way = lane.v > 1 ? chunk / (lane.v - 1) : chunk;
    if (!this.looks.has(name)) {
      const key = LOOK_OF_ATOM[lane.phaseOf(row)], colour = colours.ofChunk(key, way);
      this.looks.set(name, {fill: colours.fill(this.c, key, way), ink: inkOn(colour), channels: channels(colour)});
    }
    return this.looks.get(name);
  }

  /* Idle time of a rank, piece by piece: cause, from, to. */
  idles(lane, rank, act) {
    let before = 0;
    for (let i = 0; i < rank.rows.length && !lane.untimed; i++) {
      if (rank.start[i] > before) {
        act(i === 0 ? 'fill' : 'stall', before, rank.start[i]);
      }
      before = rank.start[i] + rank.duration[i];
    }
    if (before < lane.makespan && !lane.untimed) {
      act('drain', before, lane.makespan);
    }
  }

  /* All that is too narrow to be a box, of every rank. */
  narrow(lane) {
    const left = Math.min(...lane.ranks.map((rank) => rank.duration.reduce((least, time) => Math.min(least, time), Infinity)));
    lane.narrow = left * this.scale < NARROW;
    if (!lane.narrow) {
      return;
    }
    const sharp = window.devicePixelRatio || 1, halves = lane.paired ? 2 : 1, scale = this.scale * sharp;
    const strip = new Strip(Math.ceil((this.width - this.gutter) * sharp), lane.ranks.length * halves);
    const most = NARROW / this.scale;
    lane.ranks.forEach((rank, k) => {
      for (let i = 0; i < rank.rows.length; i++) {
        if (rank.duration[i] < most) {
          const row = rank.rows[i], x = rank.start[i] * scale, w = rank.duration[i] * scale;
          const other = lane.paired && lane.half[row] === HALF.first ? row + 1 : row;
          strip.add(k * halves, x, w, this.look(lane, row).channels);
          if (halves > 1) {
            strip.add(k * 2 + 1, x, w, this.look(lane, other).channels);
          }
        }
      }
      this.idles(lane, rank, (cause, from, to) => {
        for (let half = 0; half < halves && to - from < most; half++) {
          strip.add(k * halves + half, from * scale, (to - from) * scale, channels(colours.of(`bubble_${cause}`)), IDLE_INK);
        }
      });
    });
    strip.finish();
    this.c.imageSmoothingEnabled = false;
    const part = this.high1 / halves;
    for (let line = 0; line < lane.ranks.length * halves; line++) {
      strip.drawLine(this.c, line, this.gutter, this.top(lane, Math.floor(line / halves)) + (line % halves) * part, strip.width / sharp, part);
    }
  }

  rank(lane, rank, k) {
    const c = this.c, y = this.top(lane, k), h = this.high1, least = lane.narrow ? NARROW / this.scale : 0;
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    this.size = 0;
    this.idles(lane, rank, (cause, from, to) => {
      if (to - from >= least) {
        this.idle(cause, from, to, y, h);
      }
    });
    for (let i = 0; i < rank.rows.length; i++) {
      if (rank.duration[i] >= least) {
        this.box(lane, k, i, y, h);
      }
    }
  }

  idle(cause, from, to, y, h) {
    this.c.fillStyle = colours.fill(this.c, `bubble_${cause}`, 0);
    this.c.fillRect(this.x(from), y, (to - from) * this.scale, h);
  }

  /* Of a pair of passes that overlap, one lies above the other. */
  box(lane, k, i, y, h) {
    const c = this.c, rank = lane.ranks[k], rows = lane.rowsOf(k, i), part = h / rows.length;
    const x = this.x(rank.start[i]), w = rank.duration[i] * this.scale, gap = w > 5 ? 1 : 0;
    rows.forEach((row, n) => {
      const look = this.look(lane, row);
      c.fillStyle = look.fill;
      c.fillRect(x, y + n * part, w - gap, part - (n + 1 < rows.length ? 1 : 0));
      if (w > 15 && part > 9) {
        this.letters(String(lane.micro_batch[row]), x + (w - gap) / 2, y + (n + 0.53) * part, Math.min(14 * this.zoom, part * 0.62, w * 0.55), look.ink);
      }
    });
  }

  letters(text, x, y, size, ink) {
    const c = this.c;
    if (this.size !== size) {
      this.size = size;
      c.font = `560 ${size}px system-ui, sans-serif`;
    }
    c.fillStyle = ink;
    c.fillText(text, x, y);
  }

  marks(at, rank, k) {
    const c = this.c, here = (spot) => spot && spot.lane === at && spot.rank === k, y = this.top(this.lanes[at], k), h = this.high1;
    if (here(this.chosen) && this.chosen.slot < rank.rows.length) {
      c.strokeStyle = this.ink;
      c.lineWidth = 2.5;
      c.strokeRect(this.x(rank.start[this.chosen.slot]), y, rank.duration[this.chosen.slot] * this.scale - 1, h);
      c.lineWidth = 1;
    }
    if (here(this.mark)) {
      const last = rank.rows.length - 1, slot = this.mark.slot;
      const x = this.x(slot > last ? rank.start[last] + rank.duration[last] : rank.start[slot]);
      c.fillStyle = this.ink;
      c.fillRect(x - 2.5, y - 4, 4, h + 8);
    }
  }

  /* What is under a point: {lane, rank, slot, time}, or with slot -1 idle time; null outside. */
  at(x, y) {
    const lane = this.lanes.findIndex((one) => y >= one.top && y < one.top + one.ranks.length * this.row);
    const time = (x - this.gutter) / this.scale;
    if (lane < 0 || time < 0 || time > this.lanes[lane].makespan) {
      return null;
    }
    const rank = Math.floor((y - this.lanes[lane].top) / this.row), {start, duration} = this.lanes[lane].ranks[rank];
    const slot = start.findIndex((from, i) => time >= from && time < from + duration[i]);
    return {lane, rank, slot, time};
  }

  /* Between which boxes of a rank a time lies: the number of the box that would come after it. */
  gap(lane, rank, time) {
    const {start, duration} = this.lanes[lane].ranks[rank];
    const slot = start.findIndex((from, i) => time < from + duration[i] / 2);
    return slot < 0 ? start.length : slot;
  }

  /* Title and lines about a spot. */
  words({lane, rank, slot, time}) {
    const one = this.lanes[lane], row = one.ranks[rank];
    if (slot < 0) {
      const last = row.start.length - 1;
      const cause = time < row.start[0] ? 'fill' : time > row.start[last] + row.duration[last] ? 'drain' : 'stall';
      return [`Rank ${rank} idles`, [CAUSE_WORDS[cause]]];
    }
    const rows = one.rowsOf(rank, slot), a = rows[0];
    const title = rows.map((atom) => `${WORD_OF_ATOM[one.phaseOf(atom)]} of micro-batch ${one.micro_batch[atom]}`).join(' and ');
    const end = row.start[slot] + row.duration[slot];
    const before = slot === 0 ? 0 : row.start[slot - 1] + row.duration[slot - 1];
    const lines = [`${one.action(rank, slot)}: rank ${rank}, stage ${one.stage[a]}${one.slice[a] ? `, slice ${one.slice[a]}` : ''}${one.direction[a] ? ', the pipe that runs the other way' : ''}`];
    if (!one.untimed) {
      lines.push(`${number(row.start[slot])} to ${number(end)}${row.start[slot] > before ? `, behind ${number(row.start[slot] - before)} of idle time` : ''}`);
    }
    return [title, lines];
  }

  /* Goes from box to box: by dx within a rank, by dy to the rank that computes then. */
  step(dx, dy) {
    const was = this.chosen || {lane: 0, rank: 0, slot: dx > 0 ? -1 : 0};
    const all = this.lanes.flatMap((lane, n) => lane.ranks.map((row, rank) => ({lane: n, rank})));
    const at = all.findIndex((spot) => spot.lane === was.lane && spot.rank === was.rank);
    const spot = all[Math.max(0, Math.min(all.length - 1, at + dy))];
    const {start, duration} = this.lanes[spot.lane].ranks[spot.rank];
    let slot = was.slot + dx;
    if (dy !== 0) {
      const old = this.lanes[was.lane].ranks[was.rank], time = old.start[Math.max(was.slot, 0)];
      slot = start.findIndex((from, i) => from + duration[i] > time);
      slot = slot < 0 ? start.length - 1 : slot;
    }
    this.chosen = {...spot, slot: Math.max(0, Math.min(start.length - 1, slot))};
    this.draw();
  }
}
