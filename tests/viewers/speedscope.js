/* Opens a trace in speedscope: a profile for each row.
 *
 * usage: node speedscope.js CHROMIUM INDEX TRACE [PICTURE [PROFILE]]
 * INDEX: dist/release/index.html of the package. Prints the names of the profiles as JSON, and what
 * the import complained of: slices that it could not close. The picture is of the profile whose name
 * begins with PROFILE. */
'use strict';

const {chromium} = require('playwright-core');
const path = require('path');

const [,, executablePath, index, trace, picture, profile] = process.argv;

async function main() {
  const browser = await chromium.launch({executablePath, args: ['--no-sandbox',
                                                                '--use-gl=angle',
                                                                '--use-angle=swiftshader']});
  const page = await browser.newPage({viewport: {width: 1400, height: 900}});
  const wrong = [], told = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => message.type() === 'warning' && told.push(message.text()));
  await page.goto('file://' + path.resolve(index));
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'),
                                       page.locator('label', {hasText: 'Browse'}).click()]);
  await chooser.setFiles(trace);
  await page.waitForFunction(() => /\(\d+\/\d+\)/.test(document.body.innerText), null,
                             {timeout: 60000});
  const shown = await page.evaluate(() => document.body.innerText.match(/[^\n]*\(\d+\/\d+\)[^\n]*/)[0]);
  await page.getByText(shown.trim(), {exact: false}).first().click();
  await page.waitForTimeout(500);
  const text = await page.evaluate(() => document.body.innerText);
  const open = told.filter((line) => /Tried to end|still open/.test(line));
  if (picture) {
    await page.getByText(profile || shown.trim(), {exact: false}).last().click();
    await page.waitForTimeout(1000);
    await page.screenshot({path: picture});
  }
  console.log(JSON.stringify({shown, text: text.split('\n'), wrong, open}));
  await browser.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
