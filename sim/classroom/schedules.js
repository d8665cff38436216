/* schedules.js - the room of schedules without a model: several on one time axis, the formula beside the
 * simulation, memory and bubble of each rank, an order that is edited by hand. */

const CHUNKED = ['interleaved', 'interleaved-zb', 'bfs'];
const DEFAULTS = {schedule: '1f1b', p: '4', m: '8', v: '2'};
const MOST_STACKED = 6;

/* "F3.1^#2" */
function atomOf(text) {
  const found = /^([FBIW])(\d+)\.(\d+)(\^?)(?:#(\d+))?$/.exec(text);
  return {kind: found[1], micro: Number(found[2]), stage: Number(found[3]), up: found[4] === '^', slice: found[5]};
}

function wordsOf(atom, start, dur) {
  const of = {F: 'forward', B: 'backward', I: 'input gradient', W: 'weight gradient'}[atom.kind];
  return `${atom.kind}${atom.micro}.${atom.stage}: ${of} of micro-batch ${atom.micro} on stage ${atom.stage}${atom.up ? ', second direction' : ''}` +
    `${atom.slice ? `, slice ${atom.slice}` : ''}\nfrom ${round(start)} to ${round(start + dur)}`;
}

function round(x) {
  return String(Number(x.toPrecision(6)));
}

/* What a rank does and why it idles, for a chart. */
function rowOf(rank, p, makespan) {
  const boxes = [], idle = [];
  const gap = (from, to, cause) => {
    if (to - from > 1e-9 * makespan) {
      idle.push({start: from, dur: to - from, colour: CAUSES[cause][1], words: `${cause}: idle from ${round(from)} to ${round(to)}`});
    }
  };
  let end = 0;
  rank.actions.forEach((action, k) => {
    const start = rank.start[k], dur = rank.duration[k], atoms = action.replace(/[()]/g, '').split('|').map(atomOf);
    gap(end, start, k === 0 ? 'fill' : 'stall');
    atoms.forEach((atom, part) => boxes.push({start, dur, slot: k, part, of: atoms.length, name: String(atom.micro),
      colour: KINDS[atom.kind][Math.floor(atom.stage / p) % 2 === 1 || atom.up ? 2 : 1], words: wordsOf(atom, start, dur)}));
    end = start + dur;
  });
  gap(end, makespan, 'drain');
  return {boxes, idle};
}

function slotsText(ranks) {
  return ranks.map((actions, r) => `rank ${r}: ${actions.join(' ')}\n`).join('');
}

class ScheduleRoom {
  /* `small`: inside a lesson. `changed(state)` is told of every change. */
  constructor(core, state, changed, small) {
    Object.assign(this, {core, changed, small, charts: new Map(), answers: new Map(), history: []});
    this.state = {...DEFAULTS, ...state};
    this.asker = new Asker((question) => this.ask(question), (question, replies, took) => this.answer(question, replies, took));
    this.panel = el('div', {class: small ? 'controls' : 'card controls'});
    this.main = el('div', {});
    this.node = el('div', {class: 'room'}, this.panel, this.main);
    this.tiles = el('div', {class: 'tiles'});
    this.stack = el('div', {class: small ? '' : 'card'});
    this.beside = el('div', {class: 'pair'});
    this.main.append(this.tiles, this.stack, this.beside);
    this.fill();
    this.update();
  }

  names() {
    return this.state.schedule.split(',').filter(Boolean);
  }

  set(key, value) {
    if (key !== 'slots') {
      delete this.state.slots;
      this.history = [];
    }
    if (value === '' || value === undefined) {
      delete this.state[key];
    } else {
      this.state[key] = value;
    }
    this.changed(this.shown());
    this.update();
  }

  /* The state without what is as ever, and what no schedule here has. */
  shown() {
    const state = {...this.state};
    if (!this.names().some((name) => CHUNKED.includes(name))) {
      delete state.v;
    }
    return state;
  }

  fill() {
    const all = this.core.schedules, s = this.state, first = this.names()[0];
    this.panel.replaceChildren(this.small ? '' : el('h2', {}, 'Schedule'),
      control('Schedule', {words: all}, first, (name) => { this.set('schedule', [name, ...this.names().slice(1)].join(',')); this.fill(); }),
      control('Stages p', {values: range(1, 32)}, s.p, (value) => { delete this.state.stages; this.set('p', value); this.fillStages(); }),
      control('Micro-batches m', {values: [...range(1, 32), 36, 40, 44, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256]}, s.m, (value) => this.set('m', value)),
      ...(this.names().some((name) => CHUNKED.includes(name)) ? [control('Chunks v', {values: range(1, 8)}, s.v, (value) => { delete this.state.stages; this.set('v', value); this.fillStages(); })] : []),
      ...(first === 'interleaved' ? [control('Group', {hint: 'p', title: 'micro-batches that go through a chunk before the next'}, s.group, (value) => this.set('group', value))] : []),
      ...(first === 'seq1f1b' ? [control('Slices', {values: range(1, 8)}, s.slices || '2', (value) => this.set('slices', value))] : []),
      ...this.timeControls(), this.stagesBox = el('div', {}), this.compareBox(all), ...(this.small ? [] : [this.exports()]));
    this.fillStages();
  }

  timeControls() {
    const times = Object.fromEntries((this.state.times || '').split(',').filter(Boolean).map((pair) => pair.split('=')));
    const change = (key) => (value) => {
      const now = Object.fromEntries((this.state.times || '').split(',').filter(Boolean).map((pair) => pair.split('=')));
      now[key] = value;
      if (key === 'C' && value === '0') { delete now.C; }
      if ((key === 'I' || key === 'W') && now.I !== undefined && now.W !== undefined) { delete now.B; }
      if (key === 'B') { delete now.I; delete now.W; }
      this.set('times', Object.entries(now).map(([k, v]) => `${k}=${v}`).join(','));
    };
    const steps = range(1, 16).map((k) => k / 4), parts = (times.I && times.W) || /zb|v-|dual/.test(this.state.schedule);
    const half = times.B ? Number(times.B) / 2 : 1;
    return [control('Forward', {values: steps}, times.F || '1', change('F')),
      ...(parts ? [control('Input grad. I', {values: steps}, times.I || String(half), (value) => { this.split(half); change('I')(value); }),
        control('Weight grad. W', {values: steps}, times.W || String(half), (value) => { this.split(half); change('W')(value); })]
        : [control('Backward', {values: steps}, times.B || '2', change('B'))]),
      control('Message delay', {values: range(0, 16).map((k) => k / 8)}, times.C || '0', change('C'))];
  }

  /* Both parts of a backward become known when one is moved. */
  split(half) {
    const times = this.state.times || '';
    if (!/I=/.test(times) || !/W=/.test(times)) {
      const rest = times.split(',').filter((pair) => pair && !/^[BIW]=/.test(pair));
      this.state.times = [...rest, `I=${half}`, `W=${half}`].join(',');
    }
  }

  stageCount() {
    const answer = this.answers.get(this.names()[0]);
    return answer ? answer.p * answer.v : Number(this.state.p);
  }

  fillStages() {
    if (!this.stagesBox || this.names().length > 1) {
      return;
    }
    const n = this.stageCount(), given = (this.state.stages || '').split(',');
    const uneven = el('input', {type: 'checkbox', id: `uneven-${++controlNumber}`, checked: Boolean(this.state.stages)});
    uneven.addEventListener('change', () => { this.set('stages', uneven.checked ? Array(n).fill('1').join(',') : ''); this.fillStages(); });
    const row = el('div', {class: 'control wide'}, el('label', {for: uneven.id}, 'Unequal stages'), uneven);
    const inputs = this.state.stages && n <= 64 ? range(0, n - 1).map((k) => {
      const input = el('input', {type: 'number', step: '0.1', min: '0', value: given[k] || '1', 'aria-label': `stage ${k}, times as long`});
      input.addEventListener('input', () => this.set('stages', inputs.map((i) => i.value || '1').join(',')));
      return input;
    }) : [];
    this.stagesBox.replaceChildren(row, el('div', {class: 'stages'}, ...inputs));
  }

  compareBox(all) {
    const names = this.names(), choice = el('select', {'aria-label': 'Schedule to add'}, ...all.map((name) => el('option', {value: name}, name)));
    const add = el('button', {type: 'button', onclick: () => { this.set('schedule', [...names, choice.value].join(',')); this.fill(); }}, 'Add');
    const rows = names.slice(1).map((name, k) => el('div', {class: 'tools'}, el('span', {class: 'small'}, name),
      el('button', {type: 'button', 'aria-label': `Remove ${name}`, onclick: () => { this.set('schedule', names.filter((_, i) => i !== k + 1).join(',')); this.fill(); }}, '\u00d7')));
    return el('div', {}, el('h3', {}, 'Beside it'), ...rows, names.length < MOST_STACKED ? el('div', {class: 'tools'}, choice, add) : '');
  }

  exports() {
    const name = () => `${this.names()[0]}-p${this.state.p}-m${this.state.m}`;
    const ask = async (format) => this.core.call('schedule', {...this.question(this.names()[0]), format});
    const give = (format, end, type) => async () => {
      const reply = await ask(format);
      if (reply.error) { announce(reply.error); } else { save(name() + end, reply.text, type); }
    };
    return el('div', {}, el('h3', {}, 'Take it with you'), el('div', {class: 'tools'},
      el('button', {type: 'button', onclick: give('svg', '.svg', 'image/svg+xml')}, 'SVG'),
      el('button', {type: 'button', onclick: give('slots', '.slots', 'text/plain')}, 'Slots'),
      el('button', {type: 'button', onclick: () => save(name() + '.yaml', this.runFile(), 'text/yaml')}, 'Run file')));
  }

  /* The schedule with a small model, to go on with on the command line. */
  runFile() {
    const own = this.state.slots !== undefined, s = this.state, first = this.names()[0];
    const chunks = CHUNKED.includes(first) ? `, chunks: ${s.v}` : '';
    return `# ${own ? 'An order of your own: save its slots beside this file as order.slots.' : `${first}, p = ${s.p}, m = ${s.m}.`}\n` +
      `cluster: {preset: dgx-a100-80g, nodes: ${Math.max(Math.ceil(s.p / 8), 1)}${s.p < 8 ? `, gpus_per_node: ${s.p}` : ''}}\n` +
      `model: {preset: llama-7b, layers: ${4 * this.stageCount()}, sequence: 2048}\n` +
      `layout: {pipeline: ${s.p}, global_batch: ${s.m}}\nschedule: {${own ? 'file: order.slots' : `name: ${first}${chunks}`}}\n`;
  }

  /* ---- questions and answers ---- */

  question(name) {
    const s = this.state, own = s.slots !== undefined;
    return {name: own ? 'your order' : name, text: own ? s.slots.replace(/;/g, '\n') + '\n' : undefined, pipeline: own ? undefined : s.p,
      micro_batches: own ? undefined : s.m, chunks: !own && CHUNKED.includes(name) ? s.v : undefined, group: name === 'interleaved' && !own ? s.group : undefined,
      slices: name === 'seq1f1b' && !own ? s.slices : undefined, times: s.times, stages: this.names().length === 1 ? s.stages : undefined, format: 'json'};
  }

  update() {
    this.asker.put(this.names().map((name) => [name, this.question(name)]));
  }

  async ask(question) {
    return Promise.all(question.map(([, request]) => this.core.call('schedule', request)));
  }

  answer(question, replies, took) {
    const begun = performance.now(), names = question.map(([name]) => name);
    const good = replies.map((reply) => reply.error ? null : JSON.parse(reply.text));
    const end = Math.max(...good.map((a) => a ? a.makespan : 0));
    this.stack.replaceChildren(...names.map((name, k) => this.showOne(name, k, good[k], replies[k], end)));
    if (good[0]) {
      const had = this.stageCount();
      this.answers.set(names[0], good[0]);
      this.showTiles(good[0]);
      this.beside.replaceChildren(this.memoryCard(good[0]), this.bubbleCard(names, good));
      if (this.stageCount() !== had) { this.fillStages(); }
    } else {
      this.tiles.replaceChildren();
      this.beside.replaceChildren();
    }
    this.took = took + performance.now() - begun;
    this.node.dataset.took = this.took.toFixed(1);
    this.node.dataset.ready = String(Number(this.node.dataset.ready || 0) + 1);
  }

  chart(k) {
    if (!this.charts.has(k)) {
      const chart = new Chart('Timeline of the schedule');
      this.charts.set(k, chart);
      if (k === 0) { new Editor(this, chart); } else { chart.canvas.addEventListener('keydown', (event) => chart.key(event)); }
    }
    return this.charts.get(k);
  }

  showOne(name, k, answer, reply, end) {
    const own = this.state.slots !== undefined && k === 0, title = own ? 'Your order' : name;
    const node = el('div', {class: 'stack'}, el('div', {class: 'cardhead'}, el('h2', {}, title), k === 0 ? this.editTools() : ''));
    if (answer === null) {
      node.append(el('div', {class: 'trouble', role: 'alert'}, reply.error.trim()));
      if (this.last && own) { node.append(this.chart(0).canvas); }
      return node;
    }
    const chart = this.chart(k), f = answer.formula;
    if (k === 0) { this.last = answer; }
    node.append(chart.canvas, el('div', {class: 'formula'}, f === null ? `simulated ${round(answer.makespan)}; no formula is published`
      : `${f.expression} = ${round(f.value)}      simulated ${round(answer.makespan)}${f.holds ? '' : '   they differ: the formula is for equal stages and no delay'}`));
    chart.canvas.setAttribute('aria-label', `${title}: ${answer.p} ranks, ${answer.m} micro-batches, makespan ${round(answer.makespan)}, bubble ${share(answer.bubble_fraction)}. Arrow keys go from box to box.`);
    requestAnimationFrame(() => chart.show(answer.ranks.map((rank) => rowOf(rank, answer.p, end)), end, answer.ranks.map((r) => `rank ${r.rank}`), (t) => round(t)));
    if (k === 0) {
      node.append(keyOf([...new Set(answer.ranks.flatMap((r) => r.actions.map((a) => a.replace('(', '')[0])))].map((kind) => [KINDS[kind][0], KINDS[kind][1]]).concat(
        Object.values(CAUSES).map(([words, colour]) => [`Idle: ${words.toLowerCase()}`, colour + '48']))), this.details(answer));
    }
    return node;
  }

  details(answer) {
    return el('details', {}, el('summary', {}, 'The same as a table'), table(['rank', 'busy', 'fill', 'stall', 'drain', 'held to I', 'held to W', 'order'],
      answer.ranks.map((r) => [r.rank, round(r.busy), round(r.fill), round(r.stall), round(r.drain), r.peak_rel_I, r.peak_rel_W, r.actions.join(' ')])));
  }

  showTiles(a) {
    const held = Math.max(...a.ranks.map((r) => r.peak_rel_W));
    this.tiles.replaceChildren(tile('Step', round(a.makespan), 'units of time'), tile('Bubble', share(a.bubble_fraction), 'of the step'),
      tile('Over ideal', share(a.bubble_over_ideal), 'idle over work'), tile('Rank span', round(a.max_rank_span), 'first to last pass'),
      tile('Held at most', String(held), a.v > 1 ? 'pieces on a rank' : 'micro-batches on a rank'), tile('Messages', String(a.messages), a.weight_copies > 1 ? `${a.weight_copies} copies of weights` : ''));
  }

  memoryCard(a) {
    const most = Math.max(...a.ranks.map((r) => Math.max(r.peak_rel_I, r.peak_rel_W)), 1);
    return el('section', {class: 'card'}, el('h2', {}, 'Memory'), el('p', {class: 'small'}, `Most ${a.v > 1 ? 'pieces (micro-batch x chunk)' : 'micro-batches'} whose activations a rank holds`),
      el('div', {class: 'measure'}, ...a.ranks.flatMap((r) => [el('span', {}, `rank ${r.rank}`), bar([[r.peak_rel_W / most, '#f0b35a', `until W: ${r.peak_rel_W}`]]),
        el('b', {}, r.peak_rel_I === r.peak_rel_W ? String(r.peak_rel_W) : `${r.peak_rel_W} (${r.peak_rel_I} if freed after I)`)])));
  }

  bubbleCard(names, answers) {
    const shown = answers.map((a, k) => [names[k], a]).filter(([, a]) => a), most = Math.max(...shown.map(([, a]) => a.bubble_fraction), 1e-9);
    const mean = (a, cause) => a.ranks.reduce((sum, r) => sum + r[cause], 0) / a.ranks.length / a.makespan;
    return el('section', {class: 'card'}, el('h2', {}, 'Bubble by cause'), el('p', {class: 'small'}, 'Share of the step in which a rank idles, mean over ranks: before its first pass, between, behind its last'),
      el('div', {class: 'measure'}, ...shown.flatMap(([name, a]) => [el('span', {}, name),
        bar(Object.entries(CAUSES).map(([cause, [words, colour]]) => [mean(a, cause) / most, colour, `${words} ${share(mean(a, cause))}`])), el('b', {}, share(a.bubble_fraction))])),
      keyOf(Object.entries(CAUSES).map(([cause, [words, colour]]) => [`${words} ${shown.length === 1 ? share(mean(shown[0][1], cause)) : ''}`, colour])));
  }

  editTools() {
    const own = this.state.slots !== undefined;
    return el('div', {class: 'tools'}, el('span', {class: 'small'}, own ? 'Drag boxes; Shift + arrow moves the selected one' : ''),
      own ? el('button', {type: 'button', disabled: this.history.length === 0, onclick: () => this.undo()}, 'Undo') : '',
      el('button', {type: 'button', 'aria-pressed': String(own), onclick: () => this.edit(!own)}, own ? 'Back to ' + this.names()[0] : 'Edit the order'));
  }

  edit(begin) {
    this.history = [];
    this.set('slots', begin && this.last ? slotsText(this.last.ranks.map((r) => r.actions)).trim().replace(/\n/g, ';') : '');
  }

  undo() {
    this.set('slots', this.history.pop());
  }

  /* The slot at `from` of a rank goes to `to`. */
  move(rank, from, to) {
    const lines = this.state.slots.split(';').map((line) => line.replace(/^rank \d+: /, '').split(' '));
    const [slot] = lines[rank].splice(from, 1);
    lines[rank].splice(to, 0, slot);
    this.history.push(this.state.slots);
    this.set('slots', slotsText(lines).trim().replace(/\n/g, ';'));
  }
}

/* Drags boxes of the first chart to another place in their rank's order. */
class Editor {
  constructor(room, chart) {
    Object.assign(this, {room, chart, held: null});
    chart.canvas.addEventListener('pointerdown', (event) => this.take(event));
    chart.canvas.addEventListener('pointerup', (event) => this.drop(event));
    chart.canvas.addEventListener('pointercancel', () => { this.held = null; });
    chart.canvas.addEventListener('keydown', (event) => this.key(event));
  }

  editing() {
    const on = this.room.state.slots !== undefined;
    this.chart.canvas.classList.toggle('editing', on);
    return on;
  }

  take(event) {
    const at = this.chart.hit(event);
    if (at && at.box >= 0) {
      this.chart.select(at.row, at.box, true);
      if (this.editing()) {
        this.held = at;
        this.chart.canvas.setPointerCapture(event.pointerId);
      }
    }
  }

  /* It goes before the first slot whose middle is behind the pointer. */
  drop(event) {
    const held = this.held, at = held && this.chart.hit(event);
    this.held = null;
    if (!at || at.row !== held.row) {
      return;
    }
    const boxes = this.chart.rows[held.row].boxes, from = boxes[held.box].slot;
    const others = boxes.filter((b) => !b.part && b.slot !== from);
    const to = others.filter((b) => b.start + b.dur / 2 < at.time).length;
    if (to !== from) {
      this.room.move(held.row, from, to);
    }
  }

  key(event) {
    const at = this.chart.selected;
    if (event.shiftKey && at && this.editing() && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
      const boxes = this.chart.rows[at.row].boxes, from = boxes[at.box].slot, to = from + (event.key === 'ArrowLeft' ? -1 : 1);
      event.preventDefault();
      if (to >= 0 && boxes.some((b) => b.slot === to)) {
        this.chart.select(at.row, boxes.findIndex((b) => b.slot === to));
        this.room.move(at.row, from, to);
      }
      return;
    }
    this.chart.key(event);
  }
}
