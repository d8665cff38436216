/* lessons.js - the course: lessons are Markdown of docs/course, with blocks of two kinds: a widget
 * is a state of a room, which is put there; an exercise is asked, and its answer checked. */

/* What an answer may be written in, of what kind it is, and how much that is. */
const UNITS = {'%': ['%', 1], percent: ['%', 1], s: ['s', 1], ms: ['s', 1e-3], gib: ['B', 1], mib: ['B', 2 ** -10], gb: ['B', 1e9 / 2 ** 30], mb: ['B', 1e6 / 2 ** 30]};
const NEAR = 0.005; /* answers that were rounded otherwise are right, too */

/* `code`, **strong**, *emphasis*, [words](target) of a line. */
function inline(text) {
  const out = [], form = /`([^`]+)`|\*\*(.+?)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)]+)\)/g;
  let at = 0;
  for (const found of text.matchAll(form)) {
    out.push(text.slice(at, found.index));
    at = found.index + found[0].length;
    const [, code, strong, emphasis, words, target] = found;
    const lesson = target && /^(\d)-\w+\.md/.exec(target);
    out.push(code ? make('code', {}, code) : strong ? make('strong', {}, ...inline(strong)) : emphasis ? make('em', {}, ...inline(emphasis))
      : lesson ? make('a', {href: `#lesson=${lesson[1]}`}, words) : words);
  }
  return [...out, text.slice(at)];
}

/* Blocks {kind, text | lines}: fences, headings, lists, tables, paragraphs. */
function blocksOf(markdown) {
  const blocks = [], lines = markdown.split('\n');
  for (let i = 0; i < lines.length;) {
    const fence = /^```(\w*)/.exec(lines[i]), heading = /^(#+) (.*)/.exec(lines[i]);
    const kind = fence ? 'fence' : heading ? 'heading' : /^(- |\d+\. )/.test(lines[i]) ? 'list' : lines[i].startsWith('|') ? 'table' : 'paragraph';
    const from = i++;
    if (fence) {
      while (i < lines.length && lines[i] !== '```') { i++; }
      blocks.push({kind: fence[1] || 'code', lines: lines.slice(from + 1, i++)});
    } else if (heading) {
      blocks.push({kind, level: heading[1].length, lines: [heading[2]]});
    } else if (lines[from].trim() !== '') {
      while (i < lines.length && lines[i].trim() !== '' && !lines[i].startsWith('```')) { i++; }
      blocks.push({kind, ordered: /^\d/.test(lines[from]), lines: lines.slice(from, i)});
    }
  }
  return blocks;
}

function listOf(block) {
  const items = [];
  for (const line of block.lines) {
    const found = /^(?:- |\d+\. )(.*)/.exec(line);
    if (found) { items.push(found[1]); } else { items[items.length - 1] += ` ${line.trim()}`; }
  }
  return make(block.ordered ? 'ol' : 'ul', {}, ...items.map((item) => make('li', {}, ...inline(item))));
}

function tableOf(block) {
  const rows = block.lines.filter((line) => !/^\|[\s:|-]+\|$/.test(line)).map((line) => line.split('|').slice(1, -1).map((cell) => make('td', {class: 'text'}, ...inline(cell.trim()))));
  return make('div', {class: 'scroll'}, table('', rows[0].map((cell) => cell.textContent), rows.slice(1)));
}

/* A number as it was typed, in the unit of the answer, which is meant where none stands there: 0.988 and 988 ms
 * are the same. NaN: no number, or one of something else. */
function numberOf(typed, unit) {
  const words = /^\s*(-?[\d.,]+(?:e-?\d+)?)\s*([%a-z-]*)\s*$/i.exec(typed);
  if (!words) {
    return NaN;
  }
  const [, text, name] = words, commas = text.includes('.') || /,\d{3},/.test(text) ? '' : '.';
  const [kind, much] = UNITS[unit.toLowerCase()] || ['', 1], mine = UNITS[name.toLowerCase()] || [kind, unit === '' || name === '' ? much : NaN];
  return mine[0] === kind ? Number(text.replace(/,/g, commas)) * mine[1] / much : NaN;
}

/* Whether what was typed is the answer, to the digits that it has, or `within` a share of it: true, false, or null
 * for no number. What is counted has no digits, and is right or wrong. */
function isRight(typed, answer, within = NEAR) {
  const [value, unit = ''] = answer.split(' '), mine = numberOf(typed, unit), digits = (value.split('.')[1] || '').length;
  const counted = unit === '' && digits === 0;
  return Number.isNaN(mine) ? null
    : Math.abs(mine - Number(value)) <= (counted ? 1e-9 : Math.max(0.5001 * 10 ** -digits, within * Math.abs(Number(value))));
}

class Lessons {
  /* `show` opens a room's state (text of an address) in an element. */
  constructor(course, show) {
    this.course = course;
    this.show = show;
    this.solved = new Set();
  }

  open(pairs) {
    const said = new Map(pairs), at = Math.min(this.course.length, Math.max(1, Number(said.get('lesson')) || 1)) - 1;
    this.at = at;
    const body = make('article', {class: 'card'}), spots = [];
    let exercises = 0;
    for (const block of blocksOf(this.course[at].text)) {
      body.append(block.kind === 'exercise' ? this.exercise(block, ++exercises) : block.kind === 'widget' ? this.widget(block, spots) : this.plain(block));
    }
    const next = this.course[at + 1];
    body.append(make('p', {}, next ? make('a', {href: `#lesson=${at + 2}`}, `Next: ${next.title}`) : 'This was the last lesson.'));
    $('lessons').replaceChildren(make('div', {class: 'lesson'}, make('ol', {class: 'steps'}, ...this.course.map((lesson, i) => make('li', {},
      make('a', {href: `#lesson=${i + 1}`, 'aria-current': i === at ? 'page' : null}, lesson.title)))), body));
    const wanted = $(`exercise-${said.get('exercise')}`);
    if (wanted) { wanted.scrollIntoView(); }
    if (spots.length > 0) {
      this.show(spots[0].state, spots[0].place);
    }
  }

  address() {
    return `lesson=${this.at + 1}`;
  }

  plain(block) {
    switch (block.kind) {
      case 'heading': return make(`h${Math.min(block.level + 1, 4)}`, {}, ...inline(block.lines[0]));
      case 'list': return listOf(block);
      case 'table': return tableOf(block);
      case 'paragraph': return make('p', {}, ...inline(block.lines.join(' ')));
      default: return make('pre', {tabindex: 0}, block.lines.join('\n'));
    }
  }

  /* The room comes to the widget that was asked for last; there is one of each. */
  widget(block, spots) {
    const place = make('div', {class: 'live'}), state = block.lines.join('').trim();
    spots.push({state, place});
    place.append(make('button', {type: 'button', click: () => this.show(state, place)}, 'Show it here, live'));
    return place;
  }

  /* What a wrong answer comes of, where the lesson knows ("if 12.5 %: ..."), or else how to begin. */
  hint(x, typed, unit) {
    const known = Object.keys(x).find((key) => key.startsWith('if ') && isRight(typed, key.slice(3)));
    const share = unit === '%' && isRight(String(100 * numberOf(typed, '')), x.answer);
    return known ? x[known] : share ? 'That is the share; in percent it is a hundred times as much.' : x.hint;
  }

  exercise(block, k) {
    const x = Object.fromEntries(block.lines.map((line) => { const at = line.indexOf(': '); return [line.slice(0, at), line.slice(at + 2)]; }));
    const id = `${this.at}.${k}`, unit = x.answer.split(' ')[1] || '';
    const typed = make('input', {type: 'text', inputmode: 'decimal', 'aria-label': `Answer to exercise ${k}`});
    const said = make('p', {class: 'said', role: 'status'}), place = make('div', {});
    const tell = (right) => {
      said.className = `said ${right ? 'done' : 'notyet'}`;
      said.replaceChildren(...(right ? [`Right: ${x.answer}. `, ...inline(x.worked), ' This command prints it: ', make('code', {}, x.command)]
        : right === null ? [`Type a number${unit ? `, in ${unit === '%' ? 'percent' : unit}` : ''}.`] : ['Not yet. ', ...inline(this.hint(x, typed.value, unit))]));
    };
    const check = (event) => {
      event.preventDefault();
      const right = isRight(typed.value, x.answer, x.within ? numberOf(x.within, '%') / 100 : NEAR);
      if (right) { this.solved.add(id); }
      tell(right);
    };
    if (this.solved.has(id)) { tell(true); }
    return make('section', {class: 'exercise', id: `exercise-${k}`, 'aria-label': `Exercise ${k}`}, make('p', {}, make('strong', {}, `${k}. `), ...inline(x.question)),
      make('form', {submit: check}, typed, unit, make('button', {class: 'main'}, 'Check'),
        ...(x.widget ? [make('button', {type: 'button', click: () => this.show(x.widget, place)}, 'Try it live')] : [])), said, place);
  }
}
