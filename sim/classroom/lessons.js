/* lessons.js - the course: its texts, pictures that live, exercises that are checked. LESSONS is made of
 * docs/tutorial by lessons.py: [{title, text}]. */

/* What Markdown of the lessons has within a line: code, bold, links. */
function inline(text, follow) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[[^\]]+\]\([^)]+\))/).map((piece) => {
    if (/^`/.test(piece)) { return el('code', {}, piece.slice(1, -1)); }
    if (/^\*\*/.test(piece)) { return el('b', {}, piece.slice(2, -2)); }
    if (/^\*/.test(piece)) { return el('em', {}, piece.slice(1, -1)); }
    const link = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(piece), lesson = link && /(\d)-[a-z-]+\.md/.exec(link[2]);
    return link ? lesson ? el('a', {href: `#lesson=${lesson[1]}`}, link[1]) : el('em', {title: follow + link[2]}, link[1]) : piece;
  });
}

/* Blocks of a text: [kind, lines]; kinds are words after ```, "h2" (for #), "h3", "li", "p". */
function blocksOf(text) {
  const blocks = [], lines = text.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const fence = /^```(\w*)/.exec(lines[i]), last = blocks[blocks.length - 1];
    if (fence) {
      const end = lines.indexOf('```', i + 1);
      blocks.push([fence[1] || 'pre', lines.slice(i + 1, end)]);
      i = end;
    } else if (/^#+ /.test(lines[i])) {
      blocks.push([lines[i].startsWith('# ') ? 'h2' : 'h3', [lines[i].replace(/^#+ /, '')]]);
    } else if (/^- /.test(lines[i])) {
      if (last && last[0] === 'li') { last[1].push(lines[i].slice(2)); } else { blocks.push(['li', [lines[i].slice(2)]]); }
    } else if (lines[i].trim() === '') {
      blocks.push(['', []]);
    } else if (last && last[0] === 'p') {
      last[1].push(lines[i]);
    } else {
      blocks.push(['p', [lines[i]]]);
    }
  }
  return blocks.filter(([kind]) => kind !== '');
}

/* Whether a number that was typed, with its unit or without, is the answer: to 1 %, or to its last digit. */
function isRight(typed, answer) {
  const number = (text) => Number.parseFloat(text.replace(',', '.')), right = number(answer), given = number(typed);
  const digit = 10 ** -((/\.(\d+)/.exec(answer) || ['', ''])[1].length);
  return Number.isFinite(given) && Math.abs(given - right) <= Math.max(0.01 * Math.abs(right), digit / 2 + 1e-9);
}

class LessonsRoom {
  constructor(core, state, changed) {
    Object.assign(this, {core, changed});
    this.at = Math.min(Math.max(Number(state.lesson) || 1, 1), LESSONS.length);
    this.contents = el('div', {class: 'card contents', role: 'navigation', 'aria-label': 'Lessons'});
    this.text = el('article', {class: 'text'});
    this.node = el('div', {class: 'lesson'}, this.contents, this.text);
    this.show(this.at);
  }

  show(at) {
    const lesson = LESSONS[at - 1], solved = this.solved();
    this.at = at;
    this.exercises = 0;
    this.contents.replaceChildren(...LESSONS.map((one, k) => el('button', {type: 'button', 'aria-current': String(k + 1 === at), onclick: () => this.go(k + 1)},
      `${one.title}${solved.filter((name) => name.startsWith(`${k + 1}.`)).length === 3 ? ' \u2713' : ''}`)));
    this.text.replaceChildren(...blocksOf(lesson.text).map(([kind, lines]) => this.block(kind, lines)));
    this.node.dataset.ready = String(Number(this.node.dataset.ready || 0) + 1);
  }

  go(at) {
    this.changed({lesson: String(at)});
    this.show(at);
    scrollTo({top: 0});
  }

  block(kind, lines) {
    const within = (text) => inline(text, 'docs/tutorial/');
    switch (kind) {
      case 'h2': case 'h3': return el('h2', {}, ...within(lines[0]));
      case 'li': return el('ul', {}, ...lines.map((line) => el('li', {}, ...within(line))));
      case 'p': return el('p', {}, ...within(lines.join(' ')));
      case 'widget': return this.widget(lines.join('').trim());
      case 'exercise': return this.exercise(Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)])));
      default: return el('pre', {tabindex: 0}, el('code', {}, lines.join('\n')));
    }
  }

  widget(address) {
    const state = readAddress(address), model = roomOf(state) === 'model', node = el('div', {class: 'widget'});
    const link = el('a', {href: '#' + writeAddress(state)}, 'Open it in its own room');
    const room = new (model ? ModelRoom : ScheduleRoom)(this.core, state, (now) => { link.setAttribute('href', '#' + writeAddress(now)); }, true);
    node.append(room.node, el('p', {class: 'small'}, link));
    return node;
  }

  solved() {
    try { return JSON.parse(localStorage.getItem('trainyard-solved') || '[]'); } catch { return []; }
  }

  exercise(x) {
    const number = ++this.exercises, name = `${this.at}.${number}`, id = `answer-${name}`;
    const input = el('input', {type: 'text', id, inputmode: 'decimal', autocomplete: 'off', 'aria-describedby': id + '-said'});
    const said = el('span', {id: id + '-said', role: 'status'}, this.solved().includes(name) ? '\u2713 solved' : ''), hint = el('p', {class: 'small', hidden: true}, x.hint);
    const check = () => {
      const right = isRight(input.value, x.answer);
      said.className = right ? 'good' : 'bad';
      said.textContent = input.value.trim() === '' ? '' : right ? `\u2713 ${x.answer}` : 'Not yet.';
      if (right) {
        try { localStorage.setItem('trainyard-solved', JSON.stringify([...new Set([...this.solved(), name])])); } catch { /* a page without memory */ }
      }
    };
    input.addEventListener('keydown', (event) => { if (event.key === 'Enter') { check(); } });
    const unit = (/ (\S+)$/.exec(x.answer) || ['', ''])[1];
    return el('form', {class: 'exercise', onsubmit: undefined}, el('p', {}, el('b', {}, `${name} `), el('label', {for: id}, x.question)),
      el('div', {class: 'tools'}, input, unit ? el('span', {class: 'small'}, unit) : '', el('button', {type: 'button', onclick: check}, 'Check'),
      el('button', {type: 'button', onclick: () => { hint.hidden = !hint.hidden; }}, 'Hint'), x.widget ? el('a', {class: 'small', href: '#' + writeAddress(readAddress(x.widget)), target: '_blank'}, 'Try it') : '', said), hint,
      el('details', {}, el('summary', {}, 'On the command line'), el('pre', {tabindex: 0}, `${x.command}      # ${x.field}`)));
  }
}
