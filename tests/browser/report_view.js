/* What a reader sees first, moves, marks, links to and prints: parts of report.js. */
'use strict';

const {is, open, find, chosen, tip} = require('./facts.js');

const seen = (page) => page.evaluate(() => ({...window.trainyard.view}));
const end = (page) => page.evaluate(() => window.trainyard.timeline.end);
const scrolled = (page) => page.evaluate(() => window.scrollY);
const words = (page) => page.evaluate(() => {
  const t = window.trainyard, doc = new DOMParser().parseFromString(t.pictureOf(t.timeline, ''), 'image/svg+xml');
  return [...doc.querySelectorAll('text')].map((e) => e.textContent);
});

async function opens(browser) {
  for (const viewport of [{width: 1440, height: 900}, {width: 390, height: 844}]) {
    const {page} = await open(browser, 'long.html', {viewport});
    const from = await seen(page), all = await end(page);
    is(from.from === 0 && from.to < all / 4, `256 micro-batches: the page opens with the start of the run, ${viewport.width}`, [from, all]);
    const numbers = await page.evaluate(() => {
      const {runs: [run], view, timeline} = window.trainyard;
      let boxes = 0;
      for (let i = 0; i < run.n_slices; i++) {
        const wide = timeline.x(run.start[i] + run.dur[i]) - timeline.x(run.start[i]);
        boxes += run.lane[i] === 0 && run.mb[i] >= 0 && run.kinds[run.kind[i]].sort === 'pass' && run.start[i] + run.dur[i] <= view.to && wide > 0;
      }
      return boxes;
    });
    const told = (await words(page)).filter((w) => /^((forward|backward) )?\d+$/.test(w)).length;
    is(numbers > 20 && told >= numbers, `and every box in it has its number, ${viewport.width}`, [told, numbers]);
    is(/^0 s \u2013 .* of .* s$/.test(await page.textContent('#window')), 'it says which part is seen', await page.textContent('#window'));
    is(!await page.evaluate(() => document.getElementById('overview').classList.contains('whole')), 'and so does the strip above');
    await page.click('#b-fit');
    is((await seen(page)).to === all, 'Fit shows all of it');
    await page.close();
  }
  const {page} = await open(browser, 'one.html');
  is((await seen(page)).to === await end(page), 'a run whose numbers fit is seen whole');
  await page.close();
  const {page: long} = await open(browser, 'long.html');
  const digits = async (px) => {
    await long.evaluate((px) => {
      const {runs: [run], timeline} = window.trainyard, i = [...run.mb.keys()].find((k) => run.mb[k] === 3 && run.kinds[run.kind[k]].name === 'forward');
      timeline.show(run.start[i], run.start[i] + run.dur[i] * (timeline.right - timeline.left) / px);
    }, px);
    return (await words(long)).includes('3');
  };
  is(await digits(9) && await digits(12) && !await digits(2), 'a number stands in a box as soon as it fits');
  await long.close();
}

async function obeys(browser) {
  const {page} = await open(browser, 'one.html', {viewport: {width: 1000, height: 500}});
  const press = (key) => page.keyboard.press(key);
  await press('c');
  is(await page.getAttribute('#b-path', 'aria-pressed') === 'true', 'C works before the first click');
  await press('Escape');
  await press('Space');
  is(await page.textContent('#b-play') === 'Pause' && await scrolled(page) === 0, 'Space plays and does not scroll', await scrolled(page));
  await press('Space');
  is(await page.textContent('#b-play') === 'Play', 'and pauses');
  await page.click('#b-memory');
  await press('Space');
  is(await page.textContent('#b-play') === 'Pause' && await page.getAttribute('#b-memory', 'aria-pressed') === 'false', 'also after a click on a button');
  await press('Escape');
  await page.focus('.help summary');
  await press('Space');
  is(await page.locator('.help details[open]').count() === 1 && await page.textContent('#b-play') === 'Play', 'what is to be pressed with Space has it first');
  await page.focus('#palette');
  await press('c');
  is(await page.getAttribute('#b-path', 'aria-pressed') === 'false', 'and a field its letters');
  await page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
  await press('ArrowDown');
  await page.waitForFunction(() => window.scrollY > 0);
  is(await chosen(page) === null, 'the down arrow is the page\u2019s until the timeline has the focus');
  await page.uncheck('#everywhere');
  await page.evaluate(() => document.activeElement.blur());
  await press('c');
  is(await page.getAttribute('#b-path', 'aria-pressed') === 'false', 'keys of the page can be switched off');
  await page.focus('#canvas');
  await press('c');
  is(await page.getAttribute('#b-path', 'aria-pressed') === 'true', 'those of the timeline stay');
  await page.close();
}

async function zooms(browser) {
  const {page} = await open(browser, 'one.html');
  const under = (x) => page.evaluate((x) => window.trainyard.timeline.time(x - document.getElementById('canvas').getBoundingClientRect().left), x);
  const pass = await find(page, 0, 0, 'backward', 5);
  await page.mouse.move(pass.x, pass.y);
  const before = await under(pass.x), all = await seen(page);
  is(await tip(page) !== '', 'a slice under the pointer has a tip');
  await page.keyboard.press('w');
  const after = await seen(page);
  is(after.to - after.from < all.to - all.from && Math.abs(await under(pass.x) - before) < 1e-3 * before, 'W zooms to what is under the pointer', [before, await under(pass.x)]);
  is(await tip(page) === '', 'and the tip goes, as the view moves');
  for (const [what, move] of [['the wheel', () => page.mouse.wheel(120, 0)], ['the page', () => page.evaluate(() => window.scrollBy(0, 40))],
    ['the overview', async () => page.evaluate(() => document.getElementById('overview').dispatchEvent(new PointerEvent('pointermove', {buttons: 1})))],
    ['a key', () => page.keyboard.press('d')], ['other rows', () => page.keyboard.press('l')]]) {
    await page.mouse.move(pass.x + 2, pass.y);
    await page.mouse.move(pass.x, pass.y);
    await page.evaluate(() => { document.getElementById('tip').hidden = false; });
    await move();
    await page.waitForFunction(() => document.getElementById('tip').hidden, null, {timeout: 3000}).catch(() => {});
    is(await tip(page) === '', `a tip goes with ${what}`);
  }
  await page.mouse.move(5, 5);
  await page.keyboard.press('0');
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.focus('#canvas');
  for (let k = 0; k < 6; k++) { await page.keyboard.press('ArrowRight'); }
  for (let k = 0; k < 7; k++) { await page.keyboard.press('w'); }
  const [i, range] = [(await chosen(page)).i, await seen(page)];
  const slice = await page.evaluate((i) => [window.trainyard.runs[0].start[i], window.trainyard.runs[0].dur[i]], i);
  is(range.from < slice[0] + slice[1] / 2 && range.to > slice[0] + slice[1] / 2 && range.to - range.from < 0.1 * all.to, 'W zooms to the selection', [range, slice]);
  await page.close();
}

/* Sums of a range, as the panel shows them, and as they are. */
const marked = (page) => page.evaluate(() => window.trainyard.shown.range);
const sums = (page, from, to, run = 0) => page.evaluate(([from, to, r]) => window.trainyard.sumsIn(window.trainyard.runs[r], from, to), [from, to, run]);
const total = (list) => list.reduce((a, b) => a + b, 0);

async function marks(browser) {
  const {page} = await open(browser, 'one.html');
  const {buckets, rows, makespan} = await page.evaluate(() => {
    const run = window.trainyard.runs[0];
    return {buckets: run.buckets, rows: run.rows.map((r) => r.buckets_ps), makespan: run.makespan_ps};
  });
  const whole = await sums(page, 0, makespan);
  is(buckets.every((_, b) => whole[b] === total(rows.map((row) => row[b]))), 'sums of the whole run are those of its rows', whole);
  const cuts = [0, 1, 12345678901, Math.round(makespan / 3), makespan - 1, makespan];
  let exact = true;
  for (let k = 0; k + 1 < cuts.length; k++) {
    exact = exact && total(await sums(page, cuts[k], cuts[k + 1])) === rows.length * (cuts[k + 1] - cuts[k]);
  }
  is(exact, 'sums of any range are the time there is, to the picosecond');
  const inside = await page.evaluate(() => { /* the idle time of a stretch, slice by slice */
    const {runs: [run], sumsIn} = window.trainyard, from = Math.round(run.makespan_ps / 4), to = Math.round(run.makespan_ps / 2);
    let stall = 0;
    for (let i = 0; i < run.n_slices; i++) {
      const kind = run.kinds[run.kind[i]];
      stall += kind.name === 'bubble_stall' ? Math.max(Math.min(run.start[i] + run.dur[i], to) - Math.max(run.start[i], from), 0) : 0;
    }
    return [stall, sumsIn(run, from, to)[run.buckets.indexOf('bubble_stall')]];
  });
  is(inside[0] > 0 && inside[0] === inside[1], 'idle time in a range is what lies in it', inside);

  const box = await page.locator('#canvas').boundingBox(), was = await seen(page);
  await page.mouse.move(box.x + 300, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 90, {steps: 4});
  await page.mouse.up();
  const range = await marked(page);
  is(range && range.to > range.from && (await seen(page)).to === was.to, 'dragging the axis marks a range and moves nothing', range);
  const panel = await page.locator('#sums').innerText();
  is(/computation[^]*forward[^]*backward[^]*exposed communication[^]*messages[^]*idle[^]*stall[^]*all\s+\S+ \S+\s+100\.0 %/.test(panel), 'and tells computation, exposed communication and idle time', panel);
  is(/^Range from .* computation .* exposed communication .* idle /.test(await page.textContent('#live')), 'aloud, too', await page.textContent('#live'));
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 350, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + 420, box.y + 40, {steps: 3});
  await page.mouse.up();
  await page.keyboard.up('Shift');
  const second = await marked(page);
  is(second.from > range.from && second.to < range.to, 'so does dragging with Shift, anywhere', [range, second]);
  await page.keyboard.press('f');
  is((await seen(page)).from === second.from && (await seen(page)).to === second.to, 'F zooms to it');
  await page.keyboard.press('Escape');
  is(await marked(page) === null && /Nothing selected/.test(await page.textContent('#panel')), 'Escape clears it');

  await page.keyboard.press('0');
  await page.focus('#canvas');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  const first = (await chosen(page)).i;
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  const typed = await marked(page);
  const slices = await page.evaluate((i) => [window.trainyard.runs[0].start[i], window.trainyard.runs[0].start[i + 2] + window.trainyard.runs[0].dur[i + 2]], first);
  is(typed.from === slices[0] && typed.to === slices[1], 'Shift and an arrow let the range grow, slice by slice', [typed, slices]);
  await page.keyboard.press('r');
  const one = await marked(page);
  is(one.to === typed.to && one.from > typed.from, 'R marks the selected slice', one);
  await page.keyboard.press('Escape');
  await page.keyboard.press('r');
  is((await marked(page)).to === makespan, 'or all that is in sight');
  await page.close();
  const two = await open(browser, 'two.html');
  await two.page.keyboard.press('r');
  const head = await two.page.locator('#sums thead').innerText();
  is(/A\s+B/.test(head), 'of two runs each has its sums', head);
  await two.page.close();
}

const settled = (page, hash) => page.waitForFunction((hash) => location.hash === hash, hash, {timeout: 5000}).then(() => true, () => false);

async function links(browser) {
  const {page} = await open(browser, 'one.html');
  const entries = await page.evaluate(() => history.length);
  const state = (p) => p.evaluate(() => {
    const {view, shown, colours} = window.trainyard;
    return JSON.stringify([view, shown.chosen, shown.range, [...shown.off], shown.comm, shown.memory, shown.arrows, colours.palette, shown.trail && [shown.trail.path, shown.trail.at]]);
  });
  const opened = await state(page);
  await page.waitForTimeout(400);
  is(await page.evaluate(() => location.hash) === '', 'a page that is as it opened has a plain address');
  await page.evaluate(() => window.trainyard.timeline.show(1e11, 15e11));
  const pass = await find(page, 0, 1, 'backward', 0);
  await page.mouse.click(pass.x, pass.y);
  await page.click('[data-look="bubble_stall"]');
  await page.click('#b-comm');
  await page.click('#b-arrows');
  await page.selectOption('#palette', 'safe');
  for (let k = 0; k < 40; k++) { await page.keyboard.press('d'); await page.keyboard.press('a'); }
  const view = await seen(page);
  const hash = `#t=${view.from}-${view.to}&s=0.${pass.i}&rows=memory,arrows&off=bubble_stall&colours=safe`;
  is(await settled(page, hash), 'what is seen is in the address', [hash, await page.evaluate(() => location.hash)]);
  is(await page.evaluate(() => history.length) === entries, 'the history does not grow', entries);
  const left = await state(page);
  const again = await open(browser, 'one.html' + hash);
  is(await state(again.page) === left && again.wrong.length === 0, 'and the address shows it again', [left, await state(again.page), again.wrong]);
  is(await again.page.getAttribute('#b-comm', 'aria-pressed') === 'false' && await again.page.inputValue('#palette') === 'safe' &&
    await again.page.getAttribute('[data-look="bubble_stall"]', 'aria-pressed') === 'false', 'its buttons say so');
  await again.page.evaluate(() => { location.hash = '#r=100000000000-200000000000&path=0.3'; });
  await again.page.waitForFunction(() => window.trainyard.shown.range !== null);
  const third = JSON.parse(await state(again.page));
  is(third[2].from === 1e11 && third[2].to === 2e11 && String(third[8]) === 'true,3' && third[7] === 'trace', 'another address in the same page, too', third);
  await again.page.evaluate(() => { location.hash = ''; });
  await again.page.waitForFunction(() => window.trainyard.shown.range === null);
  is(await state(again.page) === opened, 'and none is the page as it opened', [opened, await state(again.page)]);
  await again.page.evaluate(() => { location.hash = '#tables'; });
  await again.page.waitForTimeout(50);
  is(await state(again.page) === opened, 'a place of the page is no view');
  await again.page.close();
  const odd = await open(browser, 'one.html#t=9-1&s=7.99&s=0.x&r=-5-7&off=nothing,%&path=4.4&colours=red&rows=&&=&t');
  const rest = JSON.parse(await state(odd.page));
  is(odd.wrong.length === 0 && rest[1] === null && rest[2] === null && rest[3].length === 0 && rest[7] === 'trace', 'what an address says and a page has not is left out', [odd.wrong, rest]);
  await odd.page.close();
  await page.close();
}

/* Figures of memory: one, wherever it stands, and its parts add up to it as they are written. */
async function adds(browser) {
  for (const name of ['one.html', 'two.html', 'full.html', 'shards.html', 'stop.html']) {
    const {page} = await open(browser, name);
    const tables = await page.evaluate(() => [...document.querySelectorAll('table')].filter((t) => /^Memory/.test(t.caption.textContent)).map((t) =>
      [...t.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))));
    const hundredths = (cell) => (/^\u2013$/.test(cell) ? 0 : Math.round(100 * parseFloat(cell.replace('\u2212', '-'))));
    for (const rows of tables) {
      const at = (head) => rows.findIndex((row) => row[0] === head), peak = at('peak: their sum');
      const wrong = rows[0].slice(1).map((_, k) => k + 1).filter((k) => {
        const parts = total(rows.slice(0, peak).map((row) => hundredths(row[k])));
        return parts !== hundredths(rows[peak][k]) || parts + hundredths(rows[at('left free')][k]) !== hundredths(rows[at('memory of the GPU')][k]);
      });
      is(peak > 3 && wrong.length === 0, `${name}: the lines of memory add up as they are written`, rows);
    }
    await page.close();
  }
  const {page} = await open(browser, 'one.html');
  const figures = await page.evaluate(() => window.trainyard.runs[0].rows.map((row) => [row.peak, row.capacity].map((b) => (b / 2 ** 30).toFixed(1) + ' GiB')));
  const said = await words(page), [peak, of] = figures[0], tile = await page.locator('.tile', {hasText: 'Memory'}).innerText(), card = await page.locator('#memory').innerText();
  is(said.includes(`${peak}, 4 held`) && said.includes(`of ${of}`) && tile.includes(peak) && tile.includes(`of ${of}`) && card.includes(`${peak} of ${of}`),
    'timeline, tile and card have one figure of a stage', [figures[0], tile, card]);
  const other = [...said, tile].join(' ').match(/\d+\.\d GiB/g).filter((x) => !figures.flat().includes(x));
  is(other.length === 0, 'and no other', other);
  const sum = (text) => {
    const [, parts, whole] = text.match(/\n?([^\n]*?) = ([\d.]+) [KMG]iB/);
    return [total(parts.match(/\d+\.\d\d/g).map((x) => Math.round(100 * x))), Math.round(100 * whole)];
  };
  is(sum(card)[0] === sum(card)[1], 'the sum of the card is exact', card);
  const strip = await page.evaluate(() => {
    const {items} = window.trainyard.timeline, item = items.find((k) => k.type === 'memory'), box = document.getElementById('canvas').getBoundingClientRect();
    return {x: box.left + 400, y: box.top + item.y + 20};
  });
  await page.mouse.move(strip.x, strip.y);
  const now = await tip(page);
  is(sum(now)[0] === sum(now)[1] && now.includes(`of ${of}`) && now.includes(`Peak ${peak}`), 'and so is that of the tip', now);
  const odd = await page.evaluate(() => {
    const {adding} = window.trainyard, wrong = [];
    for (let seed = 1, k = 0; k < 500; k++) {
      const parts = Array.from({length: 1 + k % 9}, () => (seed = seed * 16807 % 2147483647) * 10 ** (k % 7 - 3)), sum = adding(parts);
      const one = {B: 1, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40}[sum.unit];
      const digits = sum.unit === 'B' ? 1 : 100, whole = sum.parts.map((x) => Math.round(x * digits));
      if (whole.reduce((a, b) => a + b, 0) !== Math.round(sum.sum * digits) || parts.some((b, j) => Math.abs(b / one - sum.parts[j]) > 1.001 / digits)) { wrong.push(parts); }
    }
    return wrong;
  });
  is(odd.length === 0, 'parts of any sum add up, each within the last digit', odd[0]);
  await page.close();
}

/* The page as paper has it. */
async function onPaper(browser, name, viewport) {
  const {page, wrong} = await open(browser, name, {viewport});
  await page.setViewportSize(viewport);
  await page.emulateMedia({media: 'print'});
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  return {page, wrong};
}

async function isPrinted(browser) {
  for (const viewport of [{width: 1040, height: 720}, {width: 390, height: 844}, {width: 2560, height: 1440}]) {
    const {page, wrong} = await onPaper(browser, 'long.html', viewport);
    const paper = await page.evaluate(() => {
      const {timeline: t} = window.trainyard, top = (s) => document.querySelector(s).getBoundingClientRect().top;
      const leaves = [document.getElementById('canvas'), ...document.querySelectorAll('.leaf')];
      return {first: top('.stage') < top('#tiles') && top('.stage') < top('.grid'), sheets: t.sheets(), height: t.height, tops: t.tops,
        shapes: leaves.map((c) => c.getBoundingClientRect().height * c.width / c.height / c.getBoundingClientRect().width),
        blank: leaves.filter((c) => { /* a row of dots through its first boxes */
          const dots = c.getContext('2d').getImageData(0, Math.round(38 * t.scale), c.width, 1).data;
          return new Set(dots).size < 4;
        }).length, buttons: [...document.querySelectorAll('button')].filter((b) => b.checkVisibility() && !b.matches('.chip')).length};
    });
    is(paper.first, `${viewport.width}: paper starts with the timeline`);
    is(paper.sheets.length > 1 && paper.shapes.length === paper.sheets.length && paper.sheets.every((s, k) => s.to - s.from <= 780 &&
      (k === 0 || (s.from === paper.sheets[k - 1].to && paper.tops.includes(s.from)))) && paper.sheets[paper.sheets.length - 1].to === paper.height,
    'a timeline that is too high is cut between rows', paper);
    is(paper.shapes.every((x) => Math.abs(x - 1) < 0.01) && paper.blank === 0, 'and keeps its shape', paper);
    is(paper.buttons === 0, 'without buttons', paper.buttons);
    await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    await page.emulateMedia({media: 'screen'});
    is(await page.locator('.leaf').count() === 0 && wrong.length === 0 &&
      await page.evaluate(() => Math.abs(document.getElementById('canvas').clientHeight - window.trainyard.timeline.height) < 1), 'the screen is as it was', wrong);
    await page.close();
  }
  const {page} = await open(browser, 'one.html');
  const pdf = (await page.pdf({preferCSSPageSize: true, printBackground: true})).toString('latin1');
  const pages = pdf.match(/\/Type\s*\/Page\b/g).length;
  is(pages >= 2 && pages <= 6, 'a page of four stages prints on a few sheets', pages);
  await page.close();
}

module.exports = [opens, obeys, zooms, marks, links, adds, isPrinted];
