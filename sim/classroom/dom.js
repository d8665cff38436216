/* dom.js - elements, numbers and files: what all rooms use. */

const $ = (id) => document.getElementById(id);

/* An element: attributes (a function is a listener, null and false leave one out), then what is in it. */
function make(tag, attributes, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') {
      element.addEventListener(name, value);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...inside);
  return element;
}

/* At most four digits that mean something, and none that mean nothing. */
function number(x) {
  return Number.isInteger(x) ? String(x) : String(Number(x.toPrecision(x >= 1000 ? 6 : 5)));
}

const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

function seconds(s) {
  return s >= 1 ? `${s.toPrecision(4)} s` : s >= 1e-3 ? `${(1e3 * s).toPrecision(4)} ms` : `${(1e6 * s).toPrecision(3)} us`;
}

const gibibytes = (bytes) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

function tile(what, value, note, look = '') {
  return make('div', {class: `tile ${look}`}, make('div', {class: 'what'}, what),
    make('div', {class: 'value'}, value), make('div', {class: 'note'}, note || ''));
}

/* A table of text; a cell may be an element, which stands for itself. */
function table(caption, head, rows) {
  const cell = (value, at) => (value instanceof HTMLElement ? value
    : at === 0 ? make('th', {scope: 'row'}, value) : make('td', {}, value));
  return make('table', {}, make('caption', {}, caption),
    make('thead', {}, make('tr', {}, ...head.map((name) => (name === '' ? make('td') : make('th', {scope: 'col'}, name))))),
    make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map(cell)))));
}

function legend(keys) {
  return keys.map((key) => make('span', {}, make('i', {style: `background: ${colours.css(key)}`}), LOOKS[key][0]));
}

function save(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], {type}));
  make('a', {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/* A slider of the values of a list, with its name and what is chosen; `act` gets the value. */
function slider(id, label, values, act) {
  const output = make('output', {for: id});
  const input = make('input', {type: 'range', id, min: 0, step: 1, input: () => act(field.values[Number(input.value)])});
  const root = make('div', {class: 'field'}, make('label', {for: id}, label), output, input);
  const field = {root, input, values,
    show(value) {
      field.values = values.includes(value) ? values : [...values, value].sort((a, b) => a - b);
      input.max = field.values.length - 1;
      input.value = field.values.indexOf(value);
      output.textContent = value;
      input.setAttribute('aria-valuetext', value);
    }};
  return field;
}

function picker(id, label, choices, act) {
  const select = make('select', {id, change: () => act(select.value)});
  const note = make('p', {class: 'note'});
  select.append(...choices.map(({value, text}) => make('option', {value}, text || value)));
  return {root: make('div', {class: 'field'}, make('label', {for: id}, label), select, note), select, note,
    show(value) {
      if (![...select.options].some((option) => option.value === value)) {
        select.append(make('option', {value}, value));
      }
      select.value = value;
      note.textContent = (choices.find((choice) => choice.value === value) || {}).note || '';
    }};
}

/* "name  what it is [source]" of each line that the core lists. */
function listed(core, what) {
  return core.call('list', {what}).text.trim().split('\n').map((line) => {
    const [, value, note] = /^(\S+)\s*(.*?)(?: \[.*)?$/.exec(line);
    return {value, note};
  });
}

const tips = {
  show(event, title, lines) {
    const tip = $('tip');
    tip.replaceChildren(make('b', {}, title), ...lines.map((line) => make('div', {}, line)));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 6))}px`;
    tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18}px`;
  },
  hide() {
    $('tip').hidden = true;
  },
};

/* A canvas in the points of its screen; returns its context, cleared, with `width` of the page. A canvas that
 * keeps its size is not laid out again. */
function canvasOf(canvas, height) {
  const sharp = window.devicePixelRatio || 1, width = canvas.clientWidth, context = canvas.getContext('2d');
  const points = [Math.round(width * sharp), Math.round(height * sharp)];
  if (canvas.width !== points[0] || canvas.height !== points[1]) {
    [canvas.width, canvas.height] = points;
    canvas.style.height = `${height}px`;
  }
  context.setTransform(sharp, 0, 0, sharp, 0, 0);
  context.clearRect(0, 0, width, height);
  return {context, width};
}

/* How much larger than usual what is drawn is: as much as the page's own letters, and more where there is room. */
const USUAL_PX = 15, WIDE = 1600, ZOOM_MAX = 1.6;
const zoomOf = (width) => Math.max(1, parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL_PX, Math.min(ZOOM_MAX, width / WIDE));

const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* Marks of a time axis: about `n`, at 1, 2 or 5 times a power of ten. */
function ticks(end, n) {
  const raw = end / Math.max(n, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
  return Array.from({length: Math.floor(end / step + 1e-9) + 1}, (unused, i) => Number((i * step).toPrecision(12)));
}
