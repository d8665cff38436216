/* inflate.js - unpacks a raw deflate stream (RFC 1951). The browser's own DecompressionStream answers
 * later, when the page would have to be drawn already, and is younger than some browsers in schools. */

/* Lengths of matches and their distances, section 3.2.5: [extra bits, smallest] of each code. */
const MATCH = {length: [], distance: []};
for (let code = 0, base = 3; code < 28; code++) {
  MATCH.length.push([code < 8 ? 0 : (code >> 2) - 1, base]);
  base += 1 << MATCH.length[code][0];
}
MATCH.length.push([0, 258]);
for (let code = 0, base = 1; code < 30; code++) {
  MATCH.distance.push([code < 4 ? 0 : (code >> 1) - 1, base]);
  base += 1 << MATCH.distance[code][0];
}
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]; /* section 3.2.7 */

/* Codes by their lengths in bits, section 3.2.2: how many there are of each, and the symbols in order. */
function huffman(lengths) {
  const counts = new Uint16Array(16), at = new Uint16Array(16), symbols = [];
  lengths.forEach((bits) => { counts[bits]++; });
  counts[0] = 0;
  for (let bits = 1; bits < 16; bits++) { at[bits] = at[bits - 1] + counts[bits - 1]; }
  lengths.forEach((bits, symbol) => { if (bits > 0) { symbols[at[bits]++] = symbol; } });
  return {counts, symbols};
}

class Bits {
  constructor(text) {
    Object.assign(this, {text, at: 0, held: 0, n: 0});
  }

  /* The next n bits, the lowest first. */
  take(n) {
    while (this.n < n) {
      if (this.at >= this.text.length) {
        throw new Error('its data end too early');
      }
      this.held |= this.text.charCodeAt(this.at++) << this.n;
      this.n += 8;
    }
    const bits = this.held & ((1 << n) - 1);
    this.held >>>= n;
    this.n -= n;
    return bits;
  }

  symbol({counts, symbols}) {
    let code = 0, first = 0, index = 0;
    for (let bits = 1; bits < 16; bits++) {
      code |= this.take(1);
      const after = code - first - counts[bits];
      if (after < 0) {
        return symbols[index + code - first];
      }
      index += counts[bits];
      first = (first + counts[bits]) << 1;
      code <<= 1;
    }
    throw new Error('its data are damaged');
  }

  /* Codes that the block brings along, section 3.2.7. */
  codes() {
    const n = this.take(5) + 257, distances = this.take(5) + 1, few = this.take(4) + 4;
    const order = new Array(19).fill(0), lengths = [];
    for (let k = 0; k < few; k++) { order[ORDER[k]] = this.take(3); }
    const code = huffman(order);
    while (lengths.length < n + distances) {
      const symbol = this.symbol(code);
      if (symbol < 16) {
        lengths.push(symbol);
        continue;
      }
      const again = symbol === 16 ? lengths[lengths.length - 1] : 0;
      const times = symbol === 16 ? 3 + this.take(2) : symbol === 17 ? 3 + this.take(3) : 11 + this.take(7);
      for (let k = 0; k < times; k++) { lengths.push(again); }
    }
    return [huffman(lengths.slice(0, n)), huffman(lengths.slice(n))];
  }
}

const FIXED = [huffman(Array.from({length: 288}, (_, k) => (k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8))),
  huffman(new Array(30).fill(5))];

/* Bytes of a string of bytes that was packed. */
function inflate(text) {
  const bits = new Bits(text);
  let out = new Uint8Array(4 * text.length + 64), n = 0, last = 0;
  const room = (more) => {
    if (n + more > out.length) {
      const wider = new Uint8Array(2 * out.length + more);
      wider.set(out);
      out = wider;
    }
  };
  while (last === 0) {
    last = bits.take(1);
    const type = bits.take(2);
    if (type === 0) { /* as it is, from the next whole byte on: length, its complement, bytes */
      bits.take(bits.n % 8);
      const length = bits.take(16);
      bits.take(16);
      room(length);
      for (let k = 0; k < length; k++) { out[n++] = bits.take(8); }
      continue;
    }
    const [literals, distances] = type === 1 ? FIXED : bits.codes();
    for (let symbol = bits.symbol(literals); symbol !== 256; symbol = bits.symbol(literals)) {
      if (symbol < 256) {
        room(1);
        out[n++] = symbol;
        continue;
      }
      const [extra, base] = MATCH.length[symbol - 257], length = base + bits.take(extra);
      const [wide, near] = MATCH.distance[bits.symbol(distances)], back = near + bits.take(wide);
      room(length);
      for (let k = 0; k < length; k++, n++) { out[n] = out[n - back]; }
    }
  }
  return out.subarray(0, n);
}
