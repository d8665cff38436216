/* paper.js - the timeline on paper: as wide as a sheet, with the dots of a printer, cut between rows
 * where one sheet is not enough. */

/* Of A4 across with margins of 11 mm, in pixels of the timeline, which is printed a fifth smaller. */
const PAPER = {wide: 1250, first: 560, next: 780, dots: 3};

Object.assign(Timeline.prototype, {
  /* Stretches of height of which each fits on a sheet, the first below the head of the page. */
  sheets() {
    const sheets = [], ends = [...this.tops.slice(1), this.height];
    let from = LANE.axis;
    ends.forEach((end, k) => {
      if (end - from > (sheets.length === 0 ? PAPER.first : PAPER.next) && this.tops[k] > from) {
        sheets.push({from, to: this.tops[k]});
        from = this.tops[k];
      }
    });
    return [...sheets, {from, to: this.height}];
  },

  /* One canvas for each sheet; the last ones are new. */
  toPaper() {
    this.paper = colours.onWhite = true;
    this.resize();
    const first = this.canvas, context = this.context;
    this.leaves = this.sheets().map((sheet, k) => {
      const leaf = k === 0 ? first : el('canvas', {class: 'leaf', 'aria-hidden': 'true'});
      Object.assign(this, {sheet, context: leaf.getContext('2d')});
      this.size(leaf, LANE.axis + sheet.to - sheet.from);
      this.draw();
      return leaf;
    });
    first.after(...this.leaves.slice(1));
    Object.assign(this, {context});
  },

  toScreen() {
    this.paper = colours.onWhite = false;
    this.leaves.slice(1).forEach((leaf) => leaf.remove());
    Object.assign(this, {sheet: null, leaves: []});
    this.resize();
  },
});
