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
const ATOM = /^([FBIW])(\d+)\.(\d+)(?:#(\d+))?(\^)?$/;
const GUTTER = 62, HEAD = 26, AXIS = 24, LANE_GAP = 14;

/* "(F2.3^|B0.0)" has two atoms, most have one. */
function atomsOf(action) {
  return action.replace(/[()]/g, '').split('|').map((text) => {
    const [, phase, mb, stage, slice, up] = ATOM.exec(text);
    return {phase, mb: Number(mb), stage: Number(stage), slice: slice ? Number(slice) : 0, up: Boolean(up)};
  });
}

/* What of a schedule's JSON a lane shows. */
function laneOf(reply) {
  const lane = JSON.parse(reply);
  lane.ranks.forEach((rank) => { rank.atoms = rank.actions.map(atomsOf); });
  return lane;
}

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
    const rows = this.lanes.reduce((n, lane) => n + lane.ranks.length, 0);
    const room = Math.max(330, Math.min(window.innerHeight * 0.58, 900));
    this.row = Math.max(11, Math.min(this.canvas.clientWidth > 1600 ? 54 : 40, room / rows));
    let y = 0;
    for (const lane of this.lanes) {
      lane.top = y + HEAD;
      y = lane.top + lane.ranks.length * this.row + LANE_GAP;
    }
    this.high = y - LANE_GAP + AXIS;
  }

  x(time) {
    return GUTTER + time * this.scale;
  }

  draw() {
    if (this.lanes.length === 0 || this.canvas.clientWidth === 0) {
      return;
    }
    this.place();
    const {context: c, width} = canvasOf(this.canvas, this.high);
    this.c = c;
    this.scale = (width - GUTTER - 6) / (this.end || 1);
    this.ink = colourOf('--ink');
    this.soft = colourOf('--soft');
    this.axis(colourOf('--line'));
    for (const [at, lane] of this.lanes.entries()) {
      this.title(lane);
      lane.ranks.forEach((rank, k) => this.rank(lane, at, rank, k));
    }
  }

  axis(line) {
    const c = this.c, y = this.high - AXIS;
    c.font = '12px system-ui, sans-serif';
    c.textAlign = 'center';
    c.textBaseline = 'alphabetic';
    for (const time of ticks(this.end, this.canvas.clientWidth / 90)) {
      const x = Math.round(this.x(time)) + 0.5;
      c.strokeStyle = line;
      c.beginPath();
      c.moveTo(x, HEAD - 4);
      c.lineTo(x, y + 4);
      c.stroke();
      c.fillStyle = this.soft;
      c.fillText(number(time), x, y + 18);
    }
  }

  title(lane) {
    const c = this.c, y = lane.top - 9;
    c.textAlign = 'left';
    c.textBaseline = 'alphabetic';
    c.fillStyle = this.ink;
    c.font = '650 14px system-ui, sans-serif';
    c.fillText(lane.schedule, 0, y);
    const at = c.measureText(lane.schedule).width + 10;
    c.fillStyle = this.soft;
    c.font = '13px system-ui, sans-serif';
    c.fillText(lane.untimed ? 'this order cannot run: no times' : `makespan ${number(lane.makespan)}, bubble ${percent(lane.bubble_fraction)}`, at, y);
  }

  rank(lane, at, rank, k) {
    const c = this.c, y = lane.top + k * this.row, h = this.row - (this.row > 14 ? 3 : 1);
    c.font = `${Math.min(13, this.row)}px system-ui, sans-serif`;
    c.fillStyle = this.soft;
    c.textAlign = 'left';
    c.textBaseline = 'middle';
    c.fillText(`rank ${k}`, 0, y + h / 2);
    let before = 0;
    for (let i = 0; i < rank.atoms.length; i++) {
      if (rank.start[i] > before && !lane.untimed) {
        this.idle(i === 0 ? 'fill' : 'stall', before, rank.start[i], y, h);
      }
      before = rank.start[i] + rank.duration[i];
      this.box(lane, rank, i, y, h);
    }
    if (before < lane.makespan && !lane.untimed) {
      this.idle('drain', before, lane.makespan, y, h);
    }
    this.marks(at, rank, k, y, h);
  }

  idle(cause, from, to, y, h) {
    this.c.fillStyle = colours.fill(this.c, `bubble_${cause}`, 0);
    this.c.fillRect(this.x(from), y, (to - from) * this.scale, h);
  }

  /* Of a pair of passes that overlap, one lies above the other. */
  box(lane, rank, i, y, h) {
    const c = this.c, atoms = rank.atoms[i], part = h / atoms.length;
    const x = this.x(rank.start[i]), w = rank.duration[i] * this.scale, gap = w > 5 ? 1 : 0;
    atoms.forEach((atom, n) => {
      const key = LOOK_OF_ATOM[atom.phase], chunks = Math.max(lane.v, lane.weight_copies > 1 && atom.up !== undefined ? 2 : 1);
      const way = lane.v > 1 ? Math.floor(atom.stage / lane.p) / (lane.v - 1) : chunks > 1 && atom.up ? 1 : 0;
      c.fillStyle = colours.fill(c, key, way);
      c.fillRect(x, y + n * part, w - gap, part - (n + 1 < atoms.length ? 1 : 0));
      if (w > 15 && part > 9) {
        const size = Math.min(14, part * 0.62, w * 0.55);
        c.font = `560 ${size}px system-ui, sans-serif`;
        c.textAlign = 'center';
        c.textBaseline = 'middle';
        c.fillStyle = inkOn(colours.ofChunk(key, way));
        c.fillText(atom.mb, x + (w - gap) / 2, y + (n + 0.53) * part);
      }
    });
  }

  marks(at, rank, k, y, h) {
    const c = this.c, here = (spot) => spot && spot.lane === at && spot.rank === k;
    if (here(this.chosen) && this.chosen.slot < rank.atoms.length) {
      c.strokeStyle = this.ink;
      c.lineWidth = 2.5;
      c.strokeRect(this.x(rank.start[this.chosen.slot]), y, rank.duration[this.chosen.slot] * this.scale - 1, h);
      c.lineWidth = 1;
    }
    if (here(this.mark)) {
      const last = rank.atoms.length - 1, slot = this.mark.slot;
      const x = this.x(slot > last ? rank.start[last] + rank.duration[last] : rank.start[slot]);
      c.fillStyle = this.ink;
      c.fillRect(x - 2.5, y - 4, 4, h + 8);
    }
  }

  /* What is under a point: {lane, rank, slot, time}, or with slot -1 idle time; null outside. */
  at(x, y) {
    const lane = this.lanes.findIndex((one) => y >= one.top && y < one.top + one.ranks.length * this.row);
    const time = (x - GUTTER) / this.scale;
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
    const title = row.atoms[slot].map((a) => `${WORD_OF_ATOM[a.phase]} of micro-batch ${a.mb}`).join(' and ');
    const a = row.atoms[slot][0], end = row.start[slot] + row.duration[slot];
    const before = slot === 0 ? 0 : row.start[slot - 1] + row.duration[slot - 1];
    const lines = [`${row.actions[slot]}: rank ${rank}, stage ${a.stage}${a.slice ? `, slice ${a.slice}` : ''}${a.up ? ', the pipe that runs the other way' : ''}`];
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
