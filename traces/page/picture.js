/* picture.js - the timeline as SVG for papers and slides: what draw.js does to a canvas is written down
 * as elements. Text stays text, the width is in millimetres, there is no script; always on white. */

const PICTURE_MM = 180; /* of a page of A4 with margins of 15 mm */

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'}[c]));
const places = (x) => String(Math.round(x * 100) / 100);

/* As much of a canvas' context as draw.js uses. */
class SvgContext {
  constructor(context) {
    Object.assign(this, {measure: context, body: [], hatches: new Map(), path: '', dash: '', globalAlpha: 1, lineWidth: 1,
      fillStyle: '#000000', strokeStyle: '#000000', font: '10px sans-serif', textAlign: 'left'});
  }

  put(name, attributes, text) {
    const opaque = this.globalAlpha < 1 ? {opacity: places(this.globalAlpha)} : {};
    const words = Object.entries({...attributes, ...opaque}).map(([key, value]) => ` ${key}="${escaped(value)}"`).join('');
    this.body.push(text === undefined ? `<${name}${words}/>` : `<${name}${words}>${escaped(text)}</${name}>`);
  }

  line() {
    return {fill: 'none', stroke: this.strokeStyle, 'stroke-width': this.lineWidth, ...(this.dash ? {'stroke-dasharray': this.dash} : {})};
  }

  setTransform() {}
  setLineDash(dash) { this.dash = dash.join(' '); }

  box(x, y, w, h) {
    return {x: places(x), y: places(y), width: places(Math.max(w, 0)), height: places(Math.max(h, 0))};
  }
  fillRect(x, y, w, h) { this.put('rect', {...this.box(x, y, w, h), fill: this.fillStyle}); }
  strokeRect(x, y, w, h) { this.put('rect', {...this.box(x, y, w, h), ...this.line()}); }

  beginPath() { this.path = ''; }
  moveTo(x, y) { this.path += `M${places(x)} ${places(y)}`; }
  lineTo(x, y) { this.path += `L${places(x)} ${places(y)}`; }
  bezierCurveTo(...to) { this.path += 'C' + to.map(places).join(' '); }
  arc(x, y, r) { this.path += `M${places(x - r)} ${places(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`; }
  fill() { this.put('path', {d: this.path, fill: this.fillStyle}); }
  stroke() { this.put('path', {d: this.path, ...this.line()}); }

  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }
  text(text, x, y, look) {
    const [, weight, size] = this.font.match(/^(\d+) ([\d.]+)px/);
    const anchor = {center: 'middle', right: 'end'}[this.textAlign];
    this.put('text', {x: places(x), y: places(y + 0.36 * size), 'font-size': size, ...(weight > 400 ? {'font-weight': 'bold'} : {}),
      ...(anchor ? {'text-anchor': anchor} : {}), ...look}, text);
  }
  fillText(text, x, y) { this.text(text, x, y, {fill: this.fillStyle}); }
  strokeText(text, x, y) { this.text(text, x, y, {fill: 'none', stroke: this.strokeStyle, 'stroke-width': this.lineWidth}); }

  /* A pattern by its lines, ground and ink. */
  hatch(lines, ground, ink) {
    const key = [lines, ground, ink].join();
    if (!this.hatches.has(key)) {
      const d = HATCHES[lines], id = `h${this.hatches.size}`;
      this.hatches.set(key, {id, text: `<pattern id="${id}" width="6" height="6" patternUnits="userSpaceOnUse">` +
        `<rect width="6" height="6" fill="${ground.slice(0, 7)}"${ground.length > 7 ? ' fill-opacity="0.18"' : ''}/>` +
        `<path d="${d}" fill="none" stroke="${ink}" stroke-width="${lines === 'dots' ? 2 : 1.1}"/></pattern>`});
    }
    return `url(#${this.hatches.get(key).id})`;
  }
}

const PICTURE_KEY = 16; /* height of a line of the legend */

/* What is in view, as the text of an SVG file. */
function pictureOf(timeline, title) {
  const {context} = timeline, c = new SvgContext(context), edge = 8;
  let high = timeline.height;
  Object.assign(timeline, {context: c, recording: true, paper: true});
  colours.onWhite = true;
  try {
    timeline.draw();
    high = drawPictureKeys(timeline, c);
  } finally {
    Object.assign(timeline, {context, recording: false, paper: false});
    colours.onWhite = false;
  }
  const w = timeline.width + 2 * edge, h = high + edge;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${PICTURE_MM}mm" height="${places(PICTURE_MM * h / w)}mm" viewBox="${-edge} 0 ${w} ${places(h)}" ` +
    `font-family="${escaped(timeline.family)}">\n<title>${escaped(title)}</title>\n<defs>${[...c.hatches.values()].map((k) => k.text).join('')}</defs>\n` +
    `<rect x="${-edge}" width="100%" height="100%" fill="#ffffff"/>\n${c.body.join('\n')}\n</svg>\n`;
}

/* What is in the picture, below it; returns where it ends. */
function drawPictureKeys(timeline, c) {
  const used = looksOf(timeline.runs).filter((key) => !shown.off.has(key) && (shown.comm || !key.startsWith('comm.')));
  const entries = used.map((key) => [LOOKS[key][0], colours.fill(c, key)]);
  let x = timeline.left, y = timeline.height;
  const say = (words, right) => {
    c.fillStyle = ON_WHITE.ink;
    c.fillText(words, x + right, y + 5);
  };
  const put = ([words, fill]) => {
    const wide = 26 + c.measureText(words).width;
    if (x + wide > timeline.right) {
      x = timeline.left;
      y += PICTURE_KEY;
    }
    c.fillStyle = fill;
    c.fillRect(x, y, 12, 9);
    say(words, 16);
    x += wide;
  };
  timeline.font(10);
  c.textAlign = 'left';
  entries.forEach(put);
  if (shown.memory) {
    x = timeline.left;
    y += PICTURE_KEY;
    say('Memory:', 0);
    x += 10 + c.measureText('Memory:').width;
    memoryKinds(timeline.runs).forEach(([words, k]) => put([words, colours.memory(k)]));
  }
  return y + PICTURE_KEY;
}

/* What strips of memory are made of: words and the number of the colour. */
function memoryKinds(runs) {
  const filled = (k) => k > 3 || runs.some((run) => run.rows.some((row) => row.fixed[k] > 0));
  return MEMORY.map(([, words], k) => [words, k]).filter(([, k]) => filled(k));
}

/* The same of one run, found once: slices of a kind look alike, but for those that idle for ever. */
function looksIn(run) {
  if (!run.looks) {
    const known = new Uint8Array(run.kinds.length);
    run.looks = new Set();
    for (let i = 0; i < run.n_slices; i++) {
      if (known[run.kind[i]] === 0 || run.open[i] === 1) {
        run.looks.add(lookOf(run, i));
        known[run.kind[i]] = isStuck(run, i) ? 0 : 1;
      }
    }
  }
  return run.looks;
}

/* Looks that slices of the runs have, in the order of the legend. */
function looksOf(runs) {
  return Object.keys(LOOKS).filter((key) => runs.some((run) => looksIn(run).has(key)));
}

function savePicture(text, name) {
  const url = URL.createObjectURL(new Blob([text], {type: 'image/svg+xml'}));
  el('a', {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/* To the clipboard; where the browser does not let a page do that, into a file. */
function copyPicture(text, name, say) {
  const save = () => { savePicture(text, name); say(`Saved as ${name}: this browser does not let the page copy`); };
  if (!navigator.clipboard) {
    save();
    return;
  }
  navigator.clipboard.writeText(text).then(() => say('Copied as SVG: paste it into a text file or a drawing program'), save);
}
