/* play.js - a cursor that goes through the run: what has not happened yet is veiled, and what every
 * row does at the time is said in words. */

const PLAY_S = 15; /* seconds from one end of the view to the other */

Object.assign(Timeline.prototype, {
  /* The veil and the line. */
  drawNow() {
    if (shown.now === null || this.recording) {
      return;
    }
    const c = this.context, x = Math.min(Math.max(this.x(shown.now), this.left), this.right);
    c.fillStyle = this.css('card');
    c.globalAlpha = 0.82;
    c.fillRect(x, LANE.axis - 4, this.right - x + 2, this.height);
    c.globalAlpha = 1;
    c.strokeStyle = this.css('mark');
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x, LANE.axis - 6);
    c.lineTo(x, this.height);
    c.stroke();
  },

  /* The next time (step 1) or the last (-1) at which a pass or an idle stretch begins; the ends of the
   * runs at the latest. */
  eventFrom(t, step) {
    let best = step > 0 ? this.end : 0;
    this.runs.forEach((run) => run.lanes.filter((l) => l.lane === 0).forEach((lane) => {
      let i = lastBefore(run, lane, t);
      if (step > 0) {
        i = i < 0 ? lane.first : i + 1;
      } else if (i >= 0 && run.start[i] >= t) {
        i--;
      }
      if (i >= lane.first && i < lane.first + lane.n && (run.start[i] - t) * step > 0) {
        best = step > 0 ? Math.min(best, run.start[i]) : Math.max(best, run.start[i]);
      }
    }));
    return best;
  },

  /* "stage 0: forward 3" of every row of the compute stream. */
  doingAt(t) {
    return this.runs.flatMap((run, r) => run.lanes.filter((l) => l.lane === 0).map((lane) => {
      const i = lastBefore(run, lane, t), name = nameOf(this.runs, r) + rowName(run, lane.row);
      return `${name}: ${i >= 0 && t < endOf(run, i) ? sliceName(run, i) : t < run.makespan_ps ? 'nothing' : 'done'}`;
    }));
  },
});

const DOING_SHOWN = 16;

/* Deeds of the cursor: `timeline`, the line of text `place`, and what to do where playing starts or
 * stops. */
function makePlayer(timeline, place, changed) {
  let last = 0, playing = false;
  const player = {
    playing: () => playing,
    set(t) {
      shown.now = t;
      if (t === null) {
        place.textContent = '';
      } else {
        const doing = timeline.doingAt(t), more = doing.length - DOING_SHOWN;
        place.textContent = `At ${seconds(t)} \u2013 ${doing.slice(0, DOING_SHOWN).join(', ')}${more > 0 ? ` and ${more} rows more` : ''}`;
      }
      if (t !== null && (t < view.from || t > view.to)) {
        timeline.show(t - (view.to - view.from) * 0.1, t + (view.to - view.from) * 0.9);
      } else {
        timeline.draw();
      }
    },
    step(by) {
      player.stop();
      player.set(timeline.eventFrom(shown.now === null ? -1 : shown.now, by));
    },
    toggle() {
      if (playing) {
        player.stop();
        return;
      }
      playing = true;
      last = performance.now();
      if (shown.now === null || shown.now >= timeline.end) { player.set(view.from); }
      changed();
      requestAnimationFrame(player.tick);
    },
    tick(now) {
      if (!playing) {
        return;
      }
      const t = shown.now + (view.to - view.from) * Math.max(now - last, 0) / 1000 / PLAY_S;
      last = now;
      player.set(Math.min(t, timeline.end));
      if (t >= timeline.end) {
        player.stop();
      } else {
        requestAnimationFrame(player.tick);
      }
    },
    stop() {
      playing = false;
      changed();
    },
    clear() {
      player.stop();
      player.set(null);
    },
  };
  return player;
}
