/* address.js - what a room shows, in the address after the #, so that a link opens it again:
 *
 *     schedule=1f1b,zb-v&p=4&m=8&v=2&group=4&slices=2&times=F=1,B=2&stages=1,1,2,1
 *     slots=rank 0: F0.0 B0.0;rank 1: ...       an order that was edited by hand
 *     model.preset=llama-13b&layout.tensor=2    keys of the run file
 *     lesson=3                                  a lesson
 *
 * Values keep their "=" and ","; what is as the room opens may be left out. */

const ADDRESS_MS = 250; /* after the last change: browsers refuse to be told too often */

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

const address = {
  due: 0,
  /* Tells the browser what `text` gives, soon. */
  keep(text) {
    clearTimeout(this.due);
    this.due = setTimeout(() => {
      history.replaceState(null, '', `${location.href.replace(/#.*/, '')}#${text()}`);
    }, ADDRESS_MS);
  },
  go(text) {
    clearTimeout(this.due);
    history.pushState(null, '', `${location.href.replace(/#.*/, '')}#${text}`);
  },
};
