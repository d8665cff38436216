/* Facts about pages of `trainyard report`, told in the Test Anything Protocol, and what all of them need:
 * a page that is open, what is where on it. */
'use strict';

const path = require('path');

const folder = process.argv[3];
let number = 0, failed = 0;

function is(fact, what, more) {
  number++;
  failed += fact ? 0 : 1;
  console.log(`${fact ? 'ok' : 'not ok'} ${number} - ${what}`);
  if (!fact && more !== undefined) {
    console.log('# ' + JSON.stringify(more));
  }
}

/* A page with what went wrong in it, and what it asked the network for; `name` may go on with #... */
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

/* The counts, at the end. */
function done() {
  console.log(`1..${number}`);
  return failed === 0 ? 0 : 1;
}

module.exports = {is, open, find, chosen, tip, done};
