/* The classroom's page in Chromium: page.js PAGE.html. Milliseconds from a changed control to the page as it is
 * drawn, of twelve changes the first, the median and the least; and until the page is ready. The aims: 16 for 8 ranks
 * and 32 micro-batches, 100 for 32 and 256, 500 for the start. */
const {chromium} = require("playwright-core");
const [path, executablePath = "/usr/bin/chromium"] = process.argv.slice(2);

const ROOMS = ["schedule=1f1b&p=8&m=32", "schedule=zb-v&p=8&m=32", "schedule=1f1b,interleaved,zb-v&p=8&m=32",
  "schedule=1f1b&p=32&m=256", "schedule=zb-v&p=32&m=256", "schedule=interleaved-zb&p=32&m=256", "schedule=dualpipe&p=32&m=256"];

function print(name, times) {
  const sorted = [...times].sort((a, b) => a - b);
  console.log(`${name.padEnd(44)}${[times[0], sorted[sorted.length >> 1], sorted[0]].map((x) => x.toFixed(1).padStart(8)).join("")}`);
}

/* One more or one less in a field of times, which is what a teacher moves; the next frame shows it. */
const move = (page) => page.evaluate(() => new Promise((resolve) => {
  const input = document.getElementById("s-time-F");
  input.value = input.value === "2" ? "3" : "2";
  input.dispatchEvent(new Event("input", {bubbles: true}));
  requestAnimationFrame(() => requestAnimationFrame(() => { resolve(window.trainyard.rooms.schedule.took); }));
}));

async function main() {
  const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});
  const ready = [];
  console.log(`${"ms".padEnd(44)}   first  median   least`);
  for (const room of ROOMS) {
    const page = await browser.newPage({viewport: {width: 1280, height: 900}});
    await page.goto(`file://${path}#${room}`);
    await page.waitForFunction(() => window.trainyard && window.trainyard.ready);
    ready.push(await page.evaluate(() => window.trainyard.ready));
    await page.waitForTimeout(300);
    const times = [];
    for (let i = 0; i < 12; i++) {
      times.push(await move(page));
      await page.waitForTimeout(60);
    }
    print(room, times);
    await page.close();
  }
  print("until the page is ready", ready);
  await browser.close();
}

main();
