/* colours.js - what each kind of work looks like: the colours of the traces
 * (docs/reference/formats.md), a set that colour-blind readers can tell apart (Okabe and Ito 2008),
 * and patterns for print. Work is a solid box, idle time hatched. */

/* key: words, colours of the traces, colour-blind safe, pattern in print: [lines, grey] */
const LOOKS = {
  'compute.forward': ['Forward', '#7ec894', '#56b4e9', ['none', '#ffffff']],
  'compute.backward': ['Backward', '#4387fd', '#0072b2', ['none', '#9a9a9a']],
  'compute.dgrad': ['Input gradient', '#85a0d2', '#0072b2', ['none', '#c4c4c4']],
  'compute.wgrad': ['Weight gradient', '#f2e14c', '#f0e442', ['dots', '#ffffff']],
  'compute.recompute': ['Recomputation', '#99ee66', '#b8dff5', ['cross', '#ffffff']],
  'optimizer': ['Optimizer', '#0da861', '#009e73', ['none', '#555555']],
  'comm.tp': ['Tensor parallel', '#ff8c00', '#e69f00', ['up', '#ffffff']],
  'comm.dp': ['Data parallel', '#c79b7d', '#d55e00', ['down', '#ffffff']],
  'comm.pp': ['Messages', '#b67d8f', '#cc79a7', ['level', '#ffffff']],
  'comm.cp': ['Context parallel', '#ffa733', '#e69f00', ['up', '#dddddd']],
  'comm.ep': ['Expert parallel', '#f44a3f', '#d55e00', ['cross', '#dddddd']],
  'offload': ['Offload', '#4e9bb9', '#56b4e9', ['level', '#dddddd']],
  'host': ['Host optimizer', '#2f7f5f', '#009e73', ['dots', '#555555']],
  'bubble_fill': ['Bubble: fill', '#8e7cc3', '#7a7a7a', ['up', '#ffffff']],
  'bubble_stall': ['Bubble: stall', '#d9534f', '#222222', ['up', '#ffffff']],
  'bubble_drain': ['Bubble: drain', '#6b8fa3', '#a5a5a5', ['up', '#ffffff']],
  'exposed_pipeline': ['Exposed messages', '#b67d8f', '#cc79a7', ['level', '#ffffff']],
  'exposed_data': ['Exposed data', '#b07a50', '#d55e00', ['down', '#ffffff']],
  'exposed_tensor': ['Exposed tensor', '#e07b00', '#e69f00', ['up', '#ffffff']],
  'exposed_context': ['Exposed context', '#e09020', '#e69f00', ['up', '#dddddd']],
  'exposed_expert': ['Exposed expert', '#d33a30', '#d55e00', ['cross', '#dddddd']],
  'exposed_offload': ['Exposed offload', '#3a7f9c', '#56b4e9', ['level', '#dddddd']],
  'exposed_uneven': ['Uneven work', '#8b4fb0', '#cc79a7', ['dots', '#dddddd']],
  'deadlock': ['Deadlock', '#b3261e', '#000000', ['cross', '#ffffff']],
};
const PALETTES = [['trace', 'as in traces'], ['safe', 'colour-blind safe'], ['print', 'patterns, for print']];

/* Lines of the patterns, in a square of 6. */
const HATCHES = {up: 'M-1 7L7 -1', down: 'M-1 -1L7 7', level: 'M0 3H6', cross: 'M-1 7L7 -1M-1 -1L7 7', dots: 'M2 2h2'};

/* Shares of memory: words and colours by palette. */
const MEMORY = [
  ['weights', 'Weights', '#5b7fb4', '#0072b2', '#6a6a6a'],
  ['gradients', 'Gradients', '#8fb0d9', '#56b4e9', '#9a9a9a'],
  ['optimizer', 'Optimizer', '#3f9f7f', '#009e73', '#4a4a4a'],
  ['buffers', 'Buffers', '#a9a9b8', '#999999', '#bdbdbd'],
  ['activations', 'Activations', '#f0b35a', '#e69f00', '#d9d9d9'],
  ['passing', 'For the current pass', '#e2763a', '#d55e00', '#efefef'],
  ['reserve', 'Fragmentation, context, communicators', '#d7d7df', '#cccccc', '#f7f7f7'],
];

const BUCKET_LOOK = {
  compute_forward: 'compute.forward', compute_backward: 'compute.backward',
  recompute: 'compute.recompute', optimizer: 'optimizer',
};

const colours = {
  palette: 'trace',
  onWhite: false, /* paper is white, whatever the screen is */
  dark: window.matchMedia('(prefers-color-scheme: dark)'),
  patterns: new Map(),

  of(key) {
    const look = LOOKS[key] || ['', '#999999', '#999999', ['none', '#bbbbbb']];
    const colour = {trace: look[1], safe: look[2], print: look[3][1]}[this.palette];
    const hidden = this.palette === 'safe' && this.isIdle(key) && this.dark.matches && !this.onWhite && contrast(colour, '#1b2129') < 2;
    return hidden ? mixed(colour, '#ffffff', 0.9) : colour; /* black lines on a dark screen */
  },

  memory(at) {
    return MEMORY[at][{trace: 2, safe: 3, print: 4}[this.palette]];
  },

  isIdle(key) {
    return key.startsWith('bubble_') || key.startsWith('exposed_') || key === 'deadlock';
  },

  /* Of work on a later chunk of the model (0 .. 1 of the way to the last): lighter. Greys mean
   * something of their own. */
  ofChunk(key, way) {
    return way > 0 && this.palette !== 'print' ? mixed(this.of(key), '#ffffff', 0.4 * way) : this.of(key);
  },

  /* A fill for a canvas: hatched for idle time, and for everything in print. */
  fill(context, key, way) {
    const print = this.palette === 'print';
    const lines = print ? LOOKS[key][3][0] : this.isIdle(key) ? 'up' : 'none';
    if (lines === 'none') {
      return this.ofChunk(key, way);
    }
    const ground = print ? LOOKS[key][3][1] : this.of(key) + '2e', ink = print ? '#222222' : this.of(key);
    if (context.hatch) { /* a picture has patterns of its own */
      return context.hatch(lines, ground, ink);
    }
    const name = key + this.palette + this.of(key);
    if (!this.patterns.has(name)) {
      this.patterns.set(name, this.pattern(context, lines, ground, ink));
    }
    return this.patterns.get(name);
  },

  pattern(context, lines, ground, ink) {
    const tile = document.createElement('canvas'), size = 8;
    tile.width = tile.height = size;
    const c = tile.getContext('2d');
    c.fillStyle = ground;
    c.fillRect(0, 0, size, size);
    c.strokeStyle = c.fillStyle = ink;
    c.lineWidth = 1.3;
    c.beginPath();
    for (let k = -size; k <= size; k += size) {
      if (lines === 'up' || lines === 'cross') { c.moveTo(k - 1, size + 1); c.lineTo(k + size + 1, -1); }
      if (lines === 'down' || lines === 'cross') { c.moveTo(k - 1, -1); c.lineTo(k + size + 1, size + 1); }
    }
    if (lines === 'level') { c.moveTo(0, 2); c.lineTo(size, 2); c.moveTo(0, 6); c.lineTo(size, 6); }
    c.stroke();
    if (lines === 'dots') { c.fillRect(1, 1, 2, 2); c.fillRect(5, 5, 2, 2); }
    return context.createPattern(tile, 'repeat');
  },

  /* The same for HTML: a background. */
  css(key) {
    const print = this.palette === 'print', ground = this.of(key);
    const lines = print ? LOOKS[key][3][0] : this.isIdle(key) ? 'up' : 'none';
    const ink = print ? '#222222' : ground, paper = print ? ground : ground + '2e';
    const angle = {up: '135deg', down: '45deg', level: '0deg', cross: '135deg', dots: '90deg'}[lines];
    return lines === 'none' ? ground
      : `repeating-linear-gradient(${angle}, ${ink} 0 1.3px, ${paper} 1.3px 5px)`;
  },
};

/* The key of a slice's look. */
function lookOf(run, i) {
  const kind = run.kinds[run.kind[i]];
  if (kind.sort === 'idle' && isStuck(run, i)) {
    return 'deadlock';
  }
  return kind.sort === 'idle' ? kind.name : kind.cat;
}

/* Idle for ever. */
function isStuck(run, i) {
  return Boolean(run.open[i] && run.rows[run.row[i]].stuck);
}

/* How far from the first chunk of the model to the last, 0 .. 1, a pass works. */
function chunkWay(run, i) {
  return run.chunks > 1 && run.stage[i] >= 0 ? Math.floor(run.stage[i] / run.pipeline) / (run.chunks - 1) : 0;
}

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/* Of two colours "#rrggbb", share of the second. */
function mixed(a, b, share) {
  const to = channels(b);
  return '#' + channels(a).map((x, k) => Math.round(x + (to[k] - x) * share).toString(16).padStart(2, '0')).join('');
}

/* Relative luminance and contrast, WCAG 2.1. */
function luminance(colour) {
  const [r, g, b] = channels(colour).map((x) => (x <= 10 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/* Black or white, whichever reads better on a colour: one of them always has 4.5 : 1. */
function inkOn(colour) {
  return contrast(colour, '#000000') >= contrast(colour, '#ffffff') ? '#000000' : '#ffffff';
}
