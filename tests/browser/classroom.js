/* Uses the classroom's page in Chromium: moves sliders, drags boxes, types, follows links, answers exercises.
 * Usage: node classroom.js CHROMIUM FOLDER, where FOLDER has page.html, and zb-v.html (-p 6 -m 12). Prints TAP. */
'use strict';

const {chromium} = require('playwright-core');
const {is, open, done} = require('./facts.js');

const [,, executablePath] = process.argv;
const WIDTHS = [390, 1280, 2560];

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

async function main() {
  const browser = await chromium.launch({executablePath, args: ['--no-sandbox']});
  for (const part of [loads, slides, edits, models, learns]) {
    await part(browser);
  }
  await browser.close();
  return done();
}

main().then((status) => process.exit(status), (wrong) => {
  console.log(`Bail out! ${wrong.stack}`);
  process.exit(1);
});
