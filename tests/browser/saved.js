/* What the classroom's page saves, given to the program: a run file that was exported draws what the page shows,
 * in `schedule` to the last start, in `run` with the model's times in the same order. */
'use strict';

const path = require('path');
const {execFileSync} = require('child_process');
const {is} = require('./facts.js');

const STATES = {
  'chunks, groups, times, a delay and uneven stages': 'schedule=interleaved&p=4&m=8&v=2&group=8&times=F=1,B=2.5,C=0.25&stages=1,1,2,1,1,1,1,1.5',
  'slices of a sequence': 'schedule=seq1f1b&p=4&m=6&slices=3&times=C=0.5',
  'an order that follows from its times': 'schedule=zb-1p&p=4&m=8&times=F=1,I=1,W=2',
  'overlapped passes': 'schedule=dualpipev&p=4&m=10&times=FB=2.5',
  'two pipes': 'schedule=chimera&p=4&m=8',
  'more stages than the model has layers': 'schedule=interleaved&p=12&m=12&v=4',
  'an order of the user': 'schedule=1f1b&p=2&m=3&times=F=2&slots=rank 0: F0.0 F1.0 F2.0 B0.0 B1.0 B2.0;rank 1: F0.1 B0.1 F1.1 B1.1 F2.1 B2.1',
};

const shown = (page) => page.evaluate(() => {
  const {lane} = window.trainyard.rooms.schedule;
  return {m: lane.m, ranks: lane.ranks.map((rank, r) => ({actions: lane.actions(r), start: [...rank.start]}))};
});

async function exported(page, folder, name) {
  await page.click('#s-save summary');
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('#s-save button:has-text("Run file")')]);
  const where = path.resolve(folder, `${name}.yaml`);
  await file.saveAs(where);
  return where;
}

/* "F2.0" of each pass of a rank; slices follow one another there, and are one here. */
const merged = (passes) => passes.filter((pass, i) => pass !== passes[i - 1]);

function expected(actions, m) {
  return merged(actions.flatMap((action) => action.replace(/[()]/g, '').split('|').map((atom) => {
    const [, phase, mb, stage] = /^(.)(\d+)\.(\d+)/.exec(atom);
    return `${phase}${Number(mb) + (atom.includes('^') ? m / 2 : 0)}.${stage}`;
  })));
}

const LETTERS = {forward: 'F', backward: 'B', dgrad: 'I', wgrad: 'W'};

/* The passes of one GPU of each stage, as `run` executes them. */
function executed(binary, file) {
  const rows = execFileSync(binary, ['run', file, '--quiet', '--output', 'null:', '--ranks', 'one-per-stage', '--trace', 'csv:-'],
    {maxBuffer: 1 << 28}).toString().trim().split('\n').map((line) => line.split(',')), heads = rows.shift();
  const [rank, stream, phase, mb, stage, start] = ['rank', 'stream', 'phase', 'micro_batch', 'stage', 'start_ps'].map((head) => heads.indexOf(head));
  const ranks = new Map();
  rows.filter((row) => row[stream] === 'compute' && row[phase] in LETTERS).sort((a, b) => a[start] - b[start])
    .forEach((row) => ranks.set(Number(row[rank]), [...(ranks.get(Number(row[rank])) || []), `${LETTERS[row[phase]]}${row[mb]}.${row[stage]}`]));
  return [...ranks].sort(([a], [b]) => a - b).map(([, passes]) => merged(passes));
}

async function saved(enter, browser, folder, binary) {
  let number = 0;
  for (const [what, state] of Object.entries(STATES)) {
    const {page} = await enter(browser, `page.html#${state}`);
    const file = await exported(page, folder, `exported-${++number}`), here = await shown(page);
    const drawn = JSON.parse(execFileSync(binary, ['schedule', file, '--format', 'json']));
    const there = drawn.ranks.map(({actions, start}) => ({actions, start}));
    is(JSON.stringify(there) === JSON.stringify(here.ranks), `a run file with ${what}: schedule draws the same`, [there, here.ranks]);
    const ran = executed(binary, file), order = here.ranks.map(({actions}) => expected(actions, here.m));
    is(JSON.stringify(ran) === JSON.stringify(order), 'and run has the same order', [ran, order]);
    await page.close();
  }
}

module.exports = {saved};
