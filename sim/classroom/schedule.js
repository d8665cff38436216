/* schedule.js - the room of schedules: what is chosen, asked of the core at every move of a slider, and drawn
 * as timeline, formula, figures and a row for every rank. */

const TIME_WORDS = {F: 'Forward', B: 'Backward', I: 'Input grad.', W: 'Weight grad.', FB: 'Overlapped', C: 'Message'};
const PIPELINES = [2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32];
const MICRO_BATCHES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256];
const SMALL = [1, 2, 3, 4, 5, 6, 7, 8];
const RUN_MODEL = {preset: 'llama-13b', layers: 40, sequence: 2048};
const USUAL = {schedule: '1f1b', p: 4, m: 8, v: 0, group: 0, slices: 0, times: {}, stages: [], with: [], slots: ''};

function timesFrom(text) {
  return Object.fromEntries(text.split(',').filter((part) => part.includes('=')).map((part) => part.split('=')));
}

const timesText = (times) => Object.entries(times).filter(([, value]) => value !== '').map(([key, value]) => `${key}=${value}`).join();

function scheduleFrom(pairs) {
  const said = new Map(pairs), whole = (key) => (/^\d+$/.test(said.get(key)) ? Number(said.get(key)) : USUAL[key]);
  const list = (key) => (said.get(key) || '').split(',').filter((word) => word !== ''), names = list('schedule');
  return {
    schedule: names[0] || USUAL.schedule, p: whole('p'), m: whole('m'), v: whole('v'), group: whole('group'),
    slices: whole('slices'), times: timesFrom(said.get('times') || ''), stages: list('stages'), with: names.slice(1),
    slots: (said.get('slots') || '').split(';').join('\n'),
  };
}

function scheduleAddress(s) {
  return addressFrom([['schedule', [s.schedule, ...s.with].join()], ['p', s.p], ['m', s.m], ['v', s.v || ''], ['group', s.group || ''],
    ['slices', s.slices || ''], ['times', timesText(s.times)], ['stages', s.stages.join()],
    ['slots', s.slots.trim().split('\n').join(';')]]);
}

class ScheduleRoom {
  constructor(core, changed) {
    this.core = core;
    this.changed = changed;
    this.s = {...USUAL};
    this.brought = {name: '', slots: ''}; /* an order that the page came with */
    this.catalogue = listed(core, 'schedules');
    this.chart = new Chart($('s-canvas'));
    this.lane = null;
    this.form();
    this.menus();
    this.editor = new Editor(this);
    $('s-passes').addEventListener('toggle', () => this.passes());
    new ResizeObserver(() => this.chart.draw()).observe($('s-canvas').parentElement);
  }

  /* What is asked of the core about a schedule; `cut` divides the times, for one whose stages are shorter. */
  request(name, more, cut = 1) {
    const {s} = this, times = {...s.times};
    for (const key of Object.keys(times)) {
      times[key] = key === 'C' || times[key] === '' ? times[key] : times[key] / cut;
    }
    if (cut !== 1) {
      Object.assign(times, {F: times.F || 1 / cut, B: times.B || (times.I || times.W ? undefined : 2 / cut)});
    }
    const given = Object.fromEntries(Object.entries(times).filter(([, value]) => value !== undefined));
    return {name, pipeline: s.p, micro_batches: s.m, times: timesText(given) || null, ...more};
  }

  shape() {
    const {s} = this;
    return {chunks: s.v || null, group: s.group || null, slices: s.slices || null, stages: s.stages.length > 0 ? s.stages.join() : null};
  }

  /* The order before it was edited, where it is not that of a schedule. */
  get opened() {
    return this.s.schedule === this.brought.name ? this.brought.slots : '';
  }

  get name() {
    return this.s.slots === this.opened ? this.s.schedule : `${this.s.schedule}, edited`;
  }

  own(format) {
    const {s} = this;
    return this.request(this.name, s.slots
      ? {text: s.slots, pipeline: null, micro_batches: null, stages: this.shape().stages, format}
      : {...this.shape(), format});
  }

  /* Of others that do the same work: a whole stage's times, which each works through in pieces of its own. */
  shared(names, more) {
    return this.request(names, {...this.shape(), ...more}, 1 / this.lane.pieces);
  }

  form() {
    const set = (key) => (value) => this.change({[key]: value, slots: ''});
    this.fields = {
      schedule: picker('s-name', 'Schedule', this.catalogue.map(({value, note}) => ({value, note})),
        (schedule) => this.change({schedule, v: 0, group: 0, slices: 0, slots: schedule === this.brought.name ? this.brought.slots : '', stages: []})),
      p: slider('s-p', 'Pipeline ranks p', PIPELINES, set('p')),
      m: slider('s-m', 'Micro-batches m', MICRO_BATCHES, set('m')),
      v: slider('s-v', 'Chunks per rank v', SMALL, set('v')),
      group: slider('s-group', 'Micro-batches in a group', [], set('group')),
      slices: slider('s-slices', 'Slices of a sequence', SMALL, set('slices')),
    };
    this.times = Object.fromEntries(Object.keys(TIME_WORDS).map((key) => [key, make('input', {type: 'number', min: 0, step: 0.25,
      id: `s-time-${key}`, input: (event) => this.change({times: {...this.s.times, [key]: event.target.value}})})]));
    const times = make('fieldset', {}, make('legend', {}, 'Time of a pass, and of a message'), make('div', {class: 'numbers'},
      ...Object.entries(this.times).map(([key, input]) => make('label', {}, TIME_WORDS[key], input))));
    this.uneven = make('input', {type: 'checkbox', id: 's-uneven', change: () => this.change({stages: this.uneven.checked ? this.even() : []})});
    this.factors = make('div', {class: 'numbers'});
    const stages = make('fieldset', {}, make('label', {class: 'small'}, this.uneven, ' Uneven stages'), this.factors);
    $('s-form').append(...Object.values(this.fields).map((field) => field.root), times, stages);
    $('s-form').addEventListener('submit', (event) => event.preventDefault());
  }

  even() {
    return Array.from({length: this.lane.p * this.lane.v}, () => '1');
  }

  menus() {
    $('s-with').lastElementChild.append(...this.catalogue.map(({value: name}) => make('label', {}, make('input', {type: 'checkbox', value: name, change: () => {
      this.change({with: [...$('s-with').querySelectorAll('input:checked')].map((box) => box.value)});
    }}), name)));
    const item = (words, act) => make('button', {type: 'button', click: () => { $('s-save').open = false; act(); }}, words);
    $('s-save').lastElementChild.append(
      item('Picture, SVG', () => this.exports('svg', 'image/svg+xml')),
      item('Order, slots', () => this.exports('slots', 'text/plain')),
      item('Figures, JSON', () => this.exports('json', 'application/json')),
      item('Run file, YAML', () => this.exports('yaml', 'text/plain')));
    document.addEventListener('click', (event) => {
      document.querySelectorAll('details.menu').forEach((menu) => { menu.open = menu.open && menu.contains(event.target); });
    });
  }

  exports(format, type) {
    const {s} = this, several = format === 'svg' && s.with.length > 0 && !s.slots, yaml = format === 'yaml';
    const reply = several
      ? this.core.call('compare', this.shared([s.schedule, ...s.with].join(), {format}))
      : this.core.call('schedule', this.own(yaml ? 'slots' : format));
    if (reply.status === 0) {
      save(`${s.schedule.replace(/\.\w+$/, '')}.${format}`, yaml ? this.runFile(reply.text) : reply.text, type);
    }
    this.trouble(reply.status === 0 ? '' : reply.error);
  }

  /* A model under this schedule, with a node for each rank: as many layers as it has stages, sequences that its
   * slices divide, and all that is set here. An order goes as it is where it was edited, or follows from times. */
  runFile(order) {
    const {s, lane} = this, stages = lane.p * lane.v, times = timesText(s.times), {layers, sequence} = RUN_MODEL;
    const own = s.slots !== '' || this.takes(s.schedule).timed;
    return runFileOf(new Map([['model.preset', RUN_MODEL.preset], ...(stages > layers ? [['model.layers', stages]] : []),
      ...(sequence % lane.slices ? [['model.sequence', Math.ceil(sequence / lane.slices) * lane.slices]] : []),
      ['cluster.preset', 'dgx-a100-80g'], ['cluster.nodes', lane.p], ['layout.tensor', 8], ['layout.pipeline', lane.p], ['layout.global_batch', lane.m],
      ...(own ? [['schedule.file', `|\n${order.trim().replace(/^/gm, '    ')}`]]
        : [['schedule.name', s.schedule], ['schedule.chunks', lane.v], ...(s.group ? [['schedule.group', s.group]] : []), ...(lane.slices > 1 ? [['schedule.slices', lane.slices]] : [])]),
      ...(times ? [['schedule.times', times]] : []), ...(s.stages.length > 0 ? [['schedule.stages', s.stages.join()]] : [])]));
  }

  change(what) {
    Object.assign(this.s, what);
    if (what.p || what.v || what.schedule) {
      this.s.stages = this.s.stages.length > 0 ? this.fitted(what) : [];
    }
    if (!this.asked) {
      this.asked = requestAnimationFrame(() => {
        this.asked = 0;
        this.update();
      });
    }
  }

  /* As many factors as there will be stages. */
  fitted(what) {
    const n = (what.p || this.s.p) * (what.v || this.lane.v);
    return Array.from({length: n}, (unused, i) => this.s.stages[i] || '1');
  }

  open(pairs) {
    this.s = scheduleFrom(pairs);
    this.brought = this.catalogue.some(({value}) => value === this.s.schedule) ? {name: '', slots: ''} : {name: this.s.schedule, slots: this.s.slots};
    this.editor.begin();
    this.update();
  }

  address() {
    return scheduleAddress(this.s);
  }

  trouble(text) {
    $('s-trouble').textContent = text;
    $('s-trouble').hidden = text === '';
  }

  /* Asks and shows everything. An order that cannot run is shown without times, anything else that is wrong
   * beside the last picture. */
  update() {
    const began = performance.now(), reply = this.core.call('passes', this.own(null));
    let errors = reply.status === 0 ? '' : reply.error;
    const lane = reply.status === 0 ? new Lane(reply.passes) : this.s.slots ? untimedLane(this.name, this.s, this.lane) : null;
    const lanes = lane ? [lane] : this.chart.lanes.slice(0, 1);
    this.lane = reply.status === 0 ? lane : this.lane;
    Object.assign(this.s, this.s.slots && reply.status === 0 ? {p: lane.p, m: lane.m} : {}); /* as the order has them */
    for (const name of this.lane ? this.s.with : []) {
      const other = this.core.call('passes', this.shared(name, {shared: 1}));
      errors += other.status === 0 ? '' : `${errors === '' ? '' : '\n'}${other.error}`;
      lanes.push(...(other.status === 0 ? [new Lane(other.passes)] : []));
    }
    this.trouble(errors);
    this.chart.show(lanes);
    this.controls();
    $('s-canvas').classList.toggle('stale', lane === null);
    ['s-tiles', 's-formula', 's-ranks'].forEach((id) => $(id).classList.toggle('stale', reply.status !== 0)); /* of what could run */
    if (reply.status === 0) {
      this.figures(lanes);
    }
    this.took = performance.now() - began;
    this.changed(`Simulated and drawn in ${this.took.toFixed(1)} ms on this computer.`);
  }

  /* What a schedule takes beyond p and m is asked of the core, once for each: the page knows no schedule. */
  takes(name) {
    this.known = this.known || new Map();
    if (!this.known.has(name)) {
      const works = (more) => this.core.call('schedule', {name, pipeline: 4, micro_batches: 24, format: 'json', ...more});
      const usual = works({}).text || '';
      const three = works({chunks: 3}), group = works({chunks: 3, group: 8});
      this.known.set(name, {
        v: three.status === 0 && JSON.parse(three.text).v === 3,
        group: group.status === 0 && group.text !== three.text,
        slices: works({slices: 2}).status === 0 && works({slices: 2}).text !== usual,
        split: /"[IW]\d/.test(usual), overlap: usual.includes('|'),
        timed: usual !== '' && works({format: 'slots'}).text !== works({format: 'slots', times: 'F=1,I=1.3,W=0.6,C=0.4'}).text,
      });
    }
    return this.known.get(name);
  }

  controls() {
    const {s, fields} = this, takes = this.takes(s.schedule), shown = this.lane || {v: 1, phase: []};
    const split = s.slots ? shown.phase.includes('W'.charCodeAt(0)) : takes.split, overlap = s.slots ? shown.paired : takes.overlap;
    const phases = new Set(this.chart.lanes.flatMap((lane) => [...new Set(lane.phase)]));
    fields.schedule.show(s.schedule);
    fields.p.show(s.p);
    fields.m.show(s.m);
    fields.v.show(s.v || shown.v);
    fields.group.values.splice(0, Infinity, ...SMALL.map((k) => k * s.p).filter((k) => k <= s.m));
    fields.group.show(s.group || s.p);
    fields.slices.show(s.slices || 4);
    for (const key of ['v', 'group', 'slices']) {
      fields[key].root.hidden = !takes[key] || Boolean(s.slots);
    }
    fields.p.root.hidden = fields.m.root.hidden = this.opened !== ''; /* as the order has them */
    for (const [key, input] of Object.entries(this.times)) {
      const usual = {F: 1, B: 2, I: 1, W: 1, FB: 'F + B', C: 0}[key];
      input.placeholder = usual;
      input.parentElement.hidden = (key === 'I' || key === 'W') ? !split : key === 'FB' ? !overlap : false;
      if (document.activeElement !== input) {
        input.value = s.times[key] || '';
      }
    }
    this.uneven.checked = s.stages.length > 0;
    this.showFactors();
    $('s-with').classList.toggle('used', s.with.length > 0);
    $('s-with').querySelectorAll('input').forEach((box) => {
      box.checked = s.with.includes(box.value);
      box.parentElement.hidden = box.value === s.schedule && !s.slots;
    });
    $('s-legend').replaceChildren(...legend([...Object.entries(LOOK_OF_ATOM).filter(([atom]) => phases.has(atom.charCodeAt(0))).map(([, key]) => key),
      'bubble_fill', 'bubble_stall', 'bubble_drain']));
    this.editor.controls();
  }

  showFactors() {
    const {stages} = this.s;
    if (this.factors.children.length !== stages.length) {
      this.factors.replaceChildren(...stages.map((unused, i) => make('label', {}, `stage ${i}`, make('input', {type: 'number', min: 0, max: 1000,
        step: 0.05, input: (event) => this.change({stages: this.s.stages.map((old, k) => (k === i ? event.target.value || '1' : old))})}))));
    }
    [...this.factors.querySelectorAll('input')].forEach((input, i) => {
      if (document.activeElement !== input) {
        input.value = stages[i];
      }
    });
  }

  figures(lanes) {
    const lane = lanes[0], idle = Object.fromEntries(CAUSES.map((cause) => [cause,
      lane.ranks.reduce((sum, rank) => sum + rank[cause], 0) / lane.ranks.length / lane.makespan]));
    const most = Math.max(...lane.ranks.map((rank) => rank.peak_rel_I)), pieces = lane.pieces > 1;
    const gain = lanes.length > 1 ? lanes.slice(1).map((one) => `${one.schedule}: ${number(one.makespan)}`).join(', ') : 'from first start to last end';
    $('s-tiles').replaceChildren(
      tile('Makespan', number(lane.makespan), gain),
      tile('Bubble', percent(lane.bubble_fraction), `${percent(lane.bubble_over_ideal)} over the ideal time`),
      tile('Idle by cause', CAUSES.map((cause) => (100 * idle[cause]).toFixed(1)).join(' + '), 'fill + stall + drain, %', 'long'),
      tile('Held at most', number(most), pieces ? 'pieces of micro-batches on a rank' : 'micro-batches on a rank'),
      tile('Messages', number(lane.messages), lane.weight_copies > 1 ? `${lane.weight_copies} copies of the weights` : 'one copy of the weights'));
    this.formula(lane);
    this.ranks(lane);
    this.passes();
  }

  formula(lane) {
    const {formula} = lane, row = (name, text, value) => [make('span', {}, name), make('code', {}, text), make('b', {}, value)];
    const more = this.s.stages.length > 0 || Number(this.s.times.C) > 0;
    const verdict = formula === null ? ['small', 'No closed form is published for this order; the simulation needs none.']
      : formula.holds ? ['same', 'The simulation gives the same.']
        : ['differs', `The simulation takes ${number(Math.abs(lane.makespan - formula.value))} ${lane.makespan > formula.value ? 'more' : 'less'}${more ? ': the formula knows no message delays and no uneven stages.' : '.'}`];
    $('s-formula').replaceChildren(make('div', {class: 'formula'},
      ...(formula ? row('Formula', formula.expression, number(formula.value)) : []),
      ...row('Simulation', `${lane.p} ranks, ${lane.ranks.reduce((n, rank) => n + rank.rows.length, 0)} passes, one after the other`, number(lane.makespan)),
      make('p', {class: `verdict ${verdict[0]}`}, verdict[1])));
  }

  ranks(lane) {
    const most = Math.max(...lane.ranks.map((rank) => rank.peak_rel_W)), part = (key, share) => make('span', {style: `width: ${100 * share}%; background: ${colours.css(key)}`});
    const graph = (css, ...parts) => make('td', {class: `graph ${css}`, 'aria-hidden': 'true'}, make('div', {class: 'bar'}, ...parts));
    $('s-ranks').replaceChildren(table('Time in units, memory in micro-batches or pieces of them; to W: where weight gradients still need the activations.',
      ['rank', '', 'held', 'to W', '', 'busy', ...CAUSES], lane.ranks.map((rank) => [`rank ${rank.rank}`,
        graph('half', make('span', {style: `width: ${100 * rank.peak_rel_I / most}%; background: ${colours.memory(4)}`}),
          make('span', {style: `width: ${100 * (rank.peak_rel_W - rank.peak_rel_I) / most}%; background: ${colours.memory(4)}66`})),
        number(rank.peak_rel_I), number(rank.peak_rel_W),
        graph('', part('bubble_fill', rank.fill / lane.makespan), part('compute.forward', rank.busy / lane.makespan),
          part('bubble_stall', rank.stall / lane.makespan), part('bubble_drain', rank.drain / lane.makespan)),
        number(rank.busy), ...CAUSES.map((cause) => number(rank[cause]))])));
  }

  /* Only while somebody reads it: of a large schedule it has thousands of rows. */
  passes() {
    if ($('s-passes').open && this.lane) {
      $('s-passes').lastElementChild.replaceChildren(table(`${this.lane.schedule}, in the order of each rank`, ['pass', 'rank', 'start', 'end'],
        this.lane.ranks.flatMap((rank, r) => this.lane.actions(r).map((action, i) => [action, rank.rank, number(rank.start[i]), number(rank.start[i] + rank.duration[i])]))));
    }
  }
}
