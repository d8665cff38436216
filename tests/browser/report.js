/* Drives pages of `trainyard report` in Chromium: what a reader sees, points at, clicks and types.
 * Usage: node report.js CHROMIUM FOLDER [--all], where FOLDER has one.html (1F1B on 4 stages), two.html (two
 * runs), op.html (every operation), stop.html (a deadlock), chunks.html (interleaved), shards.html (one
 * stage, sharded), full.html (does not fit), long.html (16 stages, 256 micro-batches), and plan/plan.html. Prints TAP.
 * Without --all: what a reader does first, and that pages load. */
'use strict';

const {chromium} = require('playwright-core');
const fs = require('fs');
const path = require('path');
const {is, open, find, chosen, tip, done} = require('./facts.js');
const views = require('./report_view.js');

const [,, executablePath, folder, all] = process.argv;
const PAGES = ['one', 'two', 'op', 'stop', 'chunks', 'shards', 'full', 'long'].map((name) => name + '.html');
const WINDOWS = [{width: 1440, height: 900}, {width: 390, height: 844}, {width: 1100, height: 800}];

async function sums(page) {
  return page.evaluate(() => window.trainyard.runs.map((run) => {
    const t = window.trainyard;
    return {
      rows: run.rows.every((row, k) => String(t.bucketsOf(run, k)) === String(row.buckets_ps)),
      path: run.halted || run.path.reduce((sum, s) => sum + s.dur, 0) === run.makespan_ps,
      peak: run.rows.every((row, k) => {
        const peak = t.memoryOf(run, k).peak, fixed = row.fixed.reduce((a, b) => a + b, 0);
        return Math.abs(fixed + peak.kept + peak.passing + row.reserve - row.peak) <= 1e-9 * row.peak;
      }),
    };
  }));
}

async function loads(browser) {
  for (const name of PAGES) {
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
  const table = await page.locator('#tables table').first().innerText();
  is(/B \u2212 A/.test(table) && /step time/.test(table) && /%/.test(table), 'figures stand beside each other with the difference', table);
  const tiles = await page.textContent('#tiles');
  is(/MFU[^]*points/.test(tiles) && /[+\u2212]\d+\.\d points/.test(tiles), 'shares differ by points', tiles);
  is(!/different work/.test(await page.textContent('#subtitle')), 'the same work is not called another');
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
  await page.close();
}

/* What has no name for those who do not see it. */
function unnamed(page) {
  return page.evaluate(() => {
    const of = (id) => (document.getElementById(id) || {textContent: ''}).textContent.trim();
    const name = (e) => e.getAttribute('aria-label') || of(e.getAttribute('aria-labelledby')) || e.innerText || e.textContent.trim() ||
      (e.closest('label') || {textContent: ''}).textContent.trim();
    return [...document.querySelectorAll('button, select, canvas, svg, summary, section, aside, [role], [tabindex]')]
      .filter((e) => e.checkVisibility() && !e.closest('[aria-hidden=true]') && e.getAttribute('role') !== 'presentation' && !name(e))
      .map((e) => e.outerHTML.slice(0, 90));
  });
}

/* Words on the page whose colour is too near to what is behind them: WCAG 2.1 wants 4.5 to 1. */
function faint(page) {
  return page.evaluate(() => {
    const {contrast, mixed} = window.trainyard, found = new Set();
    const parse = (css) => {
      const x = css.match(/[\d.]+/g).map(Number), of = css.startsWith('color(srgb') ? 255 : 1;
      return {colour: '#' + x.slice(0, 3).map((v) => Math.round(v * of).toString(16).padStart(2, '0')).join(''), alpha: x.length > 3 ? x[3] : 1};
    };
    const behind = (e) => {
      const own = e ? parse(getComputedStyle(e).backgroundColor) : {colour: '#ffffff', alpha: 1};
      return own.alpha === 1 ? own.colour : mixed(behind(e.parentElement), own.colour, own.alpha);
    };
    for (const e of document.body.querySelectorAll('*')) {
      const words = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      if (words && e.checkVisibility() && !['SCRIPT', 'STYLE', 'OPTION', 'title'].includes(e.tagName)) {
        const style = getComputedStyle(e), ink = parse(e.namespaceURI.endsWith('svg') ? style.fill : style.color).colour;
        const x = contrast(ink, behind(e));
        if (x < 4.5) { found.add(`${e.tagName} ${e.className.baseVal === undefined ? e.className : ''} ${x.toFixed(2)}: ${e.textContent.slice(0, 30)}`); }
      }
    }
    return [...found];
  });
}

/* The same for words in boxes of the timeline: on their colour, on a plate over a pattern, on what is
 * dimmed beside a path. */
function faintBoxes(page) {
  return page.evaluate(() => {
    const {colours, contrast, mixed, inkOn, timeline, LOOKS, PALETTES} = window.trainyard, found = [], was = colours.palette;
    const check = (what, ground, ink) => { if (contrast(ground, ink) < 4.5) { found.push(`${what}: ${ink} on ${ground}`); } };
    for (const [palette] of PALETTES) {
      colours.palette = palette;
      for (const key of Object.keys(LOOKS)) {
        const card = palette === 'print' ? '#ffffff' : timeline.css('card'), ink = palette === 'print' ? '#000000' : timeline.css('ink');
        for (const way of colours.isIdle(key) ? [] : [0, 0.5, 1]) {
          const fill = colours.ofChunk(key, way);
          check(`${palette} ${key} ${way}`, fill, inkOn(fill));
          check(`${palette} ${key} ${way} dimmed`, mixed(timeline.css('card'), fill, 0.25), timeline.css('ink'));
        }
        const lines = palette === 'print' ? '#222222' : colours.of(key);
        check(`${palette} ${key} plate`, mixed(lines, card, 0.88), ink);
      }
    }
    colours.palette = was;
    return found;
  });
}

async function isLegible(browser) {
  for (const colorScheme of ['light', 'dark']) {
    for (const name of ['two.html', 'stop.html', 'full.html', 'shards.html']) {
      const {page} = await open(browser, name, {colorScheme});
      const boxes = await faintBoxes(page);
      is(boxes.length === 0, `${name}, ${colorScheme}: words in boxes stand out in every palette`, boxes.slice(0, 5));
      if (name !== 'stop.html') { await page.click('#b-path'); }
      const words = await faint(page);
      is(words.length === 0, `${name}, ${colorScheme}: words stand out from what is behind them`, words.slice(0, 5));
      await page.close();
    }
  }
}

async function fits(browser) {
  for (const name of PAGES) {
    for (const viewport of WINDOWS) {
      const {page, wrong} = await open(browser, name, {viewport});
      const over = await page.evaluate(() => document.scrollingElement.scrollWidth - window.innerWidth);
      is(over <= 0 && wrong.length === 0, `${name}: nothing sticks out of ${viewport.width} pixels`, [over, wrong]);
      const cut = () => page.evaluate(() => [...document.querySelectorAll('.card')].filter((c) => c.scrollWidth > c.clientWidth + 1 &&
        getComputedStyle(c).overflowX === 'visible').map((c) => [c.id, c.scrollWidth, c.clientWidth]));
      is((await cut()).length === 0, `${name}: nothing sticks out of a card, ${viewport.width}`, await cut());
      const nameless = await unnamed(page);
      is(nameless.length === 0, `${name}, ${viewport.width}: what can be used or seen has a name`, nameless);
      await page.close();
    }
  }
  const {page} = await open(browser, 'one.html');
  const size = () => page.evaluate(() => {
    const chart = document.querySelector('#memory svg');
    return chart.viewBox.baseVal.width / chart.getBoundingClientRect().width;
  });
  await page.setViewportSize(WINDOWS[1]);
  await page.waitForFunction(() => window.trainyard.timeline.width < 390);
  is(Math.abs(await size() - 1) < 0.05, 'charts keep their letters when the window shrinks', await size());
  await page.close();
}

async function plays(browser) {
  const {page} = await open(browser, 'one.html');
  const now = () => page.evaluate(() => window.trainyard.shown.now);
  await page.focus('#canvas');
  await page.keyboard.press('.');
  is(await now() === 0, 'the first step is the start of the run', await now());
  await page.keyboard.press('.');
  const first = await page.evaluate(() => {
    const run = window.trainyard.runs[0];
    return Math.min(...run.lanes.filter((l) => l.lane === 0).map((l) => run.start[l.first + 1]));
  });
  is(await now() === first, 'the next is where a row begins something else', [await now(), first]);
  const words = await page.textContent('#now');
  is(/^At .*stage 0: exposed message, stage 1: fill, /.test(words), 'it says what every row does then', words);
  is(await page.textContent('#live') === words, 'and says it aloud');
  await page.keyboard.press(',');
  is(await now() === 0, 'and a step back', await now());
  await page.keyboard.press('Space');
  is(await page.textContent('#b-play') === 'Pause', 'it plays');
  await page.waitForFunction((t) => window.trainyard.shown.now > t, first);
  await page.click('#b-play');
  const still = await now();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  is(await now() === still && await page.textContent('#b-play') === 'Play', 'and pauses');
  await page.focus('#canvas');
  await page.keyboard.press('Escape');
  is(await now() === null, 'Escape ends it');
  await page.close();
}

/* What is wrong with a picture, and its words. */
function readSvg(page, text) {
  return page.evaluate((text) => {
    const doc = new DOMParser().parseFromString(text, 'image/svg+xml'), top = doc.documentElement;
    return {
      broken: Boolean(doc.querySelector('parsererror')), scripts: doc.querySelectorAll('script, image, foreignObject').length,
      size: [top.getAttribute('width'), top.getAttribute('height')], words: [...doc.querySelectorAll('text')].map((t) => t.textContent),
      boxes: doc.querySelectorAll('rect').length, bad: [...doc.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /NaN|undefined/.test(a.value))).length,
      hatches: [...doc.querySelectorAll('[fill^=url]')].filter((e) => !doc.getElementById(e.getAttribute('fill').slice(5, -1))).length,
    };
  }, text);
}

async function draws(browser) {
  const {page, wrong, asked} = await open(browser, 'one.html', {colorScheme: 'dark', acceptDownloads: true});
  await page.evaluate(() => window.trainyard.timeline.show(0, window.trainyard.timeline.end / 3));
  await page.click('#b-arrows');
  const before = await page.evaluate(() => document.getElementById('canvas').toDataURL());
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#b-save')]);
  const text = fs.readFileSync(await download.path(), 'utf8');
  const read = await readSvg(page, text);
  is(download.suggestedFilename() === 'llama-30b-256xa100.svg', 'the timeline is saved as SVG', download.suggestedFilename());
  is(!read.broken && read.scripts === 0 && read.bad === 0 && read.hatches === 0, 'it is whole, without scripts', read);
  is(read.size[0] === '180mm' && /^[\d.]+mm$/.test(read.size[1]), 'its width is in millimetres', read.size);
  is(['stage 0', 'stall', 'Forward', 'Activations', 'forward 3'].every((w) => read.words.includes(w)) && read.boxes > 50, 'text is text, with a legend', read.words);
  is(text.includes('fill="#ffffff"') && !text.includes('#1b2129'), 'it is on white, also from a dark screen');
  is(before === await page.evaluate(() => document.getElementById('canvas').toDataURL()), 'the screen stays as it is');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.click('#b-copy');
  await page.waitForFunction(() => /Copied|Saved/.test(document.getElementById('now').textContent));
  const copied = await page.evaluate(() => navigator.clipboard.readText().catch(() => null));
  is(copied === null || copied === text, 'the copy is the same');
  is(wrong.length === 0 && asked.every((url) => /^(file|blob):/.test(url)), 'nothing is asked of the network', [wrong, asked]);
  await page.close();
}

async function answers(browser) {
  const {page} = await open(browser, 'one.html');
  const ask = async (question) => {
    const one = page.locator('.help details', {hasText: question});
    await one.locator('summary').click();
    return one.innerText();
  };
  is(/gradient of the inputs[^]*gradient of the weights/.test(await ask('Why does a backward take')), 'why a backward is longer');
  is(/stage 0 holds 4, stage 1 holds 3/.test(await ask('different amounts of memory')), 'why stages differ in memory');
  is(/twice the micro-batches the formula says/.test(await ask('bubble become smaller')), 'what makes bubbles smaller');
  const legend = await page.locator('.chip').allInnerTexts(), told = await ask('What do the colours mean');
  is(legend.every((words) => told.includes(words)), 'what every colour means', [legend, told]);
  const titles = await page.locator('.chip').evaluateAll((all) => all.filter((c) => c.title.length < 10).map((c) => c.innerText));
  is(titles.length === 0, 'the legend says it, too', titles);
  const others = await page.locator('#others').innerText();
  is(/zb-v, 2 chunks\s+[\d.]+ s\s+\u2212[\d.]+ %\s+[\d.]+ %\s+\u2013\s+[\d.]+ GiB/.test(others) && /1f1b: this run/.test(others), 'what other schedules would do', others);
  is(/interleaved, 2 chunks\s+[\d.]+ s\s+\u2212[\d.]+ %\s+[\d.]+ %\s+[\d.]+ %/.test(others), 'simulated beside the formula', others);
  const bubble = await page.locator('.formula').first().innerText();
  is(/\(p \u2212 1\) \/ \(m \+ p \u2212 1\) = 3 \/ 11 = 27\.3 %/.test(bubble), 'the short form of the formula with its inputs', bubble);
  await page.close();
  const uneven = await open(browser, 'uneven.html');
  const advice = await uneven.page.locator('#others').innerText();
  is(/comes from uneven stages: stage 3 takes/.test(advice) && /stage_layers=\[15, 15, 16, 14\] the step takes/.test(advice), 'uneven stages are to be balanced', advice);
  is(/gpipe\s+[^\n]*too much/.test(advice), 'what does not fit says so', advice);
  const question = uneven.page.locator('.help details', {hasText: 'bubble become smaller'});
  await question.locator('summary').click();
  is(/moving layers may/.test(await question.innerText()) && !/twice the micro-batches/.test(await question.innerText()), 'and not by more micro-batches');
  await uneven.page.close();
  const chunks = await open(browser, 'chunks.html');
  is(/\(v m \+ p \u2212 1\) = 3 \/ 27 = 11\.1 %/.test(await chunks.page.locator('.formula').first().innerText()), 'and with chunks');
  const fills = await chunks.page.evaluate(() => [0, 0.5, 1].map((way) => window.trainyard.colours.ofChunk('compute.forward', way)));
  is(new Set(fills).size === 3, 'later chunks are lighter', fills);
  await chunks.page.close();
  const shards = await open(browser, 'shards.html');
  is(/nobody waits for a pipeline/.test(await shards.page.locator('#bubbles').innerText()), 'one stage has no bubble, but waits');
  await shards.page.close();
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
  const dark = await open(browser, 'one.html', {colorScheme: 'dark'});
  await dark.page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  const box = await dark.page.locator('#canvas').boundingBox();
  is(await colour(dark.page, {x: box.x + 2, y: box.y + 2}) === '255,255,255', 'paper is white, whatever the screen is');
  await dark.page.close();
}

async function isDamaged(browser) {
  const whole = fs.readFileSync(path.join(folder, 'one.html'), 'utf8'), at = whole.indexOf('"kind":"') + 8;
  const cuts = {cut: whole.slice(0, at + 40) + whole.slice(whole.indexOf('"', at)), short: whole.replace(/"kind":"[^"]*"/, '"kind":"AwA="'),
    torn: whole.replace('"columns":{', '"columns":')};
  for (const [name, text] of Object.entries(cuts)) {
    fs.writeFileSync(path.join(folder, name + '.html'), text);
    const {page} = await open(browser, name + '.html');
    is(/This page is damaged: ./.test(await page.locator('#trouble').innerText()), `a damaged page says so (${name})`);
    await page.close();
  }
}

async function stops(browser) {
  const {page} = await open(browser, 'stop.html');
  is(/wait for each other/.test(await page.locator('#trouble').innerText()), 'a deadlock is told');
  const last = await page.evaluate(() => {
    const t = window.trainyard, run = t.runs[0], lane = run.lanes[0];
    return t.why(run, lane.first + lane.n - 1);
  });
  is(/stands at backward 0: grad of micro-batch 0/.test(last), 'and what a rank stands at', last);
  is(/Deadlock/.test(await page.locator('#legend').innerText()) && !await page.isVisible('#bubbles'), 'what never ends is no bubble');
  is(await page.evaluate(() => window.trainyard.runs[0].n_slices > 0 && window.trainyard.runs[0].halted), 'with what ran before it');
  await page.close();
}

/* What is seen before anybody scrolls, and that a tip leaves the chain alone. */
async function opensAtOnce(browser) {
  const two = await open(browser, 'two.html');
  const seen = await two.page.evaluate(() => {
    const {timeline} = window.trainyard, top = document.getElementById('canvas').getBoundingClientRect().top;
    return timeline.items.filter((k) => k.type === 'lane' && top + k.y + k.h <= innerHeight).map((k) => `${k.run}.${k.row}`);
  });
  is(['0.0', '0.3', '1.0', '1.3'].every((row) => seen.includes(row)), 'of two runs both are in the first window, whole', seen);
  await two.page.close();
  for (const name of ['one.html', 'two.html']) {
    const {page} = await open(browser, name, {viewport: {width: 390, height: 844}});
    const box = await page.locator('#canvas').boundingBox();
    is(box.y < 280 && box.height > 200, `${name}: on a phone the timeline is near the top`, box);
    is(await page.evaluate(() => [...document.querySelectorAll('th')].every((th) => th.textContent.trim() !== '')), 'no head of a table is empty');
    is(await page.evaluate(() => [...document.querySelectorAll('*')].filter((node) => /auto|scroll/.test(getComputedStyle(node).overflow) && node.scrollWidth > node.clientWidth + 1)
      .every((node) => node.tabIndex >= 0 || node.querySelector('button, a, summary, [tabindex]'))), 'a keyboard reaches all that scrolls');
    is(await page.evaluate(() => [...document.querySelectorAll('img, [role=img]')].every((node) => node.alt || node.getAttribute('aria-label'))), 'pictures say what they show');
    await page.close();
  }
  const {page} = await open(browser, 'one.html');
  const at = await find(page, 0, 2, 'backward', 1), other = await find(page, 0, 1, 'backward', 1);
  await page.mouse.click(at.x, at.y);
  await page.mouse.move(at.x + 1, at.y);
  is(await tip(page) === '', 'what the panel tells of the chosen slice no tip hides');
  await page.mouse.move(other.x, other.y);
  const hidden = await page.evaluate(() => {
    const tip = document.getElementById('tip').getBoundingClientRect();
    const over = (b) => b.left < tip.right && b.right > tip.left && b.top < tip.bottom && b.bottom > tip.top;
    const boxes = window.trainyard.timeline.trailBoxes(), wide = tip.width, high = tip.height;
    return {boxes: boxes.length, over: boxes.filter(over).length, wide, high};
  });
  is(await tip(page) !== '' && hidden.boxes > 5 && hidden.over <= hidden.boxes / 4, 'and that of another leaves the chain in sight', hidden);
  await page.close();
}

/* The page of trainyard plan. */
async function plans(browser) {
  for (const viewport of [{width: 1440, height: 900}, {width: 390, height: 844}]) {
    const {page, wrong, asked} = await open(browser, 'plan/plan.html', {viewport, colorScheme: viewport.width === 390 ? 'dark' : 'light'});
    is(wrong.length === 0 && asked.length === 1, `a plan, ${viewport.width} wide: no word on the console, nothing is asked for`, [wrong, asked]);
    is(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing sticks out');
    is(await page.evaluate(() => [...document.querySelectorAll('table')].every((table) => {
      const place = table.closest('[role=region][tabindex="0"]');
      return table.clientWidth <= place.clientWidth || /auto/.test(getComputedStyle(place).overflowX);
    })), 'tables are whole, or scroll where a keyboard reaches them');
    is(await page.evaluate(() => [...document.querySelectorAll('th')].every((th) => th.textContent.trim() !== '')), 'no head of a table is empty');
    const marks = page.locator('.mark'), panel = page.locator('#panel'), count = await marks.count();
    is(count > 3 && await page.locator('.mark[aria-pressed=true]').count() === 1, 'points are buttons, and one is chosen', count);
    const row = await marks.nth(count - 1).getAttribute('data-row');
    await marks.nth(count - 1).hover();
    is((await tip(page)).includes(`row ${row}`), 'a point under the pointer says what it is', await tip(page));
    await marks.nth(count - 1).click();
    is((await panel.innerText()).includes(`Row ${row}`) && await page.locator(`tr.this[data-row="${row}"]`).count() > 0, 'a click chooses it, in the tables too');
    await page.keyboard.press('ArrowLeft');
    const before = await marks.nth(count - 2).getAttribute('data-row');
    is((await panel.innerText()).includes(`Row ${before}`), 'an arrow key goes to the one before');
    await page.locator('#tables button').first().click();
    is((await panel.innerText()).includes(`Row ${await page.locator('#tables button').first().innerText()}`), 'and a line of a table chooses its point');
    await page.close();
  }
}

/* Of the classroom, which needs its module to draw, the style: a drawing and more sliders than a phone shows. */
async function sticks(browser) {
  const room = path.resolve(__dirname, '../../sim/classroom'), read = (name) => fs.readFileSync(path.join(room, name), 'utf8');
  const page = await browser.newPage({viewport: {width: 390, height: 844}});
  await page.setContent(read('page.html').replace('%STYLE%', () => read('page.css')).replace(/<script[^]*?<\/script>/g, ''));
  await page.evaluate(() => {
    document.getElementById('schedule').hidden = false;
    document.getElementById('s-canvas').style.height = '240px';
    document.getElementById('s-form').innerHTML = Array.from({length: 24}, (_, k) => `<div class="field"><label for="f${k}">key ${k}</label><input type="range" id="f${k}"></div>`).join('');
  });
  const box = (id) => page.locator(id).boundingBox(), last = page.locator('#f23');
  await last.scrollIntoViewIfNeeded();
  await last.click();
  const [canvas, slider] = [await box('#s-canvas'), await box('#f23')];
  is(canvas.y >= 0 && canvas.y + canvas.height <= slider.y, 'on a phone the drawing of the classroom stays above the slider that moves', [canvas, slider]);
  await page.locator('#s-save summary').click();
  is(await page.locator('.drawing').first().evaluate((node) => getComputedStyle(node).overflowY === 'visible'), 'and cuts off no menu that is open');
  await page.close();
}

(async () => {
  const browser = await chromium.launch({executablePath, args: ['--no-sandbox']});
  const first = [loads, opensAtOnce, plans, sticks, hovers, types, compares, stops];
  const rest = [walks, plays, toggles, reads, isLegible, fits, draws, answers, prints, isDamaged, ...views];
  for (const part of all ? [...first, ...rest] : first) {
    try {
      await part(browser);
    } catch (error) {
      is(false, `${part.name}: ${error.message.split('\n').slice(0, 3).join(' ')}`);
    }
  }
  await browser.close();
  process.exit(done());
})();
