/* Opens a trace in Catapult's viewer, which Debian's golang-1.19-src has for `go tool trace`.
 *
 * usage: node catapult.js CHROMIUM VIEWER TRACE [PICTURE [WIDTH HEIGHT [FROM TO]]]
 * VIEWER is the folder with trace_viewer_full.html. Prints what the import found as JSON; the picture
 * shows FROM to TO milliseconds. */
'use strict';

const {chromium} = require('playwright-core');
const fs = require('fs');
const http = require('http');
const path = require('path');
const zlib = require('zlib');

const [,, executablePath, viewer, trace, picture, width, height, from, to] = process.argv;

const PAGE = (body) => `<!DOCTYPE html><html><head><meta charset="utf-8">
<script src="/webcomponents.min.js"></script></head>
<body style="margin:0;height:100vh;display:flex">${body}
<script>
function start() {
  const container = document.createElement('track-view-container');
  container.id = 'track_view_container';
  const view = document.createElement('tr-ui-timeline-view');
  view.track_view_container = container;
  Polymer.dom(view).appendChild(container);
  view.id = 'trace-viewer';
  view.style.flex = '1 1 auto';
  view.style.minWidth = '0';
  view.globalMode = true;
  Polymer.dom(document.body).appendChild(view);
  fetch('/trace').then((r) => r.text()).then((text) => {
    const model = new tr.Model(), load = new tr.importer.Import(model);
    load.importTracesWithProgressDialog([text]).then(() => {
      view.model = model;
      Object.assign(window, {view, model, ready: true});
    }, (error) => { window.failed = String(error && error.stack || error); });
  });
}
document.addEventListener('WebComponentsReady', start);
</script></body></html>`;

function serve() {
  let data = fs.readFileSync(trace);
  data = trace.endsWith('.gz') ? zlib.gunzipSync(data) : data;
  const body = fs.readFileSync(path.join(viewer, 'trace_viewer_full.html'), 'utf8');
  const server = http.createServer((request, reply) => {
    if (request.url === '/trace') {
      reply.end(data);
    } else if (request.url === '/webcomponents.min.js') {
      reply.setHeader('content-type', 'text/javascript');
      reply.end(fs.readFileSync(path.join(viewer, 'webcomponents.min.js')));
    } else {
      reply.setHeader('content-type', 'text/html');
      reply.end(PAGE(body));
    }
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/* In the page: what there is, in the order in which it is shown. */
function inspect() {
  const by = (a, b) => a.sortIndex - b.sortIndex || a.compareTo && a.compareTo(b) || 0;
  const processes = Object.values(window.model.processes).sort(
    (a, b) => (a.sortIndex || 0) - (b.sortIndex || 0));
  return {
    warnings: window.model.importWarnings.map((w) => `${w.type}: ${w.message}`),
    flows: window.model.flowEvents.length,
    bound: window.model.flowEvents.filter((f) => f.startSlice && f.endSlice).length,
    processes: processes.map((p) => ({
      name: p.name, labels: p.labels, sort: p.sortIndex,
      counters: Object.values(p.counters).map((c) => c.name),
      threads: Object.values(p.threads).sort(by).map((t) => ({
        name: t.name, tid: t.tid, slices: t.sliceGroup.slices.length,
        us: Math.round(t.sliceGroup.topLevelSlices.reduce((sum, s) => sum + s.duration, 0) * 1e3),
        colours: [...new Set(t.sliceGroup.slices.map((s) => `${s.category}:${s.colorId}`))],
      })),
    })),
  };
}

async function main() {
  const server = await serve();
  const browser = await chromium.launch({executablePath, args: ['--no-sandbox']});
  const page = await browser.newPage({viewport: {width: +(width || 1600), height: +(height || 1000)}});
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction('window.ready || window.failed', null, {timeout: 120000});
  console.log(JSON.stringify(await page.evaluate('window.failed') || await page.evaluate(inspect)));
  if (picture) {
    await page.waitForTimeout(1500);
    if (from !== undefined) {
      await page.evaluate(([a, b]) => {
        const track = window.view.trackView_ || window.view.trackView;
        const transform = track.viewport.currentDisplayTransform.clone();
        transform.xSetWorldBounds(a, b, track.getBoundingClientRect().width - 240);
        track.viewport.setDisplayTransformImmediately(transform);
      }, [+from, +to]);
      await page.waitForTimeout(1000);
    }
    await page.screenshot({path: picture});
  }
  await browser.close();
  server.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
