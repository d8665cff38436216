/* address.js - what a room shows, in the address after the #, so that a link opens it again:
 *
 *     schedule=1f1b,zb-v&p=4&m=8&v=2&group=4&slices=2&times=F=1,B=2&stages=1,1,2,1
 *     slots=rank 0: F0.0 B0.0;rank 1: ...       an order that was edited by hand
 *     model.preset=llama-13b&layout.tensor=2    keys of the run file, over those that the page opens with
 *     lesson=3                                  a lesson
 *
 * Values keep their "=" and ","; what is as the room opens may be left out. */

const ADDRESS_MS = 250; /* after the last change: browsers refuse to be told too often */
const ADDRESS_MAX = 65536; /* letters; about as much as browsers take */

/* Pairs of key and value. */
function pairsOf(text) {
  return text.split('&').filter((pair) => pair.includes('=')).map((pair) => {
    const at = pair.indexOf('=');
    let value = pair.slice(at + 1);
    try {
      value = decodeURIComponent(value.replace(/\+/g, ' '));
    } catch (wrong) { /* a "%" that somebody typed stands for itself */ }
    return [pair.slice(0, at), value];
  });
}

function addressFrom(pairs) {
  return pairs.filter(([, value]) => value !== '' && value !== undefined)
    .map(([key, value]) => `${key}=${encodeURIComponent(value).replace(/%(?:3D|2C|3A|3B|7C|5E|28|29)/g, decodeURIComponent).replace(/%20/g, '+')}`).join('&');
}

const roomOf = (pairs) => {
  const keys = pairs.map(([key]) => key);
  return keys.includes('lesson') ? 'lessons' : keys.some((key) => key.includes('.')) ? 'model' : 'schedule';
};

/* What a run file cannot do without. Keys that name all three are one, others change `usual`. */
const NEEDED = [/^model\./, /^cluster\./, /^layout\.global_batch$/];

const keysOf = (pairs, usual) => {
  const own = pairs.filter(([key]) => key.includes('.'));
  return new Map(NEEDED.every((need) => own.some(([key]) => need.test(key))) ? own : [...usual, ...own]);
};

const address = {
  due: 0,
  seen: '',
  whole: true, /* whether what is shown is in the address */

  /* What the address says, which overrules what was about to be written there. */
  read() {
    clearTimeout(this.due);
    this.seen = location.hash;
    this.whole = true;
    return this.seen.slice(1);
  },

  /* Tells the browser what `text` gives, soon; unless somebody has written another address meanwhile, which
   * the page is still to be told of. `said` hears whether it has room. */
  keep(text, said) {
    clearTimeout(this.due);
    this.due = setTimeout(() => {
      if (location.hash === this.seen) {
        this.write('replaceState', text());
        said(this.whole);
      }
    }, ADDRESS_MS);
  },

  go(text) {
    clearTimeout(this.due);
    this.write('pushState', text);
  },

  /* What is too long is left out: half of it would be something else. */
  write(how, text) {
    this.whole = text.length <= ADDRESS_MAX;
    history[how](null, '', `${location.href.replace(/#.*/, '')}${this.whole ? `#${text}` : ''}`);
    this.seen = location.hash;
  },
};
