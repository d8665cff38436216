/* controls.js - sliders, choices and words that change one value of a state. */

let controlNumber = 0;

/* A row of a label, what changes the value, and what it is now. `values`: a slider over them; `words`: a
 * choice; `check`: yes or no; else a line of text. `now` may be asked for again by refresh. */
function control(label, kind, value, changed) {
  const id = `control-${++controlNumber}`;
  if (kind.values) {
    const shown = el('output', {for: id}), at = () => Math.max(kind.values.map(String).indexOf(String(value)), 0);
    const slider = el('input', {type: 'range', id, min: 0, max: kind.values.length - 1, step: 1, value: at()});
    const tell = () => {
      const now = String(kind.values[slider.value]);
      shown.textContent = now;
      slider.setAttribute('aria-valuetext', now);
    };
    slider.addEventListener('input', () => { tell(); changed(String(kind.values[slider.value])); });
    tell();
    return el('div', {class: 'control', title: kind.title}, el('label', {for: id}, label), slider, shown);
  }
  if (kind.words) {
    const choice = el('select', {id}, ...kind.words.map((word) => el('option', {value: word, selected: word === value}, word || '\u2013')));
    choice.addEventListener('change', () => changed(choice.value));
    return el('div', {class: 'control wide', title: kind.title}, el('label', {for: id}, label), choice);
  }
  if (kind.check) {
    const box = el('input', {type: 'checkbox', id, checked: value === 'true'});
    box.addEventListener('change', () => changed(box.checked ? 'true' : ''));
    return el('div', {class: 'control wide', title: kind.title}, el('label', {for: id}, label), box);
  }
  const line = el('input', {type: 'text', id, value: value || '', placeholder: kind.hint, spellcheck: 'false', autocomplete: 'off'});
  line.addEventListener('change', () => changed(line.value.trim()));
  return el('div', {class: 'control wide', title: kind.title}, el('label', {for: id}, label), line);
}

function range(from, to) {
  return Array.from({length: to - from + 1}, (_, i) => from + i);
}

function tile(what, value, note, kind) {
  return el('div', {class: 'tile'}, el('div', {class: 'what'}, what), el('div', {class: 'value ' + (kind || '')}, value), el('div', {class: 'note'}, note || ''));
}

/* [words, colour] */
function keyOf(entries) {
  return el('div', {class: 'key', 'aria-hidden': 'true'}, ...entries.map(([words, colour]) => el('span', {}, el('i', {style: `background:${colour}`}), words)));
}

/* A bar of parts [share of the width, colour, title]; `mark` is a line across at a share. */
function bar(parts, mark) {
  return el('div', {class: 'bar'}, ...parts.map(([part, colour, title]) => el('i', {style: `width:${100 * Math.max(part, 0)}%;background:${colour}`, title})),
    mark === undefined ? null : el('u', {style: `left:${100 * mark}%`}));
}

function table(head, rows) {
  return el('div', {class: 'scroll'}, el('table', {}, el('thead', {}, el('tr', {}, ...head.map((h) => el('th', {scope: 'col'}, h)))),
    el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map((cell, k) => el(k === 0 ? 'th' : 'td', k === 0 ? {scope: 'row'} : {class: String(cell).length > 16 ? 'text' : undefined}, String(cell))))))));
}

const tip = {
  node: document.getElementById('tip'),
  show(words, event) {
    this.node.textContent = words;
    this.node.hidden = false;
    const {width, height} = this.node.getBoundingClientRect();
    this.node.style.left = Math.max(Math.min(event.clientX + 14, innerWidth - width - 8), 4) + 'px';
    this.node.style.top = (event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18) + 'px';
  },
  hide() {
    this.node.hidden = true;
  },
};

function announce(words) {
  document.getElementById('live').textContent = words;
}
