/* strip.js - boxes too narrow to be seen one by one. Of a schedule with 256 micro-batches a box is narrower than a
 * pixel: a rank's row of such boxes is a line of pixels, each the mean of what it covers, slowed_by_overlap to the row's
 * height. Ten thousand boxes are so one picture, whatever their number. */

class Strip {
  /* `lines` rows of `width` pixels. */
  constructor(width, lines) {
    this.width = width;
    this.sums = new Float32Array(4 * width * lines); /* red, green, blue; how much of the pixel is covered */
    this.lines = lines;
    this.used = new Uint8Array(lines);
  }

  /* A colour from pixel x to x + w of a line, where it hides `share` of what is behind. */
  add(line, x, w, [red, green, blue], share = 1) {
    const {sums, width} = this, from = Math.max(0, x), to = Math.min(width, x + w);
    this.used[line] = 1;
    for (let at = from; at < to;) {
      const pixel = Math.floor(at), end = Math.min(pixel + 1, to), part = (end - at) * share, k = 4 * (line * width + pixel);
      sums[k] += red * part;
      sums[k + 1] += green * part;
      sums[k + 2] += blue * part;
      sums[k + 3] += part;
      at = end;
    }
  }

  /* The picture; drawLine puts one of its lines somewhere. */
  finish() {
    const picture = document.createElement('canvas'), {width, lines, sums} = this;
    picture.width = width;
    picture.height = lines;
    const pixels = new ImageData(width, lines), {data} = pixels;
    for (let k = 0; k < sums.length; k += 4) {
      const covered = sums[k + 3];
      if (covered > 0) {
        data[k] = sums[k] / covered;
        data[k + 1] = sums[k + 1] / covered;
        data[k + 2] = sums[k + 2] / covered;
        data[k + 3] = 255 * covered;
      }
    }
    picture.getContext('2d').putImageData(pixels, 0, 0);
    this.picture = picture;
  }

  drawLine(context, line, x, y, w, h) {
    if (this.used[line]) {
      context.drawImage(this.picture, 0, line, this.width, 1, x, y, w, h);
    }
  }
}
