/* Uses the classroom's page in Chromium: moves sliders, drags boxes, types, follows links, answers exercises.
 * Usage: node classroom.js CHROMIUM FOLDER TRAINYARD, where FOLDER has what classroom.py makes. Prints TAP. */
'use strict';

const fs = require('fs');
const {chromium} = require('playwright-core');
const {saved} = require('./saved.js');
const {is, open, done} = require('./facts.js');
const {looks} = require('./looks.js');

const [,, executablePath, folder, binary] = process.argv;
const WIDTHS = [390, 1280, 2560];
const MOST_BYTES = 600000;

const settled = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

async function enter(browser, name, options) {
  const opened = await open(browser, name, options);
  await opened.page.waitForFunction(() => window.trainyard && window.trainyard.ready);
  return opened;
}

const lane = (page) => page.evaluate(() => {
  const {lane} = window.trainyard.rooms.schedule;
  return {makespan: lane.makespan, p: lane.p, m: lane.m, name: lane.schedule, first: lane.actions(0)};
});

/* The middle of a pass on the screen. */
const spot = (page, rank, slot) => page.evaluate(([rank, slot]) => {
  const {chart} = window.trainyard.rooms.schedule, row = chart.lanes[0].ranks[rank], box = chart.canvas.getBoundingClientRect();
  return {x: box.left + chart.x(row.start[slot] + row.duration[slot] / 2), y: box.top + chart.lanes[0].top + (rank + 0.5) * chart.row};
}, [rank, slot]);

async function loads(browser) {
  is(fs.statSync(`${folder}/page.html`).size < MOST_BYTES, 'a page is small enough to be sent by mail', fs.statSync(`${folder}/page.html`).size);
  for (const width of WIDTHS) {
    for (const hash of ['', '#lesson=6', '#model.preset=llama-7b&cluster.preset=dgx-h100&cluster.nodes=1&layout.global_batch=8']) {
      const {page, wrong, asked} = await enter(browser, `page.html${hash}`, {viewport: {width, height: 900}});
      await page.waitForFunction(() => document.getElementById('foot').textContent.includes('trainyard'));
      is(wrong.length === 0, `${width} wide, ${hash || 'as it opens'}: no word on the console`, wrong);
      is(asked.every((url) => /^(file|blob):/.test(url)), 'nothing is asked of a network', asked);
      is(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing sticks out');
      await page.close();
    }
  }
}

async function slides(browser) {
  const {page} = await enter(browser, 'page.html');
  is((await lane(page)).makespan === 33, '1F1B with p = 4, m = 8 takes 33', await lane(page));
  await page.focus('#s-m');
  await page.keyboard.press('ArrowRight');
  await settled(page);
  is((await lane(page)).m === 9, 'an arrow key on a slider adds a micro-batch', await lane(page));
  is(/36/.test(await page.textContent('#s-tiles')) && /36/.test(await page.textContent('#s-formula')), 'figures and formula follow');
  await page.waitForFunction(() => location.hash.includes('m=9'));
  const link = await page.evaluate(() => location.hash);
  await page.check('#s-uneven');
  await settled(page);
  await page.fill('#s-form .numbers >> nth=1 >> input >> nth=1', '2');
  await settled(page);
  is((await lane(page)).makespan > 36 && /more/.test(await page.textContent('#s-formula')), 'an uneven stage costs, and the formula does not know it');
  await page.close();
  const again = await enter(browser, `page.html${link}`);
  is((await lane(again.page)).m === 9, 'a link opens what was seen', link);
  await again.page.focus('#s-m');
  await again.page.keyboard.press('ArrowLeft');
  await again.page.selectOption('#s-name', 'chimera');
  await settled(again.page);
  is((await lane(again.page)).name === 'chimera', 'another schedule is chosen');
  await again.page.focus('#s-p');
  await again.page.keyboard.press('ArrowRight');
  await settled(again.page);
  is(/chimera: 5 pipeline ranks.*6, for example/.test(await again.page.textContent('#s-trouble')), 'what cannot be is refused as on the command line', await again.page.textContent('#s-trouble'));
  await again.page.close();
}

async function edits(browser) {
  const {page} = await enter(browser, 'page.html#schedule=1f1b&p=2&m=4');
  await page.click('#s-edit');
  const from = await spot(page, 0, 1), to = await spot(page, 0, 2);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x + 4, to.y, {steps: 4});
  await page.mouse.up();
  await settled(page);
  const moved = await lane(page);
  is(moved.first[1] === 'B0.0' && moved.first.indexOf('F1.0') > 1 && moved.makespan > 15, 'a box that is dragged changes the order, and the time', moved);
  await page.click('#s-undo');
  await settled(page);
  is((await lane(page)).makespan === 15, 'Undo brings it back', await lane(page));
  await page.focus('#s-canvas');
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Alt+ArrowRight');
  await page.keyboard.press('Alt+ArrowRight');
  await settled(page);
  const words = await page.textContent('#s-trouble');
  is(/:1:\d+: rank 0 slot \d.*a backward needs its forward/s.test(words), 'the keyboard moves a pass, and the validator says what is wrong', words);
  is(/B0\.0|F0\.0/.test(await page.textContent('#s-live')), 'what was moved is said aloud');
  is(await page.locator('.stale').count() === 3, 'figures of what could run are dimmed', await page.locator('.stale').count());
  await page.close();
}

async function models(browser) {
  const {page} = await enter(browser, 'page.html#model.preset=llama-30b&cluster.preset=dgx-a100-80g&cluster.nodes=32&layout.tensor=4&layout.pipeline=4&layout.global_batch=512&schedule.name=gpipe');
  await page.waitForSelector('#m-memory .over');
  is(/does not fit/.test(await page.textContent('#m-tiles')), 'what does not fit overflows its bar, and is said');
  await page.selectOption('[id="m-schedule.name"]', '1f1b');
  await page.waitForFunction(() => !document.querySelector('#m-memory .over'));
  is(await page.locator('#m-where tbody tr').count() > 4, 'the step has a table of its parts');
  await page.waitForFunction(() => location.hash.includes('schedule.name=1f1b'));
  await page.close();
}

async function learns(browser) {
  const {page} = await enter(browser, 'page.html#lesson=1');
  is(await page.locator('.live #schedule:not([hidden])').count() === 1, 'a lesson has its picture, live');
  const first = page.locator('#exercise-1');
  await first.locator('input').fill('44');
  await first.getByRole('button', {name: 'Check'}).click();
  is(/Not yet/.test(await first.textContent()), 'a wrong answer gets the hint');
  await first.locator('input').fill('46.67 %');
  await first.getByRole('button', {name: 'Check'}).click();
  is(/Right/.test(await first.textContent()), 'a right one is taken');
  await page.locator('#exercise-3').getByRole('button', {name: 'Try it live'}).click();
  is(await page.locator('#exercise-3 #schedule').count() === 1, 'the picture comes to an exercise');
  await page.click('text=Next: 2. Memory');
  await page.waitForFunction(() => document.querySelector('.lesson h2').textContent.includes('Memory'));
  is(await page.locator('.live #model').count() === 1, 'the next lesson has a model');
  await page.close();
  const other = await enter(browser, 'zb-v.html');
  const shown = await lane(other.page);
  is(shown.name === 'zb-v' && shown.p === 6 && shown.m === 12, 'schedule --format html opens at that schedule', shown);
  await other.page.click('#s-passes summary');
  is(await other.page.locator('#s-passes tbody tr').count() === 6 * 2 * 12 * 3, 'every pass is a row of a table', await other.page.locator('#s-passes tbody tr').count());
  await other.page.close();
}

/* A slider of the schedule's, to a value. */
async function slide(page, id, value) {
  await page.focus(id);
  for (let i = 0; i < 40 && await page.getAttribute(id, 'aria-valuetext') !== value; i++) {
    await page.keyboard.press('ArrowRight');
    await settled(page);
  }
}

/* As a student does: the picture of an exercise, its sliders, and the tile that has the answer. */
async function solves(browser) {
  const {page} = await enter(browser, 'page.html#lesson=1');
  const answer = async (exercise, what) => {
    const value = await page.locator(`#s-tiles .tile:has-text("${what}") .value`).textContent();
    await page.locator(`#exercise-${exercise} > form input`).fill(value);
    await page.locator(`#exercise-${exercise}`).getByRole('button', {name: 'Check'}).click();
    return page.locator(`#exercise-${exercise} .said`).textContent();
  };
  const live = (exercise) => page.locator(`#exercise-${exercise}`).getByRole('button', {name: 'Try it live'}).click();
  await live(2);
  is(/where the picture begins/.test(await answer(2, 'Bubble')), 'the picture as it opens is not the answer');
  await slide(page, '#s-m', '56');
  is(/^Right/.test(await answer(2, 'Bubble')), 'more micro-batches are');
  await live(3);
  await slide(page, '#s-v', '4');
  is(/still takes/.test(await answer(3, 'Makespan')), 'chunks that are not shorter are told');
  await page.fill('#s-time-F', '0.25');
  await page.fill('#s-time-B', '0.5');
  await settled(page);
  is(/^Right/.test(await answer(3, 'Makespan')), 'shorter chunks are right');
  await page.close();
}

/* What is typed as an answer, and what the page says. */
const ANSWERS = [
  [1, 1, '46,7', /^Right/], [1, 1, '0.467', /in percent/], [1, 1, '87.5', /over the ideal time/], [1, 1, 'half', /Type a number, in percent/], [1, 1, '46.7 s', /Type a number/],
  [1, 3, '26.25 units', /^Right/], [1, 3, '52.5', /0\.25 and 0\.5/],
  [5, 1, '988 ms', /^Right/], [5, 1, '988', /Not yet/],
  [6, 1, '55.4', /Not yet/], [6, 1, '69', /1F1B/], [6, 2, '7', /until I/], [6, 2, '8', /^Right/], [6, 3, '35', /^Right/],
  [8, 2, '801', /^Right: 781 s/], [8, 2, '850', /Not yet/], [8, 2, '1,234.5', /Not yet/],
];

async function answers(browser) {
  const {page} = await enter(browser, 'page.html#lesson=1');
  for (const [lesson, exercise, typed, want] of ANSWERS) {
    await page.click(`.steps li:nth-child(${lesson}) a`);
    await page.waitForFunction((lesson) => document.querySelector('.lesson h2').textContent.startsWith(`${lesson}.`), lesson);
    const asked = page.locator(`#exercise-${exercise}`);
    await asked.locator('form input').first().fill(typed);
    await asked.getByRole('button', {name: 'Check'}).click();
    const said = await asked.locator('.said').textContent();
    is(want.test(said), `lesson ${lesson}, exercise ${exercise}: ${typed}`, said);
  }
  await page.goto(page.url().replace(/#.*/, '#lesson=7'));
  await page.locator('#exercise-3').getByRole('button', {name: 'Try it live'}).click();
  await page.waitForFunction(() => /1\.34\s*times/.test(document.getElementById('m-tiles').textContent));
  is(true, 'what an exercise of experts asks for is on the page');
  await page.close();
}

/* Pages that come with an order of the user's own. */
async function brought(browser) {
  const {page, wrong} = await enter(browser, 'own.html');
  const names = () => page.evaluate(() => window.trainyard.rooms.schedule.chart.lanes.map((lane) => lane.schedule).join());
  is(await names() === 'own.slots,1f1b' && await page.locator('#s-trouble').isHidden(), 'an order of the user is compared with a schedule', [await names(), await page.textContent('#s-trouble')]);
  is((await lane(page)).first.join(' ') === 'F0.0 F1.0 B0.0 B1.0', 'as it is in the file', await lane(page));
  await page.click('#s-edit');
  await page.focus('#s-canvas');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Alt+ArrowLeft');
  is(await names() === 'own.slots, edited,1f1b', 'it can be edited', await names());
  await page.click('#s-edit');
  is(await names() === 'own.slots,1f1b' && (await lane(page)).first[0] === 'F0.0', 'and comes back as it was', await names());
  is(wrong.length === 0, 'without a word on the console', wrong);
  await page.close();
}

/* Orders longer than an address may be. */
async function lengths(browser) {
  const {page} = await enter(browser, 'long.html');
  const opened = await lane(page);
  is(opened.p === 16 && opened.m === 800 && opened.name === 'long.slots', 'a page opens with an order of any length', opened);
  await page.waitForSelector('#long:not([hidden])');
  is(/too long for a link/.test(await page.textContent('#long')) && await page.evaluate(() => location.hash) === '', 'what no address has is said', await page.textContent('#long'));
  await page.click('#b-link');
  is(await page.textContent('#b-link') === 'Copy link', 'and no link is copied');
  await page.reload();
  await page.waitForFunction(() => window.trainyard && window.trainyard.ready);
  is((await lane(page)).m === 800, 'it opens again as it came');
  await page.selectOption('#s-name', '1f1b');
  await page.waitForFunction(() => location.hash.includes('schedule=1f1b'));
  is(await page.locator('#long').isHidden(), 'what is short enough is in the address again');
  await page.close();
}

async function main() {
  const browser = await chromium.launch({executablePath, args: ['--no-sandbox']});
  for (const part of [loads, slides, edits, models, learns, solves, answers, brought, lengths]) {
    await part(browser);
  }
  await looks(enter, browser);
  await saved(enter, browser, folder, binary);
  await browser.close();
  return done();
}

main().then((status) => process.exit(status), (wrong) => {
  console.log(`Bail out! ${wrong.stack}`);
  process.exit(1);
});
