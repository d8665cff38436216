/* draw.js - boxes on a time axis: rows of what ranks do, with names in the boxes that have room. */

const KINDS = {F: ['Forward', '#7ec894', '#5eb37a'], B: ['Backward', '#4387fd', '#2f6ee0'], I: ['Input gradient', '#85a0d2', '#6684bf'],
  W: ['Weight gradient', '#f2e14c', '#dcc92f']};
const CAUSES = {fill: ['Fill', '#8e7cc3'], stall: ['Stall', '#d9534f'], drain: ['Drain', '#6b8fa3']};

function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* A round number not below x: 1, 2 or 5 times a power of ten. */
function roundStep(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [1, 2, 5, 10].find((k) => k * power >= x * 0.999);
}

/* Rows of boxes {start, dur, colour, name, words}; `idle` {start, dur, colour} is hatched. */
class Chart {
  constructor(label) {
    this.canvas = el('canvas', {role: 'img', tabindex: 0, 'aria-label': label});
    this.rows = [];
    this.selected = null; /* {row, box} */
    this.canvas.addEventListener('mousemove', (event) => this.point(event));
    this.canvas.addEventListener('mouseleave', () => tip.hide());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /* `end`: of the axis; `unit`: how a time is told. */
  show(rows, end, names, unit) {
    Object.assign(this, {rows, end, names, unit});
    this.draw();
  }

  layout() {
    const width = this.canvas.clientWidth, left = width < 500 ? 46 : 62;
    const high = Math.max(Math.min(34, Math.floor(620 / Math.max(this.rows.length, 1))), 9);
    return {width, left, high, top: 20, scale: (width - left - 4) / (this.end || 1)};
  }

  draw() {
    const g = this.layout(), ratio = devicePixelRatio || 1, height = g.top + this.rows.length * g.high + 4;
    if (g.width === 0) {
      return;
    }
    this.canvas.style.height = height + 'px';
    this.canvas.width = Math.round(g.width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const c = this.canvas.getContext('2d');
    c.scale(ratio, ratio);
    c.font = '11px system-ui, sans-serif';
    c.textBaseline = 'middle';
    this.drawAxis(c, g, height);
    this.rows.forEach((row, k) => this.drawRow(c, g, row, k));
    if (this.selected && this.rows[this.selected.row]) {
      this.drawSelected(c, g);
    }
  }

  drawAxis(c, g, height) {
    const step = roundStep(Math.max(this.end, 1e-12) / Math.max(g.width / 90, 2));
    c.fillStyle = ink('--soft');
    c.strokeStyle = ink('--line');
    c.lineWidth = 1;
    for (let t = 0; t <= this.end * 1.0001; t += step) {
      const x = g.left + t * g.scale;
      c.textAlign = t === 0 ? 'left' : 'center';
      c.fillText(this.unit(t), Math.min(x, g.width - 14), 8);
      c.beginPath();
      c.moveTo(x + 0.5, 16);
      c.lineTo(x + 0.5, height);
      c.stroke();
    }
  }

  drawRow(c, g, row, k) {
    const y = g.top + k * g.high, high = g.high - (g.high > 14 ? 4 : 1);
    c.fillStyle = ink('--ink');
    c.textAlign = 'left';
    if (g.high >= 11) {
      c.fillText(this.names[k], 0, y + high / 2);
    }
    c.save();
    c.globalAlpha = 0.28;
    row.idle.forEach((gap) => {
      c.fillStyle = gap.colour;
      c.fillRect(g.left + gap.start * g.scale, y + 1, gap.dur * g.scale, high - 2);
    });
    c.restore();
    let last = -1;
    row.boxes.forEach((box) => {
      const x = g.left + box.start * g.scale, wide = box.dur * g.scale, part = high / (box.of || 1), top = y + (box.part || 0) * part;
      if (x + wide < last + 0.4 && !box.part) {
        return; /* nothing that could be seen */
      }
      last = x + wide;
      c.fillStyle = box.colour;
      c.fillRect(x, top, Math.max(wide - (wide > 4 ? 1 : 0), 0.5), part);
      if (box.name && wide > 5 + 6.2 * box.name.length && part >= 9) {
        c.fillStyle = '#102030';
        c.textAlign = 'center';
        c.fillText(box.name, x + wide / 2, top + part / 2 + 0.5);
      }
    });
  }

  drawSelected(c, g) {
    const {row, box} = this.selected, at = this.rows[row].boxes[box];
    if (at) {
      c.strokeStyle = ink('--ink');
      c.lineWidth = 2;
      c.strokeRect(g.left + at.start * g.scale + 1, g.top + row * g.high + 1, Math.max(at.dur * g.scale - 2, 2), g.high - (g.high > 14 ? 6 : 3));
    }
  }

  /* {row, box, time} under a pointer; box -1: none. */
  hit(event) {
    const g = this.layout(), r = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - r.top - g.top) / g.high), time = (event.clientX - r.left - g.left) / g.scale;
    if (row < 0 || row >= this.rows.length) {
      return null;
    }
    const part = ((event.clientY - r.top - g.top) / g.high - row);
    const box = this.rows[row].boxes.findIndex((b) => time >= b.start && time < b.start + b.dur && (!b.of || Math.floor(part * b.of) === b.part));
    return {row, box, time};
  }

  point(event) {
    const at = this.hit(event), idle = at && at.box < 0 && this.rows[at.row].idle.find((gap) => at.time >= gap.start && at.time < gap.start + gap.dur);
    const words = at && (at.box >= 0 ? this.rows[at.row].boxes[at.box].words : idle && idle.words);
    if (words) {
      tip.show(words, event);
    } else {
      tip.hide();
    }
  }

  select(row, box, loud) {
    this.selected = this.rows[row] && this.rows[row].boxes[box] ? {row, box} : null;
    this.draw();
    if (this.selected && loud) {
      announce(`${this.names[row]}: ${this.rows[row].boxes[box].words}`);
    }
  }

  /* Arrow keys go from box to box. Returns whether the key was one of them. */
  key(event) {
    const {row, box} = this.selected || {row: 0, box: -1}, to = {ArrowRight: [row, box + 1], ArrowLeft: [row, Math.max(box - 1, 0)]}[event.key];
    if (to) {
      this.select(to[0], Math.min(to[1], this.rows[to[0]].boxes.length - 1), true);
    } else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      const next = Math.min(Math.max(row + (event.key === 'ArrowDown' ? 1 : -1), 0), this.rows.length - 1);
      const time = this.selected ? this.rows[row].boxes[box].start : 0, boxes = this.rows[next].boxes;
      const near = boxes.reduce((best, b, k) => Math.abs(b.start - time) < Math.abs(boxes[best].start - time) ? k : best, 0);
      this.select(next, near, true);
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  }
}
