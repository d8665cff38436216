/* data.js - the columns that trainyard wrote, as arrays: see docs/guides/report.md. Times are
 * picoseconds: whole numbers, exact in a double up to 2^53 (two and a half hours). */

/* Base64 of packed bytes, in which are numbers of seven bits a byte, the lowest first. */
function numbersOf(text) {
  const bytes = inflate(atob(text));
  let at = 0;
  return {
    more: () => at < bytes.length,
    next() {
      let value = 0, scale = 1, byte;
      do {
        if (at >= bytes.length) {
          throw new Error('a column of its data is too short');
        }
        byte = bytes[at++];
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte > 127);
      return value;
    },
  };
}

function signed(z) {
  return z % 2 === 0 ? z / 2 : -(z + 1) / 2;
}

/* A reader of values of which few differ. */
function tokensOf(text) {
  const numbers = numbersOf(text), seen = [];
  return () => {
    const x = numbers.next();
    if (x % 2 === 1) {
      seen.push((x - 1) / 2);
      return (x - 1) / 2;
    }
    return seen[x / 2];
  };
}

/* A value for every slice; 0 where none is written. */
function sparseOf(text, n) {
  const numbers = numbersOf(text), out = new Float64Array(n);
  for (let at = 0; numbers.more(); at++) {
    at += numbers.next();
    out[at] = numbers.next();
  }
  return out;
}

/* Values that are 1 more than the last one, but for what is written; -1: none. */
function followed(column) {
  let next = 0;
  return column.map((x) => {
    if (x === 0) {
      return -1;
    }
    next += signed(x - 1) + 1;
    return next - 1;
  });
}

function pathOf(text) {
  const numbers = numbersOf(text), path = [];
  while (numbers.more()) {
    const slice = numbers.next() - 1;
    const rank = slice < 0 ? numbers.next() : -1;
    path.push({slice, rank, dur: numbers.next()});
  }
  return path;
}

/* What passes are made of: a list of [bucket, time] each. */
function mixesOf(text) {
  const numbers = numbersOf(text), mixes = [];
  while (numbers.more()) {
    mixes.push(Array.from({length: numbers.next()}, () => [numbers.next(), numbers.next()]));
  }
  return mixes;
}

/* Fills run.start, dur, kind, row, lane, before, how, mb, stage, layer, step, mix, via, delay, open:
 * one entry a slice, -1 meaning none. */
function decodeRun(run) {
  const n = run.n_slices, c = run.columns;
  const start = tokensOf(c.start), dur = tokensOf(c.dur);
  const kind = numbersOf(c.kind), cause = numbersOf(c.cause);
  const mb = sparseOf(c.mb, n), stage = sparseOf(c.stage, n);
  run.mixes = mixesOf(run.mixes);
  const lasts = run.mixes.map((mix) => mix.reduce((sum, [, t]) => sum + t, 0));
  Object.assign(run, {
    start: new Float64Array(n), dur: new Float64Array(n), kind: new Uint16Array(n),
    row: new Uint16Array(n), lane: new Uint8Array(n), before: new Int32Array(n),
    how: new Uint8Array(n), mb: new Int32Array(n), stage: new Int32Array(n),
    layer: sparseOf(c.layer, n).map((x) => x - 1), step: sparseOf(c.step, n),
    mix: followed(sparseOf(c.mix, n)), via: sparseOf(c.via, n).map((x) => x - 1),
    delay: sparseOf(c.delay, n), open: sparseOf(c.open, n),
  });
  let i = 0;
  run.lanes = run.lanes.map(([row, lane, count]) => {
    const last = run.kinds.map(() => ({mb: 0, stage: 0, before: 0}));
    const first = i;
    let free = 0;
    for (; i < first + count; i++) {
      run.row[i] = row;
      run.lane[i] = lane;
      run.kind[i] = kind.next();
      const l = last[run.kind[i]], x = cause.next();
      l.before += 1 + signed(Math.floor(x / 8));
      l.mb += 1 + signed(mb[i]);
      l.stage += signed(stage[i]);
      run.how[i] = x % 8;
      const before = run.before[i] = l.before - 1;
      run.mb[i] = l.mb - 1;
      run.stage[i] = l.stage - 1;
      const known = before >= 0 && before < i && run.kinds[run.kind[i]].sort !== 'idle';
      run.start[i] = (known ? endOf(run, before) + run.delay[i] : free) + signed(start());
      run.dur[i] = run.mix[i] >= 0 ? lasts[run.mix[i]] : dur();
      free = endOf(run, i);
    }
    return {row, lane, first, n: count};
  });
  run.path = pathOf(run.path);
  return run;
}

/* Index in the lane's slices of the last one that starts at or before t; -1: none. */
function lastBefore(run, lane, t) {
  let low = lane.first, high = lane.first + lane.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (run.start[middle] <= t) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1 < lane.first ? -1 : low - 1;
}

function endOf(run, i) {
  return run.start[i] + run.dur[i];
}

/* Slices from i back through what each waited for. */
function chainOf(run, i) {
  const chain = [], seen = new Set();
  for (; i >= 0 && !seen.has(i); i = run.before[i]) {
    seen.add(i);
    chain.push(i);
  }
  return chain;
}

/* Memory of a row over time: [{t, kept, passing}], activations only, bytes, and the fullest moment. */
function memoryOf(run, row) {
  const points = [{t: 0, kept: 0, passing: 0}];
  const lane = run.lanes.find((l) => l.row === row && l.lane === 0);
  let kept = 0, peak = points[0];
  for (let i = lane ? lane.first : 0; lane && i < lane.first + lane.n; i++) {
    const kind = run.kinds[run.kind[i]];
    if (kind.sort !== 'pass') {
      continue;
    }
    kept += kind.acquire;
    const during = {t: run.start[i], kept, passing: kind.transient, slice: i};
    points.push(during);
    if (during.kept + during.passing > peak.kept + peak.passing) {
      peak = during;
    }
    kept -= kind.release;
    points.push({t: endOf(run, i), kept, passing: 0});
  }
  return {points, peak, end: run.makespan_ps};
}

/* Time by bucket of the slices of a row: what the statistics must say, too. */
function bucketsOf(run, row) {
  const sums = run.buckets.map(() => 0);
  for (const lane of run.lanes.filter((l) => l.row === row && l.lane === 0)) {
    for (let i = lane.first; i < lane.first + lane.n; i++) {
      const kind = run.kinds[run.kind[i]];
      if (kind.sort === 'idle') {
        sums[run.buckets.indexOf(kind.name)] += run.dur[i];
      } else {
        run.mixes[run.mix[i]].forEach(([bucket, time]) => { sums[bucket] += time; });
      }
    }
  }
  return sums;
}
