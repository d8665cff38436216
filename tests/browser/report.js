/* Drives pages of `trainyard report` in Chromium: what a reader sees, points at, clicks and types.
 * Usage: node report.js CHROMIUM FOLDER, where FOLDER has one.html (1F1B on 4 stages), two.html (two
 * runs), op.html (every operation), stop.html (a deadlock). Prints TAP. */
'use strict';

const {chromium} = require('playwright-core');
const path = require('path');

const [,, executablePath, folder] = process.argv;
let number = 0, failed = 0;

function is(fact, what, more) {
  number++;
  failed += fact ? 0 : 1;
  console.log(`${fact ? 'ok' : 'not ok'} ${number} - ${what}`);
  if (!fact && more !== undefined) {
    console.log('# ' + JSON.stringify(more));
  }
}

/* A page with what went wrong in it, and what it asked the network for. */
async function open(browser, name, options) {
  const page = await browser.newPage({viewport: {width: 1440, height: 900}, ...options});
  const wrong = [], asked = [];
  page.on('console', (m) => wrong.push(m.text()));
  page.on('pageerror', (e) => wrong.push(e.message));
  page.on('request', (r) => asked.push(r.url()));
  await page.goto('file://' + path.resolve(folder, name));
  return {page, wrong, asked};
}

/* The middle of a slice on the screen, and its number. */
function find(page, run, row, name, mb) {
  return page.evaluate(([r, row, name, mb]) => {
    const t = window.trainyard, run = t.runs[r], tl = t.timeline;
    for (let i = 0; i < run.n_slices; i++) {
      if (run.row[i] === row && run.kinds[run.kind[i]].name === name && run.mb[i] === mb) {
        const item = tl.place(r, i), box = document.getElementById('canvas').getBoundingClientRect();
        const x = (tl.x(run.start[i]) + tl.x(run.start[i] + run.dur[i])) / 2;
        return {x: box.left + x, y: box.top + item.y + item.h / 2, i};
      }
    }
    return null;
  }, [run, row, name, mb]);
}

const chosen = (page) => page.evaluate(() => window.trainyard.shown.chosen);
const tip = (page) => page.evaluate(() => {
  const t = document.getElementById('tip');
  return t.hidden ? '' : t.innerText;
});

async function sums(page) {
  return page.evaluate(() => window.trainyard.runs.map((run) => {
    const t = window.trainyard;
    return {
      rows: run.rows.every((row, k) => String(t.bucketsOf(run, k)) === String(row.buckets_ps)),
      path: run.halted || run.path.reduce((sum, s) => sum + s.dur, 0) === run.makespan_ps,
      peak: run.rows.every((row, k) => {
        const peak = t.memoryOf(run, k).peak, fixed = row.fixed.reduce((a, b) => a + b, 0);
        return Math.abs(fixed + peak.kept + peak.passing - row.peak) <= 1e-9 * row.peak;
      }),
    };
  }));
}

async function loads(browser) {
  for (const name of ['one.html', 'two.html', 'op.html', 'stop.html']) {
    const {page, wrong, asked} = await open(browser, name);
    is(wrong.length === 0, `${name} loads without a word on the console`, wrong);
    is(asked.length === 1, `${name} asks for nothing else`, asked);
    for (const run of await sums(page)) {
      is(run.rows && run.path && run.peak, `${name}: sums of slices are the statistics`, run);
    }
    await page.close();
  }
}

async function hovers(browser) {
  const {page} = await open(browser, 'one.html');
  await page.evaluate(() => window.trainyard.timeline.show(0, window.trainyard.timeline.end / 4));
  const idle = await find(page, 0, 0, 'bubble_stall', 0);
  await page.mouse.move(idle.x, idle.y);
  const words = await tip(page);
  is(/^stall/.test(words) && /recv grad 0, which backward 0 on stage 1 made/.test(words),
    'a bubble says why it is there and what ended it', words);
  const pass = await find(page, 0, 1, 'forward', 0);
  await page.mouse.move(pass.x, pass.y);
  is(/recv act 0, which forward 0 on stage 0 made/.test(await tip(page)), 'a pass says what it waited for', await tip(page));
  const strip = await page.evaluate(() => {
    const item = window.trainyard.timeline.items.find((k) => k.type === 'memory'), box = document.getElementById('canvas').getBoundingClientRect();
    return {x: box.left + 400, y: box.top + item.y + 20};
  });
  await page.mouse.move(strip.x, strip.y);
  is(/Memory[^]*weights[^]*activations[^]*Peak/.test(await tip(page)), 'a memory strip says what it is made of', await tip(page));
  await page.mouse.move(5, 5);
  is(await tip(page) === '', 'the tip goes when the pointer does');
  await page.close();
}

async function walks(browser) {
  const {page} = await open(browser, 'one.html');
  await page.evaluate(() => window.trainyard.timeline.show(0, window.trainyard.timeline.end / 1.5));
  const from = await find(page, 0, 0, 'backward', 2);
  await page.mouse.click(from.x, from.y);
  is((await chosen(page)).i === from.i, 'a click chooses a slice', await chosen(page));
  const before = await page.evaluate((i) => window.trainyard.runs[0].before[i], from.i);
  await page.mouse.click(from.x, from.y);
  is((await chosen(page)).i === before, 'a second click goes to what it waited for', [await chosen(page), before]);
  is(await page.locator('.trail [aria-current=true]').count() === 1, 'the panel says where on the way we are');
  let steps = 0;
  while (await page.locator('#b-back:not([disabled])').count() === 1 && steps < 5000) {
    await page.click('#b-back');
    steps++;
  }
  const at = await page.evaluate(() => window.trainyard.runs[0].start[window.trainyard.shown.chosen.i]);
  is(steps > 3 && at === 0, 'walking back ends at the start of the run', [steps, at]);
  await page.click('#b-path');
  const path = await page.evaluate(() => {
    const t = window.trainyard, run = t.runs[0], s = t.shown.trail.slices;
    return {end: run.start[s[0]] + run.dur[s[0]], makespan: run.makespan_ps, start: run.start[s[s.length - 1]]};
  });
  is(path.end === path.makespan && path.start === 0, 'the critical path reaches from the end to the start', path);
  await page.close();
}

async function types(browser) {
  const {page} = await open(browser, 'one.html');
  const press = (key) => page.keyboard.press(key);
  await page.focus('#canvas');
  await press('ArrowRight');
  const first = await chosen(page);
  await press('ArrowRight');
  is((await chosen(page)).i === first.i + 1, 'the right arrow goes to the next slice', [first, await chosen(page)]);
  await press('ArrowDown');
  const lower = await chosen(page);
  is(lower.i !== first.i + 1, 'the down arrow goes to the next row');
  const said = await page.textContent('#live');
  is(said.length > 20, 'what is chosen is said aloud', said);
  for (let k = 0; k < 12; k++) { await press('ArrowRight'); }
  const here = (await chosen(page)).i;
  const before = await page.evaluate((i) => window.trainyard.runs[0].before[i], here);
  await press('Enter');
  is((await chosen(page)).i === before, 'Enter walks back', [here, before, await chosen(page)]);
  await press('Backspace');
  is((await chosen(page)).i === here, 'Backspace walks forward again');
  const span = () => page.evaluate(() => window.trainyard.view.to - window.trainyard.view.from);
  const all = await span();
  await press('w');
  is(await span() < all, 'W zooms in');
  await press('0');
  is(await span() === all, '0 shows all');
  await press('Escape');
  is(await chosen(page) === null, 'Escape clears');
  await press('c');
  is(await page.getAttribute('#b-path', 'aria-pressed') === 'true', 'C shows the critical path');
  await page.close();
}

/* The colour of the canvas at a place, as "r,g,b". */
function colour(page, at) {
  return page.evaluate(({x, y}) => {
    const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect(), s = window.trainyard.timeline.scale;
    return String(canvas.getContext('2d').getImageData((x - box.left) * s, (y - box.top) * s, 1, 1).data.slice(0, 3));
  }, at);
}

async function toggles(browser) {
  const {page} = await open(browser, 'one.html');
  await page.evaluate(() => window.trainyard.timeline.show(0, window.trainyard.timeline.end / 1.5));
  const pass = await find(page, 0, 0, 'backward', 1);
  const corner = {x: pass.x - 6, y: pass.y - 8};
  is(await colour(page, corner) === '67,135,253', 'a backward has its colour', await colour(page, corner));
  await page.click('[data-look="compute.backward"]');
  is(await colour(page, corner) !== '67,135,253', 'the legend switches a kind off', await colour(page, corner));
  await page.mouse.move(pass.x, pass.y);
  is(await tip(page) === '', 'what is off is not found by the pointer', await tip(page));
  await page.click('[data-look="compute.backward"]');
  is(await colour(page, corner) === '67,135,253', 'and on again');
  await page.selectOption('#palette', 'safe');
  is(await colour(page, corner) === '0,114,178', 'there are colours for the colour-blind', await colour(page, corner));
  const high = () => page.evaluate(() => document.getElementById('canvas').clientHeight);
  const before = await high();
  await page.click('#b-memory');
  is(await high() < before, 'memory strips can be put away');
  await page.close();
}

async function compares(browser) {
  const {page} = await open(browser, 'two.html');
  const rows = await page.evaluate(() => window.trainyard.timeline.items.filter((k) => k.type === 'head').length);
  is(rows === 2, 'two runs lie on one time axis');
  const table = await page.locator('table').first().innerText();
  is(/B \u2212 A/.test(table) && /step time/.test(table) && /%/.test(table), 'figures stand beside each other with the difference', table);
  const slice = await find(page, 1, 0, 'forward', 1);
  await page.setViewportSize({width: 1440, height: 1400});
  await page.mouse.click(slice.x, slice.y);
  is((await chosen(page)).run === 1, 'slices of the second run can be chosen');
  await page.close();
}

async function reads(browser) {
  const {page} = await open(browser, 'one.html');
  const tables = await page.locator('table').evaluateAll((all) => all.every((t) => t.caption && t.querySelector('th[scope=col]') && t.querySelector('th[scope=row]')));
  is(tables && await page.locator('table').count() >= 6, 'tables have captions and heads');
  const bubble = await page.locator('#bubbles').innerText();
  is(/measured[^]*%[^]*formula[^]*%[^]*\(m \+ p - 1\)/.test(bubble), 'the bubble stands beside its formula', bubble);
  is(/trainyard report/.test(await page.locator('footer code').innerText()), 'the foot has the command line');
  const unnamed = await page.locator('button').evaluateAll((all) => all.filter((b) => !b.innerText.trim() && !b.getAttribute('aria-label')).length);
  is(unnamed === 0, 'every button has a name');
  for (const width of [1440, 900, 390]) {
    await page.setViewportSize({width, height: 800});
    await page.waitForTimeout(100);
    const over = await page.evaluate(() => document.scrollingElement.scrollWidth - window.innerWidth);
    is(over <= 0, `nothing sticks out at ${width} pixels`, over);
  }
  await page.close();
}

async function prints(browser) {
  const {page, wrong} = await open(browser, 'one.html');
  const pdf = await page.pdf({preferCSSPageSize: true, printBackground: true});
  is(pdf.length > 20000, 'it prints', pdf.length);
  await page.emulateMedia({media: 'print'});
  is(!await page.isVisible('#b-path') && await page.isVisible('#canvas'), 'paper has no buttons');
  const dots = () => page.evaluate(() => document.getElementById('canvas').width);
  const screen = await dots();
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  is(await dots() > 2 * screen, 'paper gets more dots than the screen', [screen, await dots()]);
  is(wrong.length === 0, 'without a word on the console', wrong);
  await page.close();
}

async function stops(browser) {
  const {page} = await open(browser, 'stop.html');
  is(/wait for each other/.test(await page.locator('#trouble').innerText()), 'a deadlock is told');
  const last = await page.evaluate(() => {
    const t = window.trainyard, run = t.runs[0], lane = run.lanes[0];
    return t.why(run, lane.first + lane.n - 1);
  });
  is(/stands at backward 0: grad of micro-batch 0/.test(last), 'and what a rank stands at', last);
  is(await page.evaluate(() => window.trainyard.runs[0].n_slices > 0 && window.trainyard.runs[0].halted), 'with what ran before it');
  await page.close();
}

(async () => {
  const browser = await chromium.launch({executablePath, args: ['--no-sandbox']});
  for (const part of [loads, hovers, walks, types, toggles, compares, reads, prints, stops]) {
    try {
      await part(browser);
    } catch (error) {
      is(false, `${part.name}: ${error.message.split('\n')[0]}`);
    }
  }
  await browser.close();
  console.log(`1..${number}`);
  process.exit(failed === 0 ? 0 : 1);
})();
