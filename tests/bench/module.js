/* The module for pages in node: module.js HOST.js CORE.wasm. Milliseconds, the first time, then the median and
 * the least of many: compiling it, schedules, a step of 256 GPUs as a report and with the columns of its tasks.
 * Each run has another seed, so that none is kept. */
const fs = require("fs");
const path = require("path");
const zlib = require("zlib");
const [hostPath, corePath] = process.argv.slice(2);
const {loadCore} = require(hostPath);
const EXAMPLE = path.join(__dirname, "../../docs/examples/llama-30b-256xa100.yaml");

let seed = 1;
const text = fs.readFileSync(EXAMPLE, "utf8");
const schedule = (p, m) => ["schedule", () => ({name: "1f1b", pipeline: p, micro_batches: m, format: "json"})];
const step = (call, more) => [call, () => ({text, set: [`run.seed=${seed++}`], ...more})];
const ROWS = {
  "schedule 1f1b, p = 8, m = 32": [...schedule(8, 32), 100],
  "schedule 1f1b, p = 32, m = 256": [...schedule(32, 256), 30],
  "256 GPUs, report": [...step("run"), 30],
  "256 GPUs, columns of one replica": [...step("tasks"), 30],
  "256 GPUs, columns of a rank of each stage": [...step("tasks", {ranks: "one-per-stage"}), 30],
};

function print(name, times) {
  const sorted = [...times].sort((a, b) => a - b);
  const ms = [times[0], sorted[sorted.length >> 1], sorted[0]].map((x) => x.toFixed(2).padStart(9));
  console.log(`${name.padEnd(42)}${ms.join("")}`);
}

async function timed(n, work) {
  const times = [];
  for (let i = 0; i < n; i++) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return times;
}

async function main() {
  const bytes = fs.readFileSync(corePath);
  const gzip = zlib.gzipSync(bytes, {level: 9}).length, brotli = zlib.brotliCompressSync(bytes).length;
  console.log(`${bytes.length} bytes, gzip ${gzip}, brotli ${brotli}\n${"ms".padEnd(42)}    first   median    least`);
  print("start", await timed(10, () => loadCore(bytes)));
  const core = await loadCore(bytes);
  for (const [name, [call, request, n]] of Object.entries(ROWS)) {
    print(name, await timed(n, () => {
      const reply = core.call(call, request());
      if (reply.error) {
        throw new Error(reply.error);
      }
    }));
  }
  console.log(`memory ${core.size >>> 20} MiB`);
}

main();
