/* draw.js - how the timeline draws itself. */

/* ---- the plot ---- */

const NUMBERS = [11.5, 10, 8.5]; /* pixels high: numbers of micro-batches, the smallest where boxes are small */
const DRAWN_WHOLE = 3000; /* pixels: canvases as high as that are drawn whole, guess */

Object.assign(Timeline.prototype, {
  draw() {
    const c = this.context;
    c.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    c.fillStyle = this.css('card');
    c.fillRect(0, 0, this.width, this.height);
    c.textBaseline = 'middle';
    this.drawAxis();
    const [top, bottom] = this.inSight(), sheet = this.sheet;
    if (sheet) {
      c.save();
      c.setTransform(this.scale, 0, 0, this.scale, 0, (LANE.axis - sheet.from) * this.scale);
      c.beginPath();
      c.rect(0, sheet.from, this.width, sheet.to - sheet.from);
      c.clip();
    }
    for (const item of this.items) {
      if (sheet ? item.y < sheet.from || item.y >= sheet.to : item.y > bottom || item.y + item.h < top) {
        continue;
      }
      if (item.type === 'lane') { this.drawLane(item); }
      if (item.type === 'memory') { this.drawMemory(item); }
      if (item.type === 'head') { this.drawHead(item); }
      if (item.type === 'label') { this.drawLabel(item); }
    }
    if (shown.arrows) { this.drawArrows(); }
    if (shown.trail) { this.drawTrail(); }
    this.outline(shown.over, 1.5, this.css('ink'));
    this.outline(shown.chosen, 2.5, this.css('mark'));
    if (shown.range) { this.drawRange(); }
    this.drawNow();
    if (sheet) { c.restore(); }
    if (!this.recording) {
      this.drawOverview();
      this.drawn();
    }
  },

  /* Which heights of a long canvas the window shows, with a margin to scroll into; on paper all. */
  inSight() {
    const box = this.canvas.getBoundingClientRect(), margin = 400;
    return this.paper || this.height < DRAWN_WHOLE ? [0, this.height] : [-box.top - margin, window.innerHeight - box.top + margin];
  },

  font(size, weight) {
    this.context.font = `${weight || 400} ${size}px ${this.family}`;
  },

  drawAxis() {
    const c = this.context, span = view.to - view.from;
    const about = span / Math.max((this.right - this.left) / 95, 1);
    const power = 10 ** Math.floor(Math.log10(about));
    const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= about);
    const [unit, one] = [['s', 1e12], ['ms', 1e9], ['\u00b5s', 1e6], ['ns', 1e3]]
      .find(([, u]) => step >= u * 0.0999) || ['ps', 1];
    const digits = Math.max(0, Math.ceil(-Math.log10(step / one) - 1e-9));
    this.font(11);
    c.lineWidth = 1;
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
      const x = Math.round(this.x(t)) + 0.5;
      c.strokeStyle = this.css('faint');
      c.beginPath();
      c.moveTo(x, LANE.axis - 6);
      c.lineTo(x, this.height);
      c.stroke();
      c.fillStyle = this.css('soft');
      c.textAlign = x > this.right - 30 ? 'right' : t === 0 ? 'left' : 'center';
      c.fillText(`${(t / one).toFixed(digits)} ${unit}`, x, 10);
    }
    this.runs.forEach((run) => { /* where each run ends */
      const x = this.x(run.makespan_ps);
      if (this.runs.length > 1 && x >= this.left && x <= this.right + 1) {
        c.strokeStyle = this.css('mark');
        c.setLineDash([4, 3]);
        c.beginPath();
        c.moveTo(x, LANE.axis - 8);
        c.lineTo(x, this.height);
        c.stroke();
        c.setLineDash([]);
      }
    });
  },

  drawHead(item) {
    const c = this.context, run = this.runs[item.run];
    this.font(13, 650);
    c.fillStyle = this.css('ink');
    c.textAlign = 'left';
    const name = `${'AB'[item.run]}  ${run.label}`;
    c.fillText(name, 0, item.y + 12);
    const at = c.measureText(name).width + 10;
    this.font(12);
    c.fillStyle = this.css('soft');
    c.fillText(run.halted ? 'stopped: deadlock' : seconds(run.makespan_ps) + this.difference(item.run), at, item.y + 12);
  },

  difference(r) {
    if (r === 0 || this.runs[0].halted) {
      return '';
    }
    const by = this.runs[r].makespan_ps - this.runs[0].makespan_ps;
    if (Math.abs(by) < 1e-6 * this.runs[0].makespan_ps) {
      return ', as long as A';
    }
    return `, ${by < 0 ? '\u2212' : '+'}${seconds(Math.abs(by))} (${signedShare(by / this.runs[0].makespan_ps)})`;
  },

  drawLabel(item) {
    const c = this.context, run = this.runs[item.run], row = run.rows[item.row];
    const alone = run.rows.filter((r) => r.stage === row.stage && r.job === row.job).length === 1;
    const idle = row.buckets_ps.reduce((sum, x, b) => sum + (colours.isIdle(run.buckets[b]) &&
      (run.pipeline === 1 || run.buckets[b].startsWith('bubble') || run.buckets[b] === 'exposed_pipeline') ? x : 0), 0);
    c.textAlign = 'left';
    c.fillStyle = this.css('ink');
    this.font(12.5, 640);
    const stage = this.width < 640 ? `S${row.stage}` : `stage ${row.stage}`;
    c.fillText(row.job || stage, 0, item.y + 8, this.left - 6);
    c.fillStyle = this.css('soft');
    this.font(11);
    const bubble = (this.width < 640 ? '' : run.pipeline === 1 ? 'waits ' : 'bubble ') + share(idle / run.makespan_ps);
    c.fillText(row.job ? stage : !alone ? `rank ${row.rank}` : row.stuck ? 'deadlock' : run.halted ? '' : bubble, 0, item.y + 23);
    if (shown.comm && this.width >= 640) {
      this.font(9);
      c.textAlign = 'right';
      this.items.filter((k) => k.type === 'lane' && k.run === item.run && k.row === item.row && k.lane.lane !== 0)
        .forEach((k) => c.fillText(run.lane_names[k.lane.lane].replace('pipeline ', '').replace(/ .*/, ''),
          this.left - 7, k.y + k.h / 2 + 0.5));
    }
  },

  /* Calls visit(i, x0, x1) for the slices of a lane in the window; those too thin to see are thinned. */
  each(item, visit) {
    const run = this.runs[item.run], lane = item.lane;
    let i = Math.max(lastBefore(run, lane, view.from), lane.first), drawn = -1;
    for (; i < lane.first + lane.n && run.start[i] < view.to; i++) {
      const x0 = Math.max(this.x(run.start[i]), this.left), x1 = Math.min(this.x(endOf(run, i)), this.right);
      if (x1 - drawn < 0.4 && x1 - x0 < 0.4) { /* on to the one that reaches further */
        i = Math.max(i, lastBefore(run, lane, this.time(drawn + 0.4)) - 1);
        continue;
      }
      if (x1 <= this.left || shown.off.has(lookOf(run, i))) {
        continue;
      }
      visit(i, x0, Math.max(x1, x0 + 0.6));
      drawn = x1;
    }
  },

  drawLane(item) {
    const c = this.context, run = this.runs[item.run];
    const lit = shown.trail && shown.trail.run === item.run ? shown.trail.set : null;
    c.fillStyle = this.css('faint');
    c.globalAlpha = 0.6;
    c.fillRect(this.left, item.y, Math.max(Math.min(this.x(run.makespan_ps), this.right) - this.left, 0), item.h);
    this.each(item, (i, x0, x1) => {
      const key = lookOf(run, i), wide = x1 - x0;
      const dim = shown.trail && !(lit && lit.has(i));
      c.globalAlpha = dim ? 0.25 : 1;
      c.fillStyle = colours.fill(c, key, chunkWay(run, i));
      c.fillRect(x0, item.y, wide, item.h);
      if (wide > 3 && item.lane.lane === 0) {
        const print = colours.palette === 'print';
        c.strokeStyle = print ? '#222222' : colours.isIdle(key) ? colours.of(key) : this.css('card');
        c.lineWidth = print || colours.isIdle(key) ? 0.7 : 1;
        c.strokeRect(x0 + 0.5, item.y + 0.5, wide - 1, item.h - 1);
      }
      if (wide > 7 && item.h > 11) {
        c.globalAlpha = 1;
        this.drawText(run, i, x0, wide, item, dim);
      }
    });
    c.globalAlpha = 1;
  },

  /* Width of a word; most are asked for again and again. */
  wideOf(word, size, weight) {
    const key = [weight, size, word].join();
    if (!this.widths.has(key)) {
      this.font(size, weight);
      this.widths.set(key, this.context.measureText(word).width);
    }
    return this.widths.get(key);
  },

  /* As many words as fit: "backward 12", "12", nothing. */
  drawText(run, i, x, wide, item, dim) {
    const c = this.context, kind = run.kinds[run.kind[i]], key = lookOf(run, i);
    const idle = kind.sort === 'idle';
    const words = idle ? [sliceName(run, i)] : kind.sort === 'pass'
      ? [sliceName(run, i), run.mb[i] >= 0 ? String(run.mb[i]) : 'opt'] : [kind.name];
    const weight = kind.sort === 'pass' ? 600 : 400, number = words[1];
    let size = item.h > 15 ? 11.5 : 9.5, text = words.find((w) => this.wideOf(w, size, weight) < wide - 5);
    for (const smaller of text === undefined && number ? NUMBERS : []) { /* a number as soon as it fits */
      if (text === undefined && smaller <= size && this.wideOf(number, smaller, weight) <= wide - 2) {
        [text, size] = [number, smaller];
      }
    }
    if (text === undefined) {
      return;
    }
    this.font(size, weight);
    const print = colours.palette === 'print';
    if (!dim && (idle || (print && LOOKS[key][3][0] !== 'none'))) { /* hatched: a plate under the words */
      const half = c.measureText(text).width / 2 + 3;
      c.fillStyle = print ? '#fff' : this.css('card');
      c.globalAlpha = 0.88;
      c.fillRect(x + wide / 2 - half, item.y + 4, 2 * half, item.h - 8);
      c.globalAlpha = 1;
      c.fillStyle = print ? '#000' : this.css('ink');
    } else {
      c.fillStyle = dim ? this.css('ink') : inkOn(colours.ofChunk(key, chunkWay(run, i)));
    }
    c.textAlign = 'center';
    c.fillText(text, x + wide / 2, item.y + item.h / 2 + 0.5);
  },

  /* Reserve, weights, gradients, optimizer and buffers below, activations above: at the peak, which is
   * marked, they are what is judged against the memory of the GPU, the dashed line. */
  drawMemory(item) {
    const c = this.context, run = this.runs[item.run], row = run.rows[item.row];
    const memory = this.memory[item.run][item.row], bottom = item.y + item.h;
    const y = (b) => bottom - b / this.most * item.h;
    const right = Math.min(this.x(run.makespan_ps), this.right);
    let base = 0;
    c.globalAlpha = shown.trail ? 0.35 : 1;
    [[row.reserve, 6], ...row.fixed.map((b, k) => [b, k])].forEach(([b, k]) => {
      c.fillStyle = colours.memory(k);
      c.fillRect(this.left, y(base + b), Math.max(right - this.left, 0), y(base) - y(base + b));
      base += b;
    });
    this.fillSteps(memory, (p) => y(base + p.kept + p.passing), y(base), 5, right);
    this.fillSteps(memory, (p) => y(base + p.kept), y(base), 4, right);
    c.globalAlpha = 1;
    if (row.capacity < this.most) {
      c.strokeStyle = row.peak > row.capacity ? this.css('bad') : this.css('soft');
      c.setLineDash([3, 3]);
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(this.left, Math.round(y(row.capacity)) + 0.5);
      c.lineTo(right, Math.round(y(row.capacity)) + 0.5);
      c.stroke();
      c.setLineDash([]);
    }
    this.drawPeak(run, row, memory, y(base + memory.peak.kept + memory.peak.passing), item);
    if (this.width >= 640) {
      this.font(9);
      c.fillStyle = this.css('soft');
      c.textAlign = 'right';
      c.fillText('memory', this.left - 7, item.y + item.h / 2 - 5);
      c.fillText(`of ${bytes(row.capacity)}`, this.left - 7, item.y + item.h / 2 + 6);
    }
  },

  /* One area under a step function. */
  fillSteps(memory, height, floor, colour, right) {
    const c = this.context, points = memory.points;
    let low = 0, high = points.length;
    while (low < high) { /* the first point in the window, and the one before it */
      const middle = (low + high) >> 1;
      if (points[middle].t <= view.from) { low = middle + 1; } else { high = middle; }
    }
    let k = Math.max(low - 1, 0), last = height(points[k]);
    c.fillStyle = colours.memory(colour);
    c.beginPath();
    c.moveTo(this.left, floor);
    c.lineTo(this.left, last);
    for (k++; k < points.length && points[k].t < view.to; k++) {
      const x = Math.min(Math.max(this.x(points[k].t), this.left), right);
      c.lineTo(x, last);
      last = height(points[k]);
      c.lineTo(x, last);
    }
    c.lineTo(right, last);
    c.lineTo(right, floor);
    c.fill();
  },

  drawPeak(run, row, memory, y, item) {
    const c = this.context, x = this.x(memory.peak.t);
    if (x < this.left || x > this.right) {
      return;
    }
    c.fillStyle = row.peak > row.capacity ? this.css('bad') : this.css('ink');
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(x - 4, y - 6);
    c.lineTo(x + 4, y - 6);
    c.fill();
    this.font(10, 600);
    const held = `${bytes(row.peak)}, ${row.peak_held} held`, texts = row.peak > row.capacity ? [held + ': does not fit', held] : [held];
    const most = Math.max(this.right - x, x - this.left) - 8;
    const text = texts.find((t) => c.measureText(t).width < most) || bytes(row.peak);
    const wide = c.measureText(text).width, left = x + 8 + wide > this.right;
    c.textAlign = left ? 'right' : 'left';
    const at = left ? x - 7 : x + 7, top = Math.max(y - 4, item.y + 4);
    c.lineWidth = 3;
    c.strokeStyle = this.css('card');
    c.strokeText(text, at, top);
    c.fillText(text, at, top);
  },

  /* The middle of a slice's row, or -1 where its lane is not drawn. */
  place(r, i) {
    const run = this.runs[r];
    return this.items.find((k) => k.type === 'lane' && k.run === r && k.row === run.row[i] &&
      k.lane.lane === run.lane[i]);
  },

  drawArrows() {
    const c = this.context;
    let drawn = 0;
    c.lineWidth = 1;
    c.strokeStyle = this.css('soft');
    c.fillStyle = this.css('soft');
    this.runs.forEach((run, r) => {
      for (let i = 0; i < run.n_slices && drawn < 4000; i++) {
        const before = run.before[i];
        if (before < 0 || run.hows[run.how[i]] !== 'message' || run.kinds[run.kind[i]].sort === 'idle' ||
            endOf(run, i) < view.from || run.start[before] > view.to) {
          continue;
        }
        const a = this.place(r, before), b = this.place(r, i);
        if (a && b) {
          this.arrow(this.x(endOf(run, before)), a, this.x(run.start[i]), b);
          drawn++;
        }
      }
    });
  },

  arrow(x0, a, x1, b) {
    const c = this.context, down = b.y > a.y;
    const y0 = down ? a.y + a.h : a.y, y1 = down ? b.y : b.y + b.h;
    if (x1 < this.left || x0 > this.right) {
      return;
    }
    x0 = Math.min(Math.max(x0, this.left), this.right);
    x1 = Math.min(Math.max(x1, this.left), this.right);
    const turn = Math.max(Math.abs(x1 - x0) * 0.4, 4);
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + turn, y0, x1 - turn, y1, x1, y1);
    c.stroke();
    c.beginPath();
    c.arc(x1, y1, 2, 0, 7);
    c.fill();
  },

  /* Lines from each slice of the trail to what it waited for. */
  drawTrail() {
    const c = this.context, trail = shown.trail, run = this.runs[trail.run];
    c.strokeStyle = this.css('mark');
    c.fillStyle = this.css('mark');
    c.lineWidth = 1.6;
    for (let k = 0; k + 1 < trail.slices.length; k++) {
      const i = trail.slices[k], before = trail.slices[k + 1];
      const b = this.place(trail.run, i), a = this.place(trail.run, before);
      if (a && b && a !== b && endOf(run, i) >= view.from && run.start[before] <= view.to) {
        this.arrow(this.x(Math.min(endOf(run, before), run.start[i])), a, this.x(run.start[i]), b);
      }
    }
  },

  /* Where the slices of the trail are in the window. */
  trailBoxes() {
    const {trail} = shown, at = this.canvas.getBoundingClientRect(), run = trail && this.runs[trail.run];
    return (trail ? trail.slices : []).map((i) => [i, this.place(trail.run, i)]).filter(([i, item]) => item && endOf(run, i) >= view.from && run.start[i] <= view.to)
      .map(([i, item]) => ({left: at.left + this.x(run.start[i]), right: at.left + this.x(endOf(run, i)), top: at.top + item.y, bottom: at.top + item.y + item.h}));
  },

  outline(spot, width, colour) {
    const item = spot && this.place(spot.run, spot.i);
    if (!item) {
      return;
    }
    const run = this.runs[spot.run], c = this.context;
    const x0 = Math.max(this.x(run.start[spot.i]), this.left), x1 = Math.min(this.x(endOf(run, spot.i)), this.right);
    if (x1 >= this.left && x0 <= this.right) {
      c.strokeStyle = colour;
      c.lineWidth = width;
      c.strokeRect(x0 - 0.5, item.y - 0.5, Math.max(x1 - x0, 2) + 1, item.h + 1);
    }
  },

  /* ---- the whole, small ---- */

  drawOverview() {
    const canvas = this.overview, c = canvas.getContext('2d');
    const wide = this.width, high = this.paper ? OVERVIEW : canvas.clientHeight, left = this.left, right = this.right;
    const x = (t) => left + t / this.end * (right - left);
    if (wide === 0 || high === 0) {
      return;
    }
    canvas.classList.toggle('whole', view.to - view.from >= this.end * 0.999);
    canvas.width = Math.round(wide * this.scale);
    canvas.height = Math.round(high * this.scale);
    c.drawImage(this.small(canvas.width, canvas.height, high, x), 0, 0);
    c.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    if (view.to - view.from < this.end * 0.999) {
      c.fillStyle = this.css('card');
      c.globalAlpha = 0.72;
      c.fillRect(left, 0, x(view.from) - left, high);
      c.fillRect(x(view.to), 0, right - x(view.to), high);
      c.globalAlpha = 1;
      c.strokeStyle = this.css('mark');
      c.lineWidth = 1.5;
      c.strokeRect(x(view.from) + 0.5, 0.75, Math.max(x(view.to) - x(view.from) - 1, 2), high - 1.5);
    }
  },

  overviewTime(x) {
    return (x - this.left) / (this.right - this.left) * this.end;
  },

  /* Every row in a few pixels: drawn once, as long as size and colours stay. */
  small(wide, high, height, x) {
    const key = [wide, high, colours.palette, this.css('faint')].join();
    if (this.smallKey === key) {
      return this.smallCanvas;
    }
    const canvas = document.createElement('canvas'), c = canvas.getContext('2d');
    const all = this.runs.flatMap((run) => run.rows.map((_, row) => [run, row])), step = height / all.length;
    canvas.width = wide;
    canvas.height = high;
    c.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    c.fillStyle = this.css('faint');
    c.fillRect(this.left, 0, this.right - this.left, height);
    all.forEach(([run, row], k) => {
      const lane = run.lanes.find((l) => l.row === row && l.lane === 0);
      let last = -1;
      for (let i = lane ? lane.first : 0; lane && i < lane.first + lane.n; i++) {
        const x1 = x(endOf(run, i)), key = lookOf(run, i);
        if (x1 - last >= 0.5 && !colours.isIdle(key)) { /* idle time stays empty */
          c.fillStyle = colours.of(key);
          c.fillRect(x(run.start[i]), k * step, Math.max(x1 - x(run.start[i]), 0.5), Math.max(step - 0.6, 0.8));
          last = x1;
        }
      }
    });
    this.smallKey = key;
    this.smallCanvas = canvas;
    return canvas;
  },
});
