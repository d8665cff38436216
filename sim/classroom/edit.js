/* edit.js - an order changed by hand: boxes are dragged along their rank, or moved with the keyboard, and
 * the core judges what comes of it as it judges a file of slots, with the same messages. */

const EDIT_KEYS = 'Drag a pass along its rank; or choose it with the arrow keys and move it with Alt and left or right.';
const LOOK_KEYS = [['←', '→', 'pass'], ['↑', '↓', 'rank']];

const slotsOf = (orders) => orders.map((order, rank) => `rank ${rank}: ${order.join(' ')}\n`).join('');

class Editor {
  constructor(room) {
    this.room = room;
    this.chart = room.chart;
    this.begin();
    $('s-edit').addEventListener('click', () => this.turn(!this.on));
    $('s-undo').addEventListener('click', () => this.undo());
    const canvas = $('s-canvas');
    canvas.addEventListener('pointerdown', (event) => this.press(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.release(event));
    canvas.addEventListener('pointercancel', () => this.drop());
    canvas.addEventListener('pointerleave', () => tips.hide());
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  /* A state from elsewhere: what was done before cannot be undone. */
  begin() {
    this.past = [];
    this.on = this.room.s.slots !== this.room.opened;
    this.held = null;
    this.chart.chosen = this.chart.mark = null;
  }

  turn(on) {
    this.on = on;
    if (!on && this.room.s.slots !== this.room.opened) {
      this.past = [];
      this.room.s.slots = this.room.opened;
    }
    this.room.update();
  }

  controls() {
    const {slots} = this.room.s;
    $('s-edit').setAttribute('aria-pressed', String(this.on));
    $('s-undo').hidden = this.past.length === 0;
    $('s-hint').hidden = !this.on;
    $('s-hint').textContent = slots !== this.room.opened ? `This order is yours. ${EDIT_KEYS} "Edit by hand" again brings the schedule back.` : EDIT_KEYS;
    $('s-canvas').parentElement.classList.toggle('editing', this.on);
    $('s-canvas').setAttribute('aria-label', `Timeline of ${this.chart.lanes.map((lane) => lane.schedule).join(', ')}. Arrow keys go from pass to pass and from rank to rank. ${this.on ? EDIT_KEYS : ''} The tables below say the same.`);
    $('s-keys').replaceChildren(...LOOK_KEYS.flatMap(([a, b, word]) => [make('kbd', {}, a), ' ', make('kbd', {}, b), ` ${word}   `]),
      ...(this.on ? [make('kbd', {}, 'Alt'), ' + ', make('kbd', {}, '←'), ' ', make('kbd', {}, '→'), ' move it   ', make('kbd', {}, 'Ctrl'), ' + ', make('kbd', {}, 'Z'), ' undo'] : []));
  }

  undo() {
    if (this.past.length > 0) {
      this.room.s.slots = this.past.pop();
      this.room.update();
    }
  }

  /* Moves the pass at `from` of a rank's order before the one at `to`. */
  put(rank, from, to) {
    const text = this.room.s.slots || this.room.core.call('schedule', this.room.own('slots')).text;
    const orders = ordersOf(text), order = orders[rank];
    const [pass] = order.splice(from, 1), at = to > from ? to - 1 : to;
    if (at === from) {
      return;
    }
    order.splice(at, 0, pass);
    this.past.push(this.room.s.slots);
    this.room.s.slots = slotsOf(orders);
    this.chart.chosen = {lane: 0, rank, slot: at};
    this.room.update();
    this.say();
  }

  spot(event) {
    const box = $('s-canvas').getBoundingClientRect();
    return this.chart.at(event.clientX - box.left, event.clientY - box.top);
  }

  press(event) {
    const spot = this.spot(event);
    if (spot === null || spot.slot < 0) {
      return;
    }
    this.chart.chosen = spot;
    if (this.on && spot.lane === 0) {
      this.held = spot;
      $('s-canvas').setPointerCapture(event.pointerId);
      $('s-canvas').classList.add('held');
    }
    this.chart.draw();
    this.say();
  }

  move(event) {
    if (this.held === null) {
      const spot = this.spot(event);
      if (spot === null) {
        tips.hide();
      } else {
        tips.show(event, ...this.chart.words(spot));
      }
      return;
    }
    tips.hide();
    const box = $('s-canvas').getBoundingClientRect(), time = (event.clientX - box.left - this.chart.gutter) / this.chart.scale;
    this.chart.mark = {...this.held, slot: this.chart.gap(0, this.held.rank, time)};
    this.chart.draw();
  }

  release() {
    const {held} = this, {mark} = this.chart;
    this.drop();
    if (held && mark) {
      this.put(held.rank, held.slot, mark.slot);
    }
  }

  drop() {
    this.held = this.chart.mark = null;
    $('s-canvas').classList.remove('held');
    this.chart.draw();
  }

  say() {
    const {chosen} = this.chart;
    if (chosen) {
      const [title, lines] = this.chart.words({...chosen, time: 0});
      const wrong = $('s-trouble').hidden ? '' : $('s-trouble').textContent;
      $('s-live').textContent = [title, ...lines, wrong].join('. ');
    }
  }

  key(event) {
    const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    const {chosen} = this.chart;
    if (event.key.toLowerCase() === 'z' && (event.ctrlKey || event.metaKey)) {
      this.undo();
    } else if (event.key === 'Escape') {
      this.chart.chosen = null;
      this.chart.draw();
    } else if (way && event.altKey) {
      if (this.on && chosen && chosen.lane === 0 && way[0] !== 0) {
        const to = chosen.slot + (way[0] > 0 ? 2 : -1);
        if (to >= 0 && to <= this.chart.lanes[0].ranks[chosen.rank].rows.length) {
          this.put(chosen.rank, chosen.slot, to);
        }
      }
    } else if (way) {
      this.chart.step(...way);
      this.say();
    } else {
      return;
    }
    event.preventDefault();
  }
}
