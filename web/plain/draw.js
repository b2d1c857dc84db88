// What the page in a browser and the reports of sim and compare draw alike: colours, time axes, jobs on the slices of
// GPUs, steps of watts. Each decides what is drawn; how it looks is here. Plain JavaScript: a report carries it as it is
// and needs no npm, the page bundles it. Lengths are CSS pixels, times seconds.
import {num} from './words.js';

export const KINDS = 8;  // colours for kinds of jobs (colours.js)

/** Colours of the style sheet (data/palette.json) for a canvas. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue('--' + name).trim();
  return {
    ink: of('ink'), ink2: of('ink2'), ink3: of('ink3'), line: of('line'), grid: of('grid'), slot: of('slot'),
    surface: of('surface'), late: of('late'), accent: of('accent'), now: of('now'), warn: of('warn'), good: of('good'), idle: of('idle'),
    kinds: [...Array.from({length: KINDS}, (_, i) => of('k' + i)), of('k-other')],
  };
}
/** Black or white: what can be read on a colour like #2a78d6. @param {string} fill */
export function inkOn(fill) {
  const hex = fill.length === 4 ? fill.replace(/[^#]/g, '$&$&') : fill;
  const [r, g, b] = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000' : '#fff';
}

/** First index whose value is beyond `t`. @template T @param {T[]} list @param {number} t @param {(one: T) => number} of */
export function after(list, t, of) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(list[middle]) > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
               3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000];
/**
 * Instants for the labels of a time axis: round ones, and not closer together than `apart` pixels.
 * @param {number} t0 @param {number} t1 @param {number} width @param {boolean} calendar the reader's time of day
 */
export function timeTicks(t0, t1, width, calendar, apart = 90) {
  const want = (t1 - t0) / Math.max(2, width / apart), step = STEPS.find(s => s >= want) ?? STEPS[STEPS.length - 1];
  const shift = calendar ? -60 * new Date(t1 * 1000).getTimezoneOffset() : 0, at = [];
  for (let n = Math.ceil((t0 + shift) / step - 1e-9); n * step - shift <= t1 + step * 1e-9; ++n) at.push(n * step - shift);
  return {step, at};
}
/** 1, 2, 2.5 or 5 times a power of ten: about `count` steps over the range. @param {number} range @param {number} count */
export function roundStep(range, count) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(1e-9, range / count)));
  return unit * ([1, 2, 2.5, 5].find(f => unit * f >= range / count * (1 - 1e-9)) ?? 10);
}

/**
 * The box beside the pointer. Whatever comes from a job is set as text.
 * @param {HTMLElement} tip @param {number} x @param {number} y @param {number} width of what it lies over
 * @param {string} title @param {string[]} rows
 */
export function showTip(tip, x, y, width, title, rows) {
  const head = document.createElement('b');
  head.textContent = title;
  tip.replaceChildren(...(title ? [head] : []), ...rows.map(words => {
    const row = document.createElement('div');
    row.textContent = words;
    return row;
  }));
  tip.hidden = false;
  const wide = tip.offsetWidth;
  tip.style.left = Math.max(0, x + 14 + wide > width ? x - wide - 14 : x + 14) + 'px';
  tip.style.top = y + 14 + 'px';
}

/** @typedef {{fill: number, deadline: number|null, future: boolean, mark: number, text: string, until?: number, how?: string, held?: boolean}} Bar
 *  fill: which kind's colour; mark: 1 is chosen, -1 another one is, 0 none; until: where the expected part of a running
 *  job ends; how: 'failed' (it ended badly) or 'stopped' (it goes on later); held: it may not start yet. */

/** A canvas with one time axis: `t0` to `t1` lie between `left` and `right`. */
export class TimeCanvas {
  /** @param {HTMLCanvasElement} canvas @param {number} left for the names of bands */
  constructor(canvas, left) {
    this.canvas = canvas;
    this.left = left;
    this.g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.width = 0;
    this.height = 0;
    this.t0 = 0;
    this.t1 = 1;
    this.calls = 0;  // shapes drawn since it was cleared
    this.colours = readColours();
    this.inks = /** @type {string[]} */ ([]);  // readable on each kind's colour
    this.hatch = /** @type {string|CanvasPattern} */ (this.colours.late);
    this.restyle();
  }
  restyle() {
    this.colours = readColours();
    this.inks = this.colours.kinds.map(inkOn);
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const g = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
    g.fillStyle = this.colours.late;
    g.fillRect(0, 0, 6, 6);
    g.strokeStyle = this.colours.surface;
    g.lineWidth = 1.4;
    g.beginPath();
    g.moveTo(-1, 7);
    g.lineTo(7, -1);
    g.stroke();
    this.hatch = this.g.createPattern(tile, 'repeat') ?? this.colours.late;
  }
  /** @param {number} width @param {number} height */
  resize(width, height) {
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.width = width;
    this.height = height;
    this.canvas.style.height = height + 'px';
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.g.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  get right() { return this.width - 8; }
  /** @param {number} t */
  x(t) { return this.left + (t - this.t0) / (this.t1 - this.t0) * (this.right - this.left); }
  /** @param {number} x */
  time(x) { return this.t0 + (x - this.left) / (this.right - this.left) * (this.t1 - this.t0); }

  clear() {
    this.calls = 0;
    this.g.clearRect(0, 0, this.width, this.height);
    this.font();
    this.g.textBaseline = 'middle';
  }
  font(weight = '') { this.g.font = weight + ' 11px system-ui, sans-serif'; }
  /** @param {number} x @param {number} y @param {number} w @param {number} h @param {string|CanvasPattern} fill */
  rect(x, y, w, h, fill) {
    ++this.calls;
    this.g.fillStyle = fill;
    this.g.fillRect(x, y, w, h);
  }
  /** @param {string} words @param {number} x @param {number} y @param {string} colour @param {CanvasTextAlign} align */
  text(words, x, y, colour, align = 'left') {
    ++this.calls;
    this.g.fillStyle = colour;
    this.g.textAlign = align;
    this.g.fillText(words, x, y);
  }
  /** Vertical lines. @param {number[]} at @param {number} top @param {number} bottom */
  grid(at, top, bottom) {
    for (const t of at) this.rect(Math.round(this.x(t)), top, 1, bottom - top, this.colours.grid);
  }
  /** @param {number[]} at @param {number} y @param {(t: number) => string} words @param {number} [not] a pixel to keep free */
  timeLabels(at, y, words, not = -1e9) {
    for (const t of at) {
      const x = this.x(t);
      if (x < this.left - 20 || x > this.right + 1 || Math.abs(x - not) < 60) continue;
      const text = words(t), half = this.g.measureText(text).width / 2;  // the last one is moved rather than cut
      this.text(text, Math.min(x, this.width - half), y, this.colours.ink2, 'center');
    }
  }
  /** The name of a band, left of it, with as many notes as there is room for.
   *  @param {number} top @param {number} height @param {string} name @param {[string, string][]} notes words and colours */
  bandName(top, height, name, notes, colour = this.colours.ink) {
    this.font('600');
    this.text(name, 2, top + Math.min(9, height / 2), colour);
    this.font();
    notes.forEach(([words, of], i) => { if (height > 26 + 14 * i) this.text(words.slice(0, 13), 2, top + 23 + 14 * i, of); });
    this.rect(this.left, top + height, this.right - this.left, 1, this.colours.grid);
  }
  /** A slice that exists. @param {number} y @param {number} h @param {number} from @param {number} to */
  slice(y, h, from, to) {
    const x0 = Math.max(this.left, this.x(from)), x1 = Math.min(this.right, this.x(to));
    if (x1 - x0 >= 0.2) this.rect(x0, y, x1 - x0, h - 1, this.colours.slot);
  }
  /** Where a reshape cut the band. @param {number} top @param {number} at */
  cut(top, at) {
    const x = this.x(at);
    if (x > this.left + 1 && x < this.right) this.rect(Math.round(x), top - 3, 1, 3, this.colours.ink3);
  }
  /** A job on its slice: what is past its deadline is hatched, what is expected paler with dashed edges; a cross marks
   *  the end of one that failed, an arrow that of one that was stopped and goes on later.
   *  @param {number} y @param {number} height @param {number} begin @param {number} end @param {Bar} job
   *  @returns {number} its width in pixels; 0: it is out of sight */
  bar(y, height, begin, end, job) {
    const {g, colours: c} = this, last = Math.max(end, job.until ?? end);
    const x0 = Math.max(this.left, this.x(begin)), x1 = Math.min(this.right, this.x(last));
    if (x1 < this.left || x0 > this.right) return 0;
    const h = height - 1, w = Math.max(0.7, x1 - x0 - (x1 - x0 > 3 ? 0.7 : 0)), fill = c.kinds[job.fill];
    const rest = job.mark < 0, solid = job.future ? x0 : Math.min(x0 + w, Math.max(x0, this.x(end)));
    g.globalAlpha = rest ? 0.45 : 1;
    if (solid > x0) this.rect(x0, y, solid - x0, h, fill);
    if (solid < x0 + w) {
      g.globalAlpha *= job.held ? 0.16 : 0.42;
      this.rect(solid, y, x0 + w - solid, h, fill);
    }
    g.globalAlpha = rest ? 0.5 : 1;
    if (x0 + w - solid > 2) {
      g.strokeStyle = fill;
      g.setLineDash(job.held ? [1, 3] : [3, 2]);
      g.strokeRect(solid + 0.5, y + 0.5, x0 + w - solid - 1, h - 1);
      g.setLineDash([]);
    }
    const late = job.deadline !== null && last > job.deadline;
    if (job.deadline !== null && late) {
      const xl = Math.max(x0, this.x(Math.max(begin, job.deadline)));
      if (job.future) g.globalAlpha *= 0.75;
      if (xl < x0 + w) this.rect(xl, y, x0 + w - xl, h, this.hatch);
    }
    if (job.deadline !== null && (w > 14 || job.mark > 0)) this.flag(job.deadline, y, h, late);
    g.globalAlpha = 1;
    if (job.how) this.ended(x0, x0 + w, y, h, job.how);
    if (w > 26 && h > 9 && job.text) {  // in two inks, where the words lie on what is expected, too
      const words = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ ink) => {
        if (to - from < 1) return;
        g.save();
        g.beginPath();
        g.rect(from, y, to - from, h);
        g.clip();
        this.text(job.text, x0 + 4, y + h / 2 + 0.5, rest ? c.ink : ink);
        g.restore();
      };
      const end = x0 + w - (job.how ? 12 : 2);
      words(x0, Math.min(solid, end), this.inks[job.fill]);
      words(solid, end, c.ink);
    }
    if (job.mark > 0) {
      g.strokeStyle = c.ink;
      g.lineWidth = 1.6;
      g.strokeRect(x0 + 0.5, y + 0.5, Math.max(1, w - 1), h - 1);
      g.lineWidth = 1;
    }
    return w;
  }
  /** @param {number} x0 @param {number} x1 @param {number} y @param {number} h @param {string} how */
  ended(x0, x1, y, h, how) {
    const {g, colours: c} = this, size = Math.min(4, h / 2 - 1), x = x1 - size - 2.5, middle = y + h / 2;
    this.rect(Math.max(x0, x1 - 2), y, Math.min(2, x1 - x0), h, how === 'failed' ? c.ink : c.ink2);
    if (x1 - x0 < 14 || size < 1.5) return;
    this.rect(x1 - 2 * size - 5, y, 2 * size + 5, h, c.surface);
    g.strokeStyle = c.ink;
    g.lineWidth = 1.6;
    g.beginPath();
    g.moveTo(x - size, middle - size);
    if (how === 'failed') {
      g.lineTo(x + size, middle + size);
      g.moveTo(x + size, middle - size);
      g.lineTo(x - size, middle + size);
    } else {
      g.lineTo(x + size, middle);
      g.lineTo(x - size, middle + size);
    }
    g.stroke();
    g.lineWidth = 1;
  }
  /** How much of a band is in use, by colour, where single bars would be too narrow to be seen: columns `step` pixels
   *  wide. @param {number} bottom @param {number} unit pixels of one memory slice @param {number} step
   *  @param {Float32Array[]} columns for each colour, slices in use; the last one: those past their deadline */
  density(bottom, unit, step, columns) {
    const last = columns.length - 1, count = columns[0].length;
    for (let i = 0; i < count; ++i) {
      let y = bottom;
      for (let k = 0; k < last; ++k) {
        const h = columns[k][i] * unit;
        if (h < 0.05) continue;
        y -= h;
        this.rect(this.left + i * step, y, step, h, this.colours.kinds[k]);
      }
      const late = columns[last][i] * unit;
      if (late > 0.3) this.rect(this.left + i * step, bottom - late, step, late, this.hatch);
    }
  }
  /** @param {number} deadline @param {number} y @param {number} h @param {boolean} late */
  flag(deadline, y, h, late) {
    const x = this.x(deadline), {g} = this;
    if (x < this.left || x > this.right) return;
    this.rect(x, y - 1, 1, h + 1, late ? this.colours.late : this.colours.ink2);
    g.beginPath();
    g.moveTo(x, y - 1);
    g.lineTo(x + 6, y + 1.5);
    g.lineTo(x, y + 4);
    g.fill();
  }
  /** Horizontal lines with their values on the left; gives the highest, a round one.
   *  @param {number} top @param {number} height @param {number} most @param {string} title @param {number} [count] */
  valueAxis(top, height, most, title, count = 3) {
    const step = roundStep(most, count), max = Math.max(step, Math.ceil(most / step - 1e-9) * step), c = this.colours;
    this.font('600');
    this.text(title, this.left, top - 10, c.ink);
    this.font();
    for (let n = 0; n * step <= max * (1 + 1e-9); ++n) {
      const y = Math.round(top + height - n * step / max * height);
      this.rect(this.left, y, this.right - this.left, 1, c.grid);
      this.text(num(n * step), this.left - 8, y, c.ink2, 'right');
    }
    return max;
  }
  /** Values that hold until the next instant, the last until `end`; once a pixel.
   *  @param {number[]} times @param {number[]} values @param {number} end @param {number} top @param {number} height
   *  @param {number} max @param {string} colour */
  steps(times, values, end, top, height, max, colour) {
    const {g} = this, first = Math.max(0, after(times, this.t0, t => t) - 1), last = Math.min(this.right, this.x(Math.min(end, this.t1)));
    const line = new Path2D(), area = new Path2D(), Y = (/** @type {number} */ v) => top + height - v / max * height;
    let y = 0, x = -1;
    for (let i = first; i < times.length && times[i] <= this.t1; ++i) {
      const next = Math.max(this.left, this.x(times[i]));
      if (x < 0) {
        area.moveTo(next, top + height);
        line.moveTo(next, Y(values[i]));
        area.lineTo(next, Y(values[i]));
      } else {
        if (next - x < 0.4 && i + 1 < times.length) continue;  // below what the picture can show
        for (const path of [line, area]) {
          path.lineTo(next, y);
          path.lineTo(next, Y(values[i]));
        }
      }
      x = next;
      y = Y(values[i]);
    }
    if (x < 0) return;
    for (const path of [line, area]) path.lineTo(last, y);
    area.lineTo(last, top + height);
    area.closePath();
    g.globalAlpha = 0.2;
    g.fillStyle = colour;
    g.fill(area);
    g.globalAlpha = 1;
    g.strokeStyle = colour;
    g.lineWidth = 1.3;
    g.stroke(line);
    g.lineWidth = 1;
    this.calls += 2;
  }
}
