/* What the classroom's page looks like from phone to projector, and what it says to who does not see it. */
'use strict';

const {is} = require('./facts.js');

const MODEL = 'page.html#model.preset=llama-30b&cluster.preset=dgx-a100-80g&cluster.nodes=32&layout.tensor=4&layout.pipeline=4&layout.global_batch=512&schedule.name=gpipe';
const CONTROLS = new Set(['button', 'textbox', 'combobox', 'slider', 'spinbutton', 'checkbox', 'link', 'application', 'img', 'DisclosureTriangle']);

/* The least letters that are seen, in pixels. */
const least = (page) => page.evaluate(() => Math.min(...[...document.querySelectorAll('body *')]
  .filter((e) => e.getClientRects().length > 0 && !e.closest('.visually-hidden, .skip') && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== ''))
  .map((e) => parseFloat(getComputedStyle(e).fontSize))));

/* Where words on canvases begin: what was drawn twice is as it was drawn once. */
const watch = () => {
  const draw = CanvasRenderingContext2D.prototype.fillText;
  window.drawn = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const width = this.measureText(text).width, left = x - {left: 0, start: 0, center: width / 2}[this.textAlign];
    window.drawn.push({text, left, right: left + width, size: parseFloat(/([\d.]+)px/.exec(this.font)[1]), canvas: this.canvas.id});
    draw.call(this, text, x, y);
  };
};

const nameless = async (page) => {
  const session = await page.context().newCDPSession(page), {nodes} = await session.send('Accessibility.getFullAXTree');
  return nodes.filter((node) => !node.ignored && node.role && CONTROLS.has(node.role.value) && !(node.name && node.name.value)).map((node) => node.role.value);
};

async function widths(enter, browser) {
  for (const [width, letters] of [[390, 11], [1280, 11], [2560, 15.9]]) {
    const {page} = await enter(browser, 'page.html#schedule=1f1b,zb-1p&p=4&m=8', {viewport: {width, height: 900}});
    await page.evaluate(watch);
    await page.evaluate(() => window.trainyard.rooms.schedule.chart.draw());
    is(await least(page) >= letters, `${width} wide: letters are ${letters} pixels or more`, await least(page));
    const drawn = await page.evaluate(() => window.drawn), labels = drawn.filter(({text}) => !/^\d+$/.test(text));
    is(labels.every(({left, right, size}) => left >= 0 && right <= width && size >= letters), 'and in the timeline, none cut off', labels);
    const ranks = await page.evaluate(() => [...document.querySelectorAll('#s-ranks, #s-formula')].map((e) => e.scrollWidth - e.clientWidth));
    is(ranks.every((more) => more <= 0), 'tables have room', ranks);
    is((await nameless(page)).length === 0, 'every control has a name', await nameless(page));
    is(/Weight gradient/.test(await page.textContent('#s-legend')), 'colours of all that is compared are told');
    await page.close();
    const model = await enter(browser, MODEL, {viewport: {width, height: 900}});
    await model.page.waitForSelector('#m-memory .over');
    await model.page.evaluate(watch);
    await model.page.evaluate(() => { window.trainyard.rooms.model.timeline(); window.trainyard.rooms.model.timeline(); });
    const stages = (await model.page.evaluate(() => window.drawn)).filter(({text}) => text.startsWith('stage'));
    is(stages.length === 8 && stages.every(({left, size}) => left >= 0 && size >= letters), 'stages of a model have whole names', stages);
    const tracks = await model.page.evaluate(() => [...document.querySelectorAll('#m-memory .track')].map((e) => e.clientWidth));
    is(tracks.length === 4 && tracks.every((wide) => wide > 0.4 * Math.min(width, 1280)), 'and bars of memory that are seen', tracks);
    is((await nameless(model.page)).length === 0, 'every control of a model has a name', await nameless(model.page));
    await model.page.close();
  }
}

async function lessons(enter, browser) {
  for (const width of [390, 1280]) {
    const {page} = await enter(browser, 'page.html#lesson=6', {viewport: {width, height: 900}});
    await page.locator('#exercise-3').getByRole('button', {name: 'Try it live'}).click();
    const over = await page.evaluate(() => {
      const boxes = [...document.querySelectorAll('#exercise-3 #s-form input, #exercise-3 #s-form select')].map((e) => e.getBoundingClientRect()).filter((box) => box.width > 0);
      return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
    });
    is(over === 0, `${width} wide: no field of an exercise lies on another`, over);
    is((await nameless(page)).length === 0, 'every control of a lesson has a name', await nameless(page));
    await page.close();
  }
}

async function still(enter, browser) {
  const {page} = await enter(browser, MODEL, {reducedMotion: 'reduce'});
  await page.waitForSelector('#m-memory .fill');
  is(await page.evaluate(() => document.getAnimations().length + parseFloat(getComputedStyle(document.querySelector('#m-memory .fill')).transitionDuration)) === 0, 'nothing moves for who wants that');
  await page.close();
}

async function looks(enter, browser) {
  await widths(enter, browser);
  await lessons(enter, browser);
  await still(enter, browser);
}

module.exports = {looks};
