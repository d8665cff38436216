/* model.js - the room of a model on a cluster: keys of a run file, most of them on sliders, simulated in a
 * Worker while the page stays alive. Keys that have no slider come by the address or by name. */

const POWERS = (to) => Array.from({length: Math.log2(to) + 1}, (unused, i) => 2 ** i);
const MODEL_USUAL = [['model.preset', 'llama-30b'], ['cluster.preset', 'dgx-a100-80g'], ['cluster.nodes', '32'],
  ['layout.tensor', '4'], ['layout.pipeline', '4'], ['layout.micro_batch', '1'], ['layout.global_batch', '512'], ['layout.zero', '1'],
  ['layout.recompute', 'none'], ['schedule.name', '1f1b']];
const BUCKET_KEYS = {compute_forward: 'compute.forward', compute_backward: 'compute.backward', recompute: 'compute.recompute'};
const BAND = 30; /* height of a stage in the timeline */

/* The same keys by sections, as a file. */
function runFileOf(keys) {
  const sections = new Map();
  for (const [key, value] of keys) {
    const at = key.indexOf('.'), section = key.slice(0, at);
    sections.set(section, `${sections.get(section) || ''}  ${key.slice(at + 1)}: ${value}\n`);
  }
  return [...sections].map(([section, lines]) => `${section}:\n${lines}`).join('');
}

class ModelRoom {
  constructor(core, opened, changed) {
    this.core = core; /* of this thread, for catalogues */
    this.opened = opened; /* a promise of the one in the Worker */
    this.changed = changed;
    this.keys = new Map(MODEL_USUAL);
    this.tasks = null;
    this.form();
    $('m-save').addEventListener('click', () => save('run.yaml', runFileOf(this.keys), 'text/plain'));
    new ResizeObserver(() => this.timeline()).observe($('m-canvas').parentElement);
  }

  form() {
    const set = (key) => (value) => this.change(key, String(value));
    const choose = (key, label, choices) => [key, picker(`m-${key}`, label, choices, set(key))];
    const slide = (key, label, values) => [key, slider(`m-${key}`, label, values, set(key))];
    const words = (text) => text.split(' ').map((value) => ({value}));
    this.fields = new Map([
      choose('model.preset', 'Model', listed(this.core, 'models')),
      choose('cluster.preset', 'Cluster', listed(this.core, 'clusters')),
      choose('cluster.gpu', 'GPU', [{value: '', text: 'as the cluster has'}, ...listed(this.core, 'gpus')]),
      slide('cluster.nodes', 'Nodes', [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128]),
      slide('layout.tensor', 'Tensor', POWERS(16)),
      slide('layout.pipeline', 'Pipeline', [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32]),
      slide('layout.context', 'Context', POWERS(16)),
      slide('layout.expert', 'Experts', POWERS(64)),
      slide('layout.micro_batch', 'Micro-batch', [1, 2, 3, 4, 6, 8, 16]),
      slide('layout.global_batch', 'Global batch', POWERS(8192).slice(3)),
      slide('layout.zero', 'ZeRO', [0, 1, 2, 3]),
      choose('layout.recompute', 'Recomputation', words('none ffn selective full')),
      choose('schedule.name', 'Schedule', listed(this.core, 'schedules')),
    ]);
    const key = make('input', {type: 'text', placeholder: 'model.sequence: 4096', 'aria-label': 'Another key and its value'});
    const add = () => {
      const found = /^\s*([a-z_]+\.[a-z_0-9.]+)\s*[:=]\s*(.*?)\s*$/.exec(key.value);
      if (found) {
        key.value = '';
        this.change(found[1], found[2]);
      }
    };
    key.addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); add(); } });
    this.others = make('div', {class: 'tools'});
    $('m-form').append(...[...this.fields.values()].map((field) => field.root), make('fieldset', {},
      make('legend', {}, 'Any other key of a run file'), this.others, make('div', {class: 'tools'}, key, make('button', {type: 'button', click: add}, 'Set'))));
    $('m-form').addEventListener('submit', (event) => event.preventDefault());
  }

  change(key, value) {
    if (value === '') {
      this.keys.delete(key);
    } else {
      this.keys.set(key, value);
    }
    this.update();
  }

  open(pairs) {
    this.keys = keysOf(pairs, MODEL_USUAL);
    this.update();
  }

  address() {
    return addressFrom([...this.keys]);
  }

  controls() {
    const usual = {'cluster.gpu': '', 'layout.recompute': 'none', 'schedule.name': '1f1b'};
    for (const [key, field] of this.fields) {
      const said = this.keys.get(key), whole = /^\d+$/.test(said);
      field.show(field.select ? said || usual[key] || '' : whole ? Number(said) : key === 'layout.zero' ? 0 : 1);
    }
    this.others.replaceChildren(...[...this.keys].filter(([key]) => !this.fields.has(key)).map(([key, value]) => make('button',
      {type: 'button', title: 'Remove', 'aria-label': `Remove ${key}`, click: () => this.change(key, '')}, `${key}: ${value} ×`)));
  }

  /* The last state that was asked for is simulated; what was asked for while the Worker was at work and
   * has changed again is not. */
  async update() {
    this.controls();
    this.wanted = runFileOf(this.keys);
    if (this.busy) {
      return;
    }
    this.busy = true;
    try {
      const worker = await this.opened();
      for (let text = null; text !== this.wanted;) {
        text = this.wanted;
        const began = performance.now();
        const tasks = await worker.call('tasks', {text, ranks: 'one-per-stage'});
        const report = tasks.error ? tasks : await worker.call('run', {text, format: 'brief'});
        this.took = performance.now() - began;
        if (text === this.wanted) {
          this.show(tasks, report);
        }
      }
    } finally {
      this.busy = false;
    }
  }

  show(tasks, report) {
    $('m-trouble').hidden = !report.error;
    $('m-trouble').textContent = report.error || '';
    document.querySelector('#model .view').classList.toggle('stale', Boolean(report.error));
    if (!report.error) {
      this.report = JSON.parse(report.text);
      this.tasks = tasks.tasks;
      this.tiles(this.report);
      this.memory(this.report.memory);
      this.where(this.report);
      this.timeline();
    }
    this.changed(report.error ? '' : `${this.report.gpus} GPUs, ${this.report.tasks.toLocaleString('en')} tasks: simulated in ${this.took.toFixed(0)} ms on this computer.`);
  }

  tiles(r) {
    const ratio = Math.max(...r.memory.peak_bytes.map((peak, i) => peak / r.memory.stage_capacity_bytes[i]));
    $('m-tiles').replaceChildren(
      tile('Step', seconds(r.step_time_s), `${r.gpus} GPUs`),
      tile('MFU', percent(r.mfu), `${r.model_tflops_per_gpu.toFixed(1)} TFLOP/s per GPU`),
      tile('Tokens a second', Math.round(r.tokens_per_s).toLocaleString('en'), `${Math.round(r.tokens_per_s_per_gpu).toLocaleString('en')} per GPU`),
      tile('Pipeline bubble', percent(r.bubble_fraction), 'of the step, mean over GPUs'),
      tile('Fullest GPU', percent(ratio, 0), {fits: 'fits', tight: 'tight: below 5 % is free'}[r.memory.verdict] || 'does not fit', r.fits ? '' : 'bad'),
      ...(r.expert_imbalance > 1 ? [tile('Fullest expert rank', r.expert_imbalance.toFixed(2), 'times the mean of its group')] : []));
  }

  memory(m) {
    const far = 1.03 * Math.max(...m.peak_bytes, ...m.stage_capacity_bytes), share = (bytes) => `${100 * bytes / far}%`;
    const rows = m.peak_bytes.flatMap((peak, i) => {
      const most = m.stage_capacity_bytes[i], over = peak > most;
      return [make('span', {}, `stage ${i}`), make('div', {class: 'track', 'aria-hidden': 'true'},
        make('div', {class: 'fill', style: `width: ${share(Math.min(peak, most))}`}),
        ...(over ? [make('div', {class: 'over', style: `left: ${share(most)}; width: ${share(peak - most)}`})] : []),
        make('div', {class: 'limit', style: `left: ${share(most)}`})),
      make('b', {class: over ? 'bad' : ''}, over ? `${gibibytes(peak)}, ${gibibytes(peak - most)} too many` : gibibytes(peak))];
    });
    const what = table(`Memory of stage ${m.largest.stage}, the fullest. A GPU has ${gibibytes(m.capacity_bytes)} to use.`, ['what', 'GiB'],
      m.largest.what.map(([name, bytes]) => [name, (bytes / 2 ** 30).toFixed(2)]));
    const remedies = make('div', {class: 'remedies'}, make('button', {type: 'button', click: () => this.remedies(remedies)}, 'What would fit?'));
    $('m-memory').replaceChildren(make('div', {class: 'memory'}, ...rows),
      ...(m.verdict === 'fits' ? [] : [remedies]),
      make('details', {}, make('summary', {class: 'small'}, 'What is in it'), what));
  }

  /* Plans many other layouts, which takes longer than the step: only where somebody asks. */
  async remedies(place) {
    place.textContent = 'Trying…';
    const worker = await this.opened(), reply = await worker.call('run', {text: this.wanted});
    const found = reply.error ? [] : JSON.parse(reply.text).memory.would_fit || [];
    place.replaceChildren(make('span', {class: 'small'}, found.length > 0 ? 'Would fit:' : 'No single change would make it fit.'), ...found.slice(0, 6).map((one) => make('button',
      {type: 'button', click: () => this.apply(one.set)}, `${one.set.join(', ')}: ${gibibytes(one.peak_bytes)}`)));
  }

  apply(sets) {
    sets.forEach((set) => {
      const at = set.indexOf('=');
      this.keys.set(set.slice(0, at), set.slice(at + 1));
    });
    this.update();
  }

  where(r) {
    const parts = Object.entries(r.breakdown).filter(([, s]) => s > 0).map(([name, s]) => {
      const key = BUCKET_KEYS[name] || name;
      return {key: LOOKS[key] ? key : 'compute.other', words: LOOKS[key] ? LOOKS[key][0] : name.replace(/_/g, ' '), s};
    });
    const box = ({key}) => make('i', {style: `display: inline-block; width: 14px; height: 11px; border-radius: 3px; margin-right: .5rem; background: ${LOOKS[key] ? colours.css(key) : '#999999'}`});
    $('m-where').replaceChildren(make('div', {class: 'shares', 'aria-hidden': 'true'}, ...parts.map((part) => make('span',
      {style: `width: ${100 * part.s / r.step_time_s}%; background: ${LOOKS[part.key] ? colours.css(part.key) : '#999999'}`, title: part.words}))),
    table('', ['', 'time', 'of the step'], parts.map((part) => [make('th', {scope: 'row'}, box(part), part.words), seconds(part.s), percent(part.s / r.step_time_s, 2)])));
  }

  /* A band for each stage: computation above, communication below; tasks that lie side by side and look
   * alike are one box. */
  timeline() {
    const {tasks} = this;
    if (!tasks || $('m-canvas').clientWidth === 0) {
      return;
    }
    const zoom = zoomOf($('m-canvas').clientWidth), band = BAND * zoom, step = band + 6, gutter = GUTTER * zoom;
    const ranks = [...new Set(tasks.rank)], high = ranks.length * step + AXIS * zoom;
    const {context: c, width} = canvasOf($('m-canvas'), high);
    let end = 0;
    for (let i = 0; i < tasks.n; i++) { end = Math.max(end, tasks.start_ps[i] + tasks.dur_ps[i]); }
    const scale = (width - gutter - 6) / end, used = new Set(), open = new Map();
    const look = tasks.category_names.map((name) => (LOOKS[name] ? name : null));
    const flush = ({row, from, to, key, low}) => {
      c.fillStyle = colours.fill(c, key, 0);
      c.fillRect(gutter + from * scale, row * step + (low ? band * 0.7 : 0), Math.max(0.4, (to - from) * scale), low ? band * 0.3 : band * 0.7 - 1);
    };
    for (let i = 0; i < tasks.n; i++) {
      const key = look[tasks.category[i]], row = ranks.indexOf(tasks.rank[i]), from = tasks.start_ps[i], to = from + tasks.dur_ps[i];
      if (key !== null && to > from) {
        const lane = row * 64 + tasks.stream[i], last = open.get(lane);
        used.add(key);
        if (last && last.key === key && from >= last.from && (from - last.to) * scale < 0.4) {
          last.to = Math.max(last.to, to);
        } else {
          if (last) { flush(last); }
          open.set(lane, {row, from, to, key, low: key.startsWith('comm.') || key === 'offload'});
        }
      }
    }
    open.forEach(flush);
    c.font = `${12 * zoom}px system-ui, sans-serif`;
    c.fillStyle = colourOf('--soft');
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    ranks.forEach((rank, row) => c.fillText(`stage ${row}`, 0, row * step + band / 2));
    c.textAlign = 'center';
    for (const ms of ticks(end * 1e-9, (width - gutter) / (110 * zoom))) {
      c.fillText(ms >= 1000 || end > 2e12 ? `${number(ms / 1000)} s` : `${number(ms)} ms`, gutter + ms * 1e9 * scale, high - 8 * zoom);
    }
    $('m-legend').replaceChildren(...legend([...used]));
    $('m-said').textContent = `One GPU of each stage, from 0 to ${seconds(end * 1e-12)}: computation above, communication below it.`;
    $('m-canvas').setAttribute('aria-label', `Timeline of one GPU of each of ${ranks.length} stages; the table of shares says where the step goes.`);
  }
}
