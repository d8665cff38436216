/* lane.js - a schedule as the page shows it: the columns of the core, a row for every pass (struct
 * ty_schedule_passes), and for each rank the boxes that are drawn: slots, which may be two passes that overlap. */

const ATOM = /^([FBIW])(\d+)\.(\d+)(?:(?:#(\d+))|(\^))*$/;
const HALF = {whole: 0, first: 1, second: 2};
const COLUMNS = [['start', Float64Array], ['duration', Float64Array], ['micro_batch', Uint16Array], ['stage', Uint16Array],
  ['phase', Uint8Array], ['slice', Uint8Array], ['direction', Uint8Array], ['half', Uint8Array]];

class Lane {
  /* `passes` as the core replies. Starts and durations of a rank are views where all its boxes are one pass. */
  constructor(passes) {
    Object.assign(this, passes);
    this.paired = this.half.includes(HALF.first);
    this.slices = this.slice.reduce((most, slice) => Math.max(most, slice), 0) + 1;
    this.pieces = this.v * this.slices;
    this.ranks.forEach((rank, r) => {
      const from = this.first[r], to = this.first[r + 1];
      rank.rows = Uint32Array.from({length: to - from}, (unused, i) => from + i);
      rank.rows = this.paired ? rank.rows.filter((row) => this.half[row] !== HALF.second) : rank.rows;
      rank.start = this.paired ? Float64Array.from(rank.rows, (row) => this.start[row]) : this.start.subarray(from, to);
      rank.duration = this.paired ? Float64Array.from(rank.rows, (row) => this.duration[row]) : this.duration.subarray(from, to);
    });
  }

  /* Rows of a box: of one pass, or of two that overlap. */
  rowsOf(rank, slot) {
    const row = this.ranks[rank].rows[slot];
    return this.half[row] === HALF.first ? [row, row + 1] : [row];
  }

  phaseOf(row) {
    return String.fromCharCode(this.phase[row]);
  }

  /* "F2.0", or "(F2.3|B0.0)": as schedule files have it. */
  action(rank, slot) {
    const texts = this.rowsOf(rank, slot).map((row) => `${this.phaseOf(row)}${this.micro_batch[row]}.${this.stage[row]}${
      this.direction[row] ? '^' : ''}${this.slice[row] ? `#${this.slice[row]}` : ''}`);
    return texts.length > 1 ? `(${texts.join('|')})` : texts[0];
  }

  /* Those of a rank, in its order. */
  actions(rank) {
    return Array.from(this.ranks[rank].rows, (unused, slot) => this.action(rank, slot));
  }
}

/* "rank 0: F0.0 F1.0" of each line; a line that is none has no passes. */
function ordersOf(text) {
  return text.trim().split('\n').map((line) => line.replace(/^[^:]*:/, '').trim().split(/\s+/));
}

/* An order that cannot run, without times: boxes one behind the other, as long as they were in `old`. */
function untimedLane(name, s, old) {
  const lengths = new Map(), columns = COLUMNS.map(() => []), first = [0];
  let makespan = 1;
  (old ? old.ranks : []).forEach((rank, r) => old.actions(r).forEach((action, slot) => lengths.set(action, rank.duration[slot])));
  for (const actions of ordersOf(s.slots)) {
    let at = 0;
    for (const action of actions) {
      const atoms = action.replace(/[()]/g, '').split('|').map((text) => ATOM.exec(text));
      if (atoms.includes(null)) {
        continue; /* the validator says so */
      }
      const length = lengths.get(action) || 1;
      atoms.forEach(([, phase, mb, stage, slice, up], n) => {
        [at, length, mb, stage, phase.charCodeAt(0), slice || 0, up ? 1 : 0, atoms.length > 1 ? n + 1 : 0]
          .forEach((value, k) => { columns[k].push(Number(value)); });
      });
      at += length;
    }
    makespan = Math.max(makespan, at);
    first.push(columns[0].length);
  }
  return new Lane({schedule: name, p: first.length - 1, v: old ? old.v : 1,
    weight_copies: old ? old.weight_copies : 1, makespan, untimed: true, n: columns[0].length, first,
    ranks: first.slice(1).map((unused, rank) => ({rank})),
    ...Object.fromEntries(COLUMNS.map(([name, Type], k) => [name, Type.from(columns[k])]))});
}
