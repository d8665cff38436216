/* address.js - what is seen, in the address of the page after the #, so that a link shows it again.
 * Times are picoseconds; what is as the page opens is left out:
 *
 *     t=FROM-TO  r=FROM-TO  s=RUN.SLICE  path=RUN.STEP  rows=comm,memory,arrows  off=LOOK,..  colours=safe */

const ROWS = ['comm', 'memory', 'arrows'];
const WRITTEN_MS = 300; /* after the last change: browsers refuse to be told too often */

function addressOf(timeline, usual) {
  const out = [], rows = ROWS.filter((name) => shown[name]).join(), {chosen, trail, range} = shown;
  if (!timeline.opening) { out.push(`t=${view.from}-${view.to}`); }
  if (range) { out.push(`r=${range.from}-${range.to}`); }
  if (trail && trail.path) {
    out.push(`path=${trail.run}.${trail.at}`);
  } else if (chosen) {
    out.push(`s=${chosen.run}.${chosen.i}`);
  }
  if (rows !== usual) { out.push(`rows=${rows}`); }
  if (shown.off.size > 0) { out.push(`off=${[...shown.off].join()}`); }
  if (colours.palette !== PALETTES[0][0]) { out.push(`colours=${colours.palette}`); }
  return out.join('&');
}

/* Two whole numbers with a sign between them, of which `fits` is true; else null. */
function pairIn(text, sign, fits) {
  const pair = (text || '').split(sign).map(Number);
  return pair.length === 2 && pair.every((x) => Number.isSafeInteger(x) && x >= 0) && fits(...pair) ? pair : null;
}

/* Shows what the address says; what it does not say, or what this page does not have, is as the page
 * opens. */
function readAddress(timeline, act, usual) {
  const said = new Map(location.hash.slice(1).replace(/%2C/gi, ',').split('&').map((word) => word.split('=')));
  const list = (key) => (said.get(key) || '').split(',');
  const rows = said.has('rows') ? list('rows') : usual.split(',');
  const time = (key) => pairIn(said.get(key), '-', (a, b) => a < b && b <= timeline.end);
  const t = time('t'), r = time('r'), runs = timeline.runs;
  const spot = pairIn(said.get('s'), '.', (run, i) => run < runs.length && i < runs[run].n_slices);
  const path = pairIn(said.get('path'), '.', (run, at) => run < runs.length && at < runs[run].path.length);
  ROWS.forEach((name) => { shown[name] = rows.includes(name); });
  shown.off = new Set(list('off').filter((key) => LOOKS[key]));
  colours.palette = (PALETTES.find(([value]) => value === said.get('colours')) || PALETTES[0])[0];
  Object.assign(shown, {range: r ? {from: r[0], to: r[1]} : null, chosen: null, trail: null});
  timeline.opening = true;
  timeline.resize();
  if (path) {
    beginPath(runs, path[0]);
    act.jump(Math.min(path[1], shown.trail.slices.length - 1));
  } else if (spot) {
    act.choose({run: spot[0], i: spot[1]});
  }
  if (t) { timeline.show(...t); }
}

/* Keeps the address as what is seen, and what is seen as the address; `usual` are the rows that the page
 * opens with. Returns what to call when something may have changed. */
function keepAddress(timeline, usual, read) {
  let written = location.hash.slice(1), due = 0;
  const write = () => {
    const now = addressOf(timeline, usual);
    if (now !== written && (now !== '' || written.includes('='))) {
      written = now;
      history.replaceState(null, '', location.href.replace(/#.*/, '') + (now ? '#' + now : ''));
    }
  };
  window.addEventListener('hashchange', () => {
    const text = location.hash.slice(1);
    if (text !== written && (text === '' || text.includes('='))) { /* not a link to a place of the page */
      written = text;
      read();
    }
  });
  return () => {
    clearTimeout(due);
    due = setTimeout(write, WRITTEN_MS);
  };
}
