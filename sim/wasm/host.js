/* host.js - runs core.wasm (web.c): the library, called from a page, a Worker or node.
 *
 *   loadCore(bytes)          -> a core of this thread: core.call("schedule", {name: "1f1b", ...}) -> reply
 *   openCore(bytes, source)  -> one in a Worker, where there are Workers: await core.call(...)
 *   unpackCore(text)         -> bytes, of the module as a page carries it (embed.py)
 *
 * A reply has a `status` as the command line's exit status (0 done, 1 the answer is no, 2 the request is
 * wrong, 3 its contents are, 4 a deadlock, exhausted memory, a defect) and `text`, or `error`, the messages.
 * A request may bring `files`, {path: text}, which the run file names. docs/guides/library.md has
 * the calls. Addresses above 2 GiB arrive negative: hence ">>> 0". */

const ENOENT = 44, ENOSYS = 52; /* errno, as WASI and emscripten number them */
const STAT_WORDS = 22, STAT_MODE = 3, STAT_SIZE = 10; /* struct stat of emscripten 3.1, in words */

/* Columns of struct ty_tasks in its order, and tables of the names that some of them count. */
const TASK_COLUMNS = [["start_ps", BigUint64Array], ["dur_ps", BigUint64Array], ["rank", Uint32Array],
  ["kind", Uint32Array], ["pass", Uint32Array], ["micro_batch", Uint16Array], ["stage", Uint16Array],
  ["step", Uint16Array], ["layer", Uint16Array], ["stream", Uint8Array], ["phase", Uint8Array],
  ["category", Uint8Array]];
/* Columns of struct ty_schedule_passes in its order. */
const PASS_COLUMNS = [["start", Float64Array], ["duration", Float64Array], ["micro_batch", Uint16Array],
  ["stage", Uint16Array], ["phase", Uint8Array], ["slice", Uint8Array], ["direction", Uint8Array], ["half", Uint8Array]];
const TASK_NAMES = ["kind_names", "stream_names", "phase_names", "category_names"];

function textAt(memory, at) {
  const bytes = new Uint8Array(memory.buffer, at >>> 0);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
}

/* What the module asks of a system: a clock, standard output, the files of the request, and that nothing else
 * is there. */
function systemOf(module, state) {
  /* Fills or takes the n pieces of a struct iovec; `total` receives how many bytes. */
  const each = (pieces, n, total, move) => {
    const view = new DataView(state.memory.buffer);
    let moved = 0;
    for (let i = 0, at = pieces >>> 0; i < n; i++, at += 8) {
      moved += move(new Uint8Array(state.memory.buffer, view.getUint32(at, true), view.getUint32(at + 4, true)));
    }
    view.setUint32(total >>> 0, moved, true);
    return 0;
  };
  const known = {
    clock_time_get(clock, precision, at) {
      const now = clock === 0 ? Date.now() : performance.now();
      new DataView(state.memory.buffer).setBigUint64(at >>> 0, BigInt(Math.round(now * 1e6)), true);
      return 0;
    },
    fd_write(file, pieces, n, written) {
      return each(pieces, n, written, (piece) => {
        state.output.push(piece.slice());
        return piece.length;
      });
    },
    fd_read(file, pieces, n, got) {
      const open = state.open.get(file);
      return open === undefined ? ENOSYS : each(pieces, n, got, (piece) => {
        const bytes = open.bytes.subarray(open.at, open.at + piece.length);
        piece.set(bytes);
        open.at += bytes.length;
        return bytes.length;
      });
    },
    fd_seek(file, offset, from, now) {
      const open = state.open.get(file);
      if (open === undefined) {
        return ENOSYS;
      }
      open.at = Number(offset) + [0, open.at, open.bytes.length][from];
      new DataView(state.memory.buffer).setBigUint64(now >>> 0, BigInt(open.at), true);
      return 0;
    },
    fd_close(file) {
      state.open.delete(file);
      return 0;
    },
    __syscall_openat(folder, path) {
      const bytes = state.files.get(textAt(state.memory, path));
      if (bytes === undefined) {
        return -ENOENT;
      }
      state.open.set(++state.last, {bytes, at: 0});
      return state.last;
    },
    __syscall_stat64(path, at) {
      const bytes = state.files.get(textAt(state.memory, path));
      if (bytes === undefined) {
        return -ENOENT;
      }
      const words = new Uint32Array(state.memory.buffer, at >>> 0, STAT_WORDS).fill(0);
      words[STAT_MODE] = 0o100444;
      words[STAT_SIZE] = bytes.length;
      return 0;
    },
    __syscall_faccessat: (folder, path) => (state.files.has(textAt(state.memory, path)) ? 0 : -ENOENT),
    proc_exit(status) {
      throw new Error(`the program ended with ${status}`);
    },
    emscripten_notify_memory_growth() {},
    __syscall_getcwd: () => -ENOENT,
  };
  const imports = {};
  for (const {module: from, name} of WebAssembly.Module.imports(module)) {
    imports[from] = imports[from] || {};
    imports[from][name] = known[name] || (() => (name.startsWith("__syscall_") ? -ENOSYS : ENOSYS));
  }
  return imports;
}

function joined(pieces) {
  const bytes = new Uint8Array(pieces.reduce((n, piece) => n + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

class Core {
  constructor(module) {
    this.module = module;
    this.renew();
  }

  /* A new instance: memory that a large run took is only given back with the old one. */
  renew() {
    this.state = {memory: null, output: [], files: new Map(), open: new Map(), last: 2};
    const {exports} = new WebAssembly.Instance(this.module, systemOf(this.module, this.state));
    this.exports = exports;
    this.state.memory = exports.memory;
    exports._initialize();
  }

  /* Bytes of memory that the instance has. */
  get size() {
    return this.state.memory.buffer.byteLength;
  }

  /* Views end when memory grows: they are made anew after each call. */
  words(at, n) {
    return new Uint32Array(this.state.memory.buffer, at >>> 0, n);
  }

  textAt(at) {
    return at !== 0 ? textAt(this.state.memory, at) : "";
  }

  /* Copies bytes into the module; 0: there is no room. */
  put(bytes) {
    const at = this.exports.malloc(bytes.length + 1) >>> 0;
    if (at !== 0) {
      const to = new Uint8Array(this.state.memory.buffer, at, bytes.length + 1);
      to.set(bytes);
      to[bytes.length] = 0;
    }
    return at;
  }

  /* An object {key: value} as pairs of texts; a list is a pair for each of its entries. */
  static pairs(request) {
    const texts = [];
    for (const [key, value] of Object.entries(request)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== undefined && one !== null) {
          texts.push(key, "\0", String(one).replaceAll("\0", "\uFFFD"), "\0");
        }
      }
    }
    return new TextEncoder().encode(texts.join(""));
  }

  /* A 64-bit column as doubles, of their halves: exact below 2^53 ps, two and a half hours. */
  column(at, n, Type) {
    if (Type !== BigUint64Array) {
      return new Type(this.state.memory.buffer, at >>> 0, n).slice();
    }
    const halves = this.words(at, 2 * n), numbers = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      numbers[i] = halves[2 * i] + 4294967296 * halves[2 * i + 1];
    }
    return numbers;
  }

  tasksAt(at) {
    const [n, ...rest] = this.words(at, 1 + TASK_COLUMNS.length + 2 * TASK_NAMES.length);
    const tasks = {n};
    TASK_COLUMNS.forEach(([name, Type], i) => { tasks[name] = this.column(rest[i], n, Type); });
    TASK_NAMES.forEach((name, i) => {
      const names = rest[TASK_COLUMNS.length + i], many = rest[TASK_COLUMNS.length + TASK_NAMES.length + i];
      tasks[name] = Array.from(this.words(names, many), (text) => this.textAt(text));
    });
    return tasks;
  }

  passesAt(at) {
    const [n, ...rest] = this.words(at, 4 + PASS_COLUMNS.length), [first, ranks, figures] = rest.slice(PASS_COLUMNS.length);
    const passes = {n, first: this.column(first, ranks + 1, Uint32Array), ...JSON.parse(this.textAt(figures))};
    PASS_COLUMNS.forEach(([name, Type], i) => { passes[name] = this.column(rest[i], n, Type); });
    return passes;
  }

  /* Other files than those of the call before get another number, by which the module tells runs apart. */
  bring(files) {
    const same = ([path, text]) => this.texts !== undefined && this.texts[path] === text;
    const entries = Object.entries(files);
    if (this.texts === undefined || entries.length !== this.state.files.size || !entries.every(same)) {
      this.texts = {...files};
      this.state.files = new Map(entries.map(([path, text]) => [path, new TextEncoder().encode(text)]));
      this.number = (this.number || 0) + 1;
    }
    return this.number;
  }

  ask(name, {files, ...request}) {
    this.state.output = [];
    const number = this.bring(files || {});
    const pairs = Core.pairs(files ? {...request, files: number} : request);
    const call = this.put(new TextEncoder().encode(name)), bytes = this.put(pairs);
    const answered = call !== 0 && bytes !== 0;
    const at = answered ? this.exports.ty_web_call(call, bytes, pairs.length) : 0;
    this.exports.free(call);
    this.exports.free(bytes);
    if (!answered) {
      return {status: 4, error: "memory is exhausted"};
    }
    const [status, text, error, remarks, tasks, passes] = this.words(at, 6);
    if (error !== 0) {
      return {status, error: this.textAt(error)};
    }
    const reply = {status, text: this.textAt(text), remarks: this.textAt(remarks)};
    if (tasks !== 0) {
      reply.tasks = this.tasksAt(tasks);
    }
    if (passes !== 0) {
      reply.passes = this.passesAt(passes);
    }
    if (name === "digest") {
      reply.text = new TextDecoder().decode(joined(this.state.output));
    }
    if (name === "trace") {
      reply.bytes = joined(this.state.output);
    }
    return reply;
  }

  /* One call. After a defect of the module the next one finds a new instance. */
  call(name, request = {}) {
    try {
      return this.ask(name, request);
    } catch (trap) {
      this.renew();
      return {status: 4, error: `internal error: ${trap.message}`};
    }
  }
}

/* `bytes` may be a WebAssembly.Module, too. */
async function loadCore(bytes) {
  return new Core(bytes instanceof WebAssembly.Module ? bytes : await WebAssembly.compile(bytes));
}

/* Bytes of letters: two are 13 bits, the lowest first, the last one alone is 6. */
function bytesOf(text) {
  const rank = new Uint8Array(127), bytes = new Uint8Array((text.length * 13) >> 4);
  for (let letter = 33, n = 0; letter < 127; letter++) {
    rank[letter] = "&<\\".includes(String.fromCharCode(letter)) ? 0 : n++;
  }
  let held = 0, bits = 0, at = 0;
  for (let i = 0; i < text.length; i += 2) {
    const pair = i + 1 < text.length;
    held |= (rank[text.charCodeAt(i)] + (pair ? 91 * rank[text.charCodeAt(i + 1)] : 0)) << bits;
    for (bits += pair ? 13 : 6; bits >= 8; bits -= 8) {
      bytes[at++] = held & 255;
      held >>>= 8;
    }
  }
  return bytes.subarray(0, at);
}

async function unpackCore(text) {
  const packed = bytesOf(text.trim());
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* The Worker's side: the first message is the module, others are calls. */
function serveCore(scope) {
  let core = null;
  scope.onmessage = ({data}) => {
    if (core === null) {
      core = new Core(data);
      return;
    }
    const reply = core.call(data.name, data.request);
    const columns = Object.values(reply.tasks || {}).filter((column) => ArrayBuffer.isView(column));
    const moved = columns.concat(reply.bytes || []).map((column) => column.buffer);
    scope.postMessage({id: data.id, reply}, moved);
  };
}

/* The same core for a page, which stays alive while it computes: `source` is the text of this file, of
 * which the Worker is made. Without Workers the page waits. Replies come in the order of calls. */
async function openCore(bytes, source) {
  const module = bytes instanceof WebAssembly.Module ? bytes : await WebAssembly.compile(bytes);
  if (typeof Worker === "undefined") {
    const core = new Core(module);
    return {module, call: async (name, request) => core.call(name, request), end() {}};
  }
  const address = URL.createObjectURL(new Blob([source, "\nserveCore(self);\n"], {type: "text/javascript"}));
  const worker = new Worker(address), waiting = new Map();
  let last = 0;
  worker.onmessage = ({data}) => {
    waiting.get(data.id)(data.reply);
    waiting.delete(data.id);
  };
  const give = (error) => {
    waiting.forEach((answer) => { answer({status: 4, error}); });
    waiting.clear();
  };
  worker.onerror = (event) => { give(`internal error: ${event.message}`); };
  worker.postMessage(module);
  return {
    module,
    call: (name, request = {}) => new Promise((answer) => {
      waiting.set(++last, answer);
      worker.postMessage({id: last, name, request});
    }),
    /* Ends the Worker, whatever it does; calls under way are answered with an error. */
    end() {
      worker.terminate();
      URL.revokeObjectURL(address);
      give("the calculation was ended");
    },
  };
}

if (typeof module !== "undefined") {
  module.exports = {loadCore, openCore, unpackCore, serveCore};
}
