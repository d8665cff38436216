/* state.js - what is shown as pairs of texts, and as the address after "#".
 *
 *   schedule=1f1b,zb-v&p=4&m=8&v=2&times=F=1,B=2&stages=1,1,1.5,1&slots=...   schedules alone
 *   model.preset=llama-13b&layout.tensor=2&...                               keys of a run file
 *   lesson=3                                                                a lesson */

function readAddress(hash) {
  const state = {};
  hash.replace(/^#/, '').split('&').filter(Boolean).forEach((pair) => {
    const at = pair.indexOf('=');
    if (at > 0) {
      state[pair.slice(0, at)] = decodeURIComponent(pair.slice(at + 1).replace(/\+/g, ' '));
    }
  });
  return state;
}

/* Commas, colons and equal signs may stand as they are: a link should be read by people, too. */
function writeAddress(state) {
  const text = (value) => encodeURIComponent(value).replace(/%(2C|3A|3D|2F|40|5B|5D|28|29|7C|3B|23)/g, (code) => code === '%23' || code === '%25' ? code : decodeURIComponent(code));
  return Object.entries(state).filter(([, value]) => value !== undefined && value !== '').map(([key, value]) => `${key}=${text(value)}`).join('&');
}

function roomOf(state) {
  return state.lesson !== undefined ? 'lessons' : Object.keys(state).some((key) => key.includes('.')) ? 'model' : 'schedules';
}

/* Keys of a run file as its text. */
function runFile(state) {
  const sections = new Map();
  Object.entries(state).filter(([key, value]) => key.includes('.') && value !== '').forEach(([key, value]) => {
    const at = key.indexOf('.'), section = key.slice(0, at);
    sections.set(section, `${sections.get(section) || section + ':\n'}  ${key.slice(at + 1)}: ${value}\n`);
  });
  return [...sections.values()].join('');
}

/* Asks the core; while it answers, only the last of further questions is kept. */
class Asker {
  constructor(ask, answer) {
    this.ask = ask;
    this.answer = answer;
    this.busy = false;
    this.next = null;
  }

  async put(question) {
    if (this.busy) {
      this.next = question;
      return;
    }
    this.busy = true;
    for (let now = question; now !== null; now = this.next) {
      this.next = null;
      const begun = performance.now(), reply = await this.ask(now);
      if (this.next === null) {
        this.answer(now, reply, performance.now() - begun);
      }
    }
    this.busy = false;
  }
}

function save(name, content, type) {
  const link = el('a', {href: URL.createObjectURL(new Blob([content], {type})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
