/* Answers calls of the module by host.js: calls.js HOST.js CORE.wasm < calls > replies, JSON both.
 *
 * The input is {files, calls}. A call is {call, request}, whose `files` may be "all" of these; and may say
 * `small`, so many pages of memory at most, `renew`, a new instance before it, or `trap`, a defect of the
 * module in it. */
const fs = require("fs");
const [hostPath, corePath] = process.argv.slice(2);
const {loadCore} = require(hostPath);

/* A number of seven bits a byte, the lowest first, and where it ends. */
function number(bytes, at) {
  let value = 0, scale = 1;
  do {
    value += (bytes[at] & 127) * scale;
    scale *= 128;
  } while (bytes[at++] > 127);
  return [value, at];
}

/* The same module with a limit of memory: its fifth section is one memory, flags, pages, pages at most. */
function limited(bytes, pages) {
  const out = Uint8Array.from(bytes);
  for (let at = 8; at < bytes.length;) {
    const section = bytes[at], [size, start] = number(bytes, at + 1);
    if (section === 5) {
      const [, most] = number(bytes, start + 2), [, end] = number(bytes, most);
      for (let i = most; i < end; i++, pages >>= 7) {
        out[i] = (pages & 127) | (i + 1 < end ? 128 : 0);
      }
    }
    at = start + size;
  }
  return out;
}

/* Columns as JSON has them. */
function told(columns) {
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name,
    ArrayBuffer.isView(column) ? {values: Array.from(column)} : column]));
}

function answer(core, {call, request, renew, trap}) {
  if (renew) {
    core.renew();
  }
  if (trap) {
    core.exports = {...core.exports, ty_web_call() { throw new WebAssembly.RuntimeError("unreachable"); }};
  }
  const reply = core.call(call, request);
  if (reply.tasks) {
    reply.tasks = told(reply.tasks);
  }
  if (reply.passes) {
    reply.passes = told(reply.passes);
  }
  if (reply.bytes) {
    reply.bytes = Buffer.from(reply.bytes).toString("base64");
  }
  return reply;
}

async function main() {
  const bytes = fs.readFileSync(corePath), {files, calls} = JSON.parse(fs.readFileSync(0, "utf8"));
  const core = await loadCore(bytes), replies = [];
  const cores = new Map();
  for (const one of calls) {
    one.request.files = one.request.files === "all" ? files : one.request.files;
    if (one.small && !cores.has(one.small)) {
      cores.set(one.small, await loadCore(limited(bytes, one.small)));
    }
    replies.push(answer(one.small ? cores.get(one.small) : core, one));
  }
  process.stdout.write(JSON.stringify(replies));
}

main();
