/* model.js - the room of a whole model on a cluster: keys of a run file by sliders, a step simulated in the
 * Worker, its timeline, where its time goes, memory that overflows where one sees it. */

const MODEL_DEFAULTS = {'model.preset': 'llama-13b', 'model.sequence': '2048', 'cluster.preset': 'dgx-a100-80g', 'cluster.nodes': '2', 'layout.tensor': '1',
  'layout.pipeline': '4', 'layout.micro_batch': '1', 'layout.global_batch': '64', 'layout.zero': '1', 'schedule.name': '1f1b'};
const POWERS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const SPENT = {compute_forward: ['forward', '#7ec894'], compute_backward: ['backward', '#4387fd'], recompute: ['recomputation', '#99ee66'],
  optimizer: ['optimizer', '#0da861'], compute_other: ['other', '#999999'], exposed_tensor: ['waits: tensor', '#ff8c00'], exposed_pipeline: ['waits: messages', '#b67d8f'],
  exposed_data: ['waits: data', '#c79b7d'], exposed_context: ['waits: context', '#ffa733'], exposed_expert: ['waits: experts', '#f44a3f'],
  exposed_offload: ['waits: offload', '#4e9bb9'], bubble_fill: ['bubble: fill', '#8e7cc3'], bubble_stall: ['bubble: stall', '#d9534f'], bubble_drain: ['bubble: drain', '#6b8fa3']};
const HELD = {weights: '#5b7fb4', 'expert weights': '#5b7fb4', gradients: '#8fb0d9', 'expert gradients': '#8fb0d9', optimizer: '#3f9f7f', 'expert optimizer': '#3f9f7f', activations: '#f0b35a'};
const PASSES = {'compute.forward': '#7ec894', 'compute.backward': '#4387fd', 'compute.dgrad': '#85a0d2', 'compute.wgrad': '#f2e14c', 'compute.recompute': '#99ee66', optimizer: '#0da861'};
const GIB = 2 ** 30;

/* Spans of each rank's computation, a box for each pass, of the columns of tasks. */
function passesOf(tasks, stream) {
  const rows = new Map();
  for (let i = 0; i < tasks.n; i++) {
    if (tasks.stream[i] !== stream) {
      continue;
    }
    const rank = tasks.rank[i], category = tasks.category_names[tasks.category[i]], colour = PASSES[category];
    if (!colour) {
      continue;
    }
    if (!rows.has(rank)) {
      rows.set(rank, {stage: tasks.stage[i], boxes: [], idle: []});
    }
    const row = rows.get(rank), last = row.boxes[row.boxes.length - 1], start = tasks.start_ps[i], end = start + tasks.dur_ps[i];
    if (last && last.pass === tasks.pass[i] && last.colour === colour) {
      last.dur = end - last.start;
    } else {
      row.boxes.push({start, dur: end - start, colour, pass: tasks.pass[i], name: category === 'optimizer' ? '' : String(tasks.micro_batch[i]), category, micro: tasks.micro_batch[i], stage: tasks.stage[i]});
    }
  }
  for (const row of rows.values()) {
    row.boxes.forEach((b) => { b.words = `${b.category.replace('compute.', '')} of micro-batch ${b.micro}, stage ${b.stage}\n${seconds(b.start)} + ${seconds(b.dur)}`; });
  }
  return rows;
}

class ModelRoom {
  constructor(core, state, changed, small) {
    Object.assign(this, {core, changed, small});
    this.state = small || Object.keys(state).length > 0 ? {...state} : {...MODEL_DEFAULTS};
    this.asker = new Asker((text) => this.ask(text), (text, reply, took) => this.answer(reply, took));
    this.chart = new Chart('Timeline of the step');
    this.chart.canvas.addEventListener('keydown', (event) => this.chart.key(event));
    this.panel = el('div', {class: small ? 'controls' : 'card controls'});
    this.main = el('div', {});
    this.node = el('div', {class: 'room'}, this.panel, this.main);
    this.fill();
    this.update();
  }

  set(key, value) {
    if (value === '') {
      delete this.state[key];
    } else {
      this.state[key] = value;
    }
    this.changed({...this.state});
    this.update();
  }

  fill() {
    const of = (key) => this.state[key] || '', put = (key) => (value) => this.set(key, value);
    const some = (values, key) => [...new Set([...values.map(String), of(key)].filter(Boolean))].sort((a, b) => a - b);
    const choice = (label, key, words, title) => control(label, {words: [...new Set([...words, of(key)])], title}, of(key), put(key));
    const slider = (label, key, values, title) => control(label, {values: some(values, key), title}, of(key) || String(values[0]), put(key));
    this.panel.replaceChildren(this.small ? '' : el('h2', {}, 'Job'),
      choice('Cluster', 'cluster.preset', this.core.clusters), slider('Nodes', 'cluster.nodes', POWERS.slice(0, 9)),
      choice('Model', 'model.preset', this.core.models), slider('Sequence', 'model.sequence', [512, 1024, 2048, 4096, 8192, 16384, 32768], 'tokens'),
      slider('Tensor', 'layout.tensor', POWERS.slice(0, 5)), slider('Pipeline', 'layout.pipeline', POWERS.slice(0, 6)),
      slider('Micro-batch', 'layout.micro_batch', POWERS.slice(0, 5), 'sequences'), slider('Global batch', 'layout.global_batch', POWERS.slice(2), 'sequences a step'),
      slider('ZeRO', 'layout.zero', [0, 1, 2, 3]), choice('Recompute', 'layout.recompute', ['none', 'selective', 'ffn', 'full']),
      control('Sequence parallel', {check: true}, of('layout.sequence_parallel'), put('layout.sequence_parallel')),
      choice('Schedule', 'schedule.name', this.core.schedules), ...this.more(), this.small ? '' : this.exports());
  }

  /* Keys that have no slider here, and room for any other. */
  more() {
    const known = /^(cluster\.(preset|nodes)|model\.(preset|sequence)|layout\.(tensor|pipeline|micro_batch|global_batch|zero|recompute|sequence_parallel)|schedule\.name)$/;
    const rows = Object.keys(this.state).filter((key) => !known.test(key)).map((key) => control(key, {}, this.state[key], (value) => { this.set(key, value); this.fill(); }));
    const line = el('input', {type: 'text', placeholder: 'cluster.nic_bandwidth = 25 Gb/s', 'aria-label': 'Another key and its value', spellcheck: 'false'});
    line.addEventListener('change', () => {
      const at = line.value.search(/[=:]/);
      if (at > 0) {
        this.set(line.value.slice(0, at).trim(), line.value.slice(at + 1).trim());
        this.fill();
      }
    });
    return [...rows, el('div', {}, el('h3', {}, 'Any other key'), line)];
  }

  exports() {
    return el('div', {}, el('h3', {}, 'Take it with you'), el('div', {class: 'tools'},
      el('button', {type: 'button', onclick: () => save('run.yaml', runFile(this.state), 'text/yaml')}, 'Run file'),
      el('button', {type: 'button', onclick: async () => {
        const reply = await this.core.call('trace', {text: runFile(this.state), format: 'chrome', ranks: 'one-per-stage'});
        if (reply.bytes) { save('step.json', reply.bytes, 'application/json'); }
      }}, 'Chrome trace')));
  }

  update() {
    this.asker.put(runFile(this.state));
  }

  async ask(text) {
    const tasks = await this.core.call('tasks', {text, name: 'run.yaml', ranks: 'one-per-stage'});
    return tasks.error ? tasks : {tasks: tasks.tasks, run: await this.core.call('run', {text, name: 'run.yaml', format: 'json'})};
  }

  answer(reply, took) {
    const error = reply.error || reply.run.error;
    if (error) {
      this.main.replaceChildren(el('div', {class: 'trouble', role: 'alert'}, error.trim()));
      this.done(took);
      return;
    }
    const begun = performance.now(), r = JSON.parse(reply.run.text), stream = reply.tasks.stream_names.indexOf('compute');
    const rows = [...passesOf(reply.tasks, stream).entries()].sort((a, b) => a[1].stage - b[1].stage || a[0] - b[0]);
    this.main.replaceChildren(this.tiles(r), el('section', {class: this.small ? '' : 'card'}, el('div', {class: 'cardhead'}, el('h2', {}, 'Timeline'), el('span', {class: 'small'}, 'computation of one GPU of each stage; gaps are waiting')), this.chart.canvas),
      el('div', {class: 'pair'}, this.timeCard(r), this.memoryCard(r)));
    this.chart.canvas.setAttribute('aria-label', `A step of ${secs(r.step_time_s)}, one row for a GPU of each of ${rows.length} stages. Arrow keys go from pass to pass.`);
    const end = Math.max(...rows.map(([, row]) => { const last = row.boxes[row.boxes.length - 1]; return last.start + last.dur; }), 0);
    requestAnimationFrame(() => this.chart.show(rows.map(([, row]) => row), end, rows.map(([, row]) => `stage ${row.stage}`), (t) => seconds(t)));
    this.done(took + performance.now() - begun);
  }

  done(took) {
    this.took = took;
    this.node.dataset.took = took.toFixed(1);
    this.node.dataset.ready = String(Number(this.node.dataset.ready || 0) + 1);
  }

  tiles(r) {
    const peak = Math.max(...r.memory.peak_bytes), fits = r.fits;
    return el('div', {class: 'tiles'}, tile('Step', secs(r.step_time_s), 'one optimizer step'), tile('MFU', share(r.mfu), `${r.model_tflops_per_gpu.toFixed(0)} TFLOP/s a GPU`),
      tile('Throughput', count(r.tokens_per_s), 'tokens a second'), tile('Bubble', share(r.bubble_fraction), 'of the step'),
      tile('Fullest GPU', bytes(peak), fits ? `of ${bytes(r.memory.capacity_bytes)}: fits` : `of ${bytes(r.memory.capacity_bytes)}: does not fit`, fits ? '' : 'bad'));
  }

  timeCard(r) {
    const parts = Object.entries(r.breakdown).filter(([, s]) => s > 5e-4 * r.step_time_s);
    return el('section', {class: 'card'}, el('h2', {}, 'Where the time goes'), el('p', {class: 'small'}, 'of a step, mean over GPUs'),
      bar(parts.map(([key, s]) => [s / r.step_time_s, (SPENT[key] || [key, '#999'])[1], `${(SPENT[key] || [key])[0]} ${secs(s)}`])),
      el('div', {class: 'measure'}, ...parts.flatMap(([key, s]) => [el('span', {}, (SPENT[key] || [key])[0]), bar([[s / Math.max(...parts.map(([, x]) => x)), (SPENT[key] || [key, '#999'])[1]]]), el('b', {}, `${secs(s)}  ${share(s / r.step_time_s)}`)])));
  }

  memoryCard(r) {
    const capacity = r.memory.capacity_bytes, most = Math.max(capacity, ...r.memory.peak_bytes) * 1.02, full = r.memory.largest;
    const overflow = (peak) => peak > capacity ? [[capacity / most, '#f0b35a'], [(peak - capacity) / most, '#d5281c', `${bytes(peak - capacity)} too much`]] : [[peak / most, '#f0b35a']];
    return el('section', {class: 'card'}, el('h2', {}, 'Memory of a GPU'), el('p', {class: 'small'}, `at its fullest moment; there are ${bytes(capacity)} (dashed)`),
      el('div', {class: 'measure'}, ...r.memory.peak_bytes.flatMap((peak, stage) => [el('span', {}, `stage ${stage}`), bar(overflow(peak), capacity / most), el('b', {class: peak > capacity ? 'bad' : ''}, bytes(peak))])),
      el('p', {class: 'small', style: 'margin-top:.6rem'}, `Stage ${full.stage} holds`), el('div', {class: 'measure'}, ...full.what.filter(([, b]) => b > 1e8).flatMap(([what, b]) =>
        [el('span', {}, what), bar([[b / most, HELD[what] || '#b9b9c6']]), el('b', {}, bytes(b))])));
  }
}
