// A recorded day that plays (smartmig export --html): one world, or two over the same jobs under one cursor. Every picture
// is a function of the instant alone, so that a link, a step back and a film show the same. The data of each world are
// those of report.js (src/report/chart_data.cc). #t=SECONDS in the address opens at an instant, at rest.
import {coloursOf} from './colours.js';
import {after, TimeCanvas, timeTicks} from './draw.js';
import {dayTime, energy, num, span} from './words.js';

const one = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const FLIGHT = 0.45, MORPH = 0.35;  // seconds on the screen: from the queue to a slice, from one layout to the next
const GAP = 5, DOT = 7;

/** @typedef {{gpu: number, start: number, length: number, begin: number, end: number}} Slice
 *  @typedef {{name: string, kind: string, submit: number, deadline: number|null, finish: number|null, stays: (Slice & {profile: string})[]}} Job
 *  @typedef {{t: number[], late: number[], joules: number[], watts: number[]}} Score */

class Day {
  /** @param {{name: string, data: any}} from */
  constructor({name, data: D}) {
    const tick = D.tick;
    this.name = name;
    this.end = D.end * tick;
    this.gpus = /** @type {[string, number][]} */ (D.gpus);
    /** @type {Job[]} */
    this.jobs = D.jn.map((/** @type {string|number} */ label, /** @type {number} */ i) => ({
      name: String(label), kind: D.kinds[D.jk[i]][0], submit: D.js[i] * tick, deadline: D.jd[i] === null ? null : D.jd[i] * tick,
      finish: D.jf[i] === null ? null : D.jf[i] * tick, stays: []}));
    for (let o = 0; o < D.r.length; o += 7)
      this.jobs[D.r[o]].stays.push({gpu: D.r[o + 1], start: D.r[o + 2], length: D.r[o + 3], profile: D.p[D.r[o + 4]], begin: D.r[o + 5] * tick, end: (D.r[o + 5] + D.r[o + 6]) * tick});
    this.jobs.sort((a, b) => a.submit - b.submit);
    /** @type {Slice[][]} by GPU */
    this.slices = this.gpus.map(() => []);
    for (let o = 0; o < D.s.length; o += 5)
      this.slices[D.s[o]].push({gpu: D.s[o], start: D.s[o + 1], length: D.s[o + 2], begin: D.s[o + 3] * tick, end: (D.s[o + 3] + D.s[o + 4]) * tick});
    const made = new Set();  // a reshape is an instant at which slices of a GPU appear
    this.slices.forEach(list => list.forEach(s => { if (s.begin > 0) made.add(s.gpu + ' ' + s.begin); }));
    this.reshapes = [...made].map(key => Number(String(key).split(' ')[1])).sort((a, b) => a - b);
    this.score = this.scoreOf(D);
    this.starts = this.jobs.flatMap(j => j.stays.map(s => ({begin: s.begin, words: `${j.name} ${s.gpu} ${s.start} ${s.profile}`}))).sort((a, b) => a.begin - b.begin || (a.words < b.words ? -1 : 1));
  }
  /** Lateness and joules so far, at every step of the watts. @param {any} D @returns {Score} */
  scoreOf(D) {
    const t = D.t.map((/** @type {number} */ v) => v * D.tick), joules = [0], watts = D.w;
    for (let i = 1; i < t.length; ++i) joules.push(joules[i - 1] + watts[i - 1] * (t[i] - t[i - 1]));
    return {t, joules, watts, late: t.map((/** @type {number} */ at) => this.lateness(at))};
  }
  /** Seconds of lateness of all jobs until then. @param {number} t */
  lateness(t) {
    let sum = 0;
    for (const j of this.jobs)
      if (j.deadline !== null && j.submit <= t) sum += Math.max(0, Math.min(j.finish ?? Infinity, t) - j.deadline);
    return sum;
  }
  /** @param {number} t */
  joules(t) {
    const {t: at, joules, watts} = this.score, i = Math.max(0, after(at, t, v => v) - 1);
    return joules[i] + watts[i] * Math.max(0, Math.min(t, this.end) - at[i]);
  }
  /** @param {number} t */
  counts(t) {
    let waiting = 0, running = 0, done = 0, late = 0;
    for (const j of this.jobs) {
      if (j.submit > t) break;
      if (j.finish !== null && j.finish <= t) {
        ++done;
        if (j.deadline !== null && j.finish > j.deadline) ++late;
      } else if (j.stays.some(s => s.begin <= t && t < s.end)) ++running;
      else ++waiting;
    }
    return {waiting, running, done, late, reshapes: after(this.reshapes, t, v => v)};
  }
}

const days = /** @type {Day[]} */ (JSON.parse(one('data').textContent ?? '').map((/** @type {any} */ from) => new Day(from)));
const END = Math.max(1, ...days.map(d => d.end)), colours = coloursOf(days.flatMap(d => d.jobs.map(j => j.kind)));
const reduced = matchMedia('(prefers-reduced-motion: reduce)').matches;
/** The first start that is not the same in both. @returns {number|null} */
function whereTheyPart() {
  if (days.length < 2) return null;
  const [a, b] = days.map(d => d.starts);
  for (let i = 0; i < Math.max(a.length, b.length); ++i)
    if (!a[i] || !b[i] || a[i].words !== b[i].words || Math.abs(a[i].begin - b[i].begin) > 1e-3) return Math.min(a[i]?.begin ?? Infinity, b[i]?.begin ?? Infinity);
  return null;
}
const part = whereTheyPart();

/** A world on its canvas: the queue on the left, boards in the middle, what is done on the right. */
class Stage {
  /** @param {Day} day @param {HTMLElement} into */
  constructor(day, into) {
    this.day = day;
    const box = document.createElement('div'), head = document.createElement('h2'), canvas = document.createElement('canvas');
    head.textContent = day.name;
    this.figures = document.createElement('p');
    this.figures.className = 'figures';
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', `Queue, slices and ended jobs under ${day.name}; the figures above say the same in numbers`);
    box.append(head, this.figures, canvas);
    into.append(box);
    this.box = box;
    this.paint = new TimeCanvas(canvas, 0);
  }
  /** Where the parts lie. */
  measure() {
    const width = Math.max(300, Math.floor(this.box.clientWidth)), rows = this.day.gpus.length;
    const columns = rows > 16 ? 2 : 1, high = Math.ceil(rows / columns);
    const board = Math.max(14, Math.min(46, Math.floor(330 / high))), height = Math.max(190, high * (board + GAP) + 24);
    this.queueWidth = Math.round(width * 0.22);
    this.doneWidth = Math.max(74, Math.round(width * 0.13));
    this.boardLeft = this.queueWidth + 34;
    this.boardWidth = (width - this.boardLeft - this.doneWidth - 16 - 30 * (columns - 1)) / columns;
    this.high = high;
    this.boardHeight = board;
    this.paint.resize(width, height);
  }
  /** @param {number} gpu @param {number} start @param {number} length @returns {[number, number, number, number]} */
  rect(gpu, start, length) {
    const column = Math.floor(gpu / /** @type {number} */ (this.high)), unit = /** @type {number} */ (this.boardWidth) / this.day.gpus[gpu][1];
    const x = /** @type {number} */ (this.boardLeft) + column * (/** @type {number} */ (this.boardWidth) + 30);
    return [x + start * unit, 18 + gpu % /** @type {number} */ (this.high) * (/** @type {number} */ (this.boardHeight) + GAP), length * unit, /** @type {number} */ (this.boardHeight)];
  }
  /** The place of the n-th waiting job: the first stands next to the boards. @param {number} n @returns {[number, number, number, number]} */
  waitingAt(n) {
    const rows = Math.max(1, Math.floor((this.paint.height - 26) / (DOT + 2))), column = Math.floor(n / rows);
    return [/** @type {number} */ (this.queueWidth) - (column + 1) * (DOT + 2), 18 + n % rows * (DOT + 2), DOT, DOT];
  }
  /** @param {number} t @param {number} speed seconds of the day in one of the screen */
  draw(t, speed) {
    const {paint, day} = this, {g, colours: c} = paint, flight = FLIGHT * speed, morph = MORPH * speed;
    paint.clear();
    paint.font('600');
    paint.text('waiting', 2, 8, c.ink2);
    paint.text('done', paint.width - /** @type {number} */ (this.doneWidth), 8, c.ink2);
    paint.font();
    day.gpus.forEach((_, gpu) => this.board(gpu, t, morph));
    /** @type {{job: Job, stay: Slice, from: [number, number, number, number]}[]} */
    const flying = [];
    const flightOf = (/** @type {Slice} */ stay) => Math.min(flight, 0.3 * (stay.end - stay.begin));  // short jobs are quick
    let waiting = 0, inTime = 0, late = 0;
    for (const job of day.jobs) {
      if (job.submit > t) break;
      if (job.finish !== null && job.finish <= t) {
        if (job.deadline !== null && job.finish > job.deadline) ++late;
        else ++inTime;
        const stay = job.stays[job.stays.length - 1];
        if (stay && t - job.finish < flight / 2) this.leaves(job, stay, (t - job.finish) / (flight / 2));
        continue;
      }
      const stay = job.stays.find(s => s.begin <= t && t < s.end);
      if (!stay) this.dot(job, this.waitingAt(waiting++), t, 1);
      else if (t - stay.begin < flightOf(stay) && stay.begin > 0) flying.push({job, stay, from: this.waitingAt(Math.min(waiting, 400))});
      else this.runs(job, stay, t);
    }
    for (const {job, stay, from} of flying) this.flies(job, stay, from, (t - stay.begin) / flightOf(stay), t);
    this.done(inTime, late);
    const n = day.counts(t), lateness = day.lateness(t);
    this.figures.textContent = `${energy(day.joules(t))} · ${span(lateness)} late in all, ${num(n.late, 0)} jobs · ${num(n.reshapes, 0)} reshapes · ${num(n.running, 0)} run, ${num(n.waiting, 0)} wait, ${num(n.done, 0)} done`;
    g.globalAlpha = 1;
  }
  /** Slices as they are, and for a moment as they come out of those before them. @param {number} gpu @param {number} t @param {number} morph */
  board(gpu, t, morph) {
    const {paint, day} = this, {g, colours: c} = paint, [x, y, w, h] = this.rect(gpu, 0, day.gpus[gpu][1]), list = day.slices[gpu];
    paint.text(String(gpu), x - 6, y + h / 2, c.ink3, 'right');
    g.strokeStyle = c.line;
    g.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
    for (const s of list) {
      if (s.begin > t || s.end + morph < t) continue;
      let [start, length, alpha] = [s.start, s.length, 1];
      const born = s.begin > 0 ? (t - s.begin) / morph : 1;
      if (t >= s.end) {  // it is gone: it grows into the slice that holds it now, or fades
        const into = list.find(o => o.begin >= s.end && o.begin <= t && o.start <= s.start && o.start + o.length >= s.start + s.length && o.length > s.length);
        const p = Math.min(1, (t - (into?.begin ?? s.end)) / morph);
        if (p >= 1) continue;
        alpha = 1 - p;
        if (into) [start, length] = [s.start + (into.start - s.start) * ease(p), s.length + (into.length - s.length) * ease(p)];
      } else if (born < 1) {
        const of = list.find(o => o.end <= s.begin && o.end > s.begin - 20 * morph - 60 && o.start <= s.start && o.start + o.length >= s.start + s.length && o.length > s.length);
        if (of) [start, length] = [of.start + (s.start - of.start) * ease(born), of.length + (s.length - of.length) * ease(born)];
        else alpha = born;
      }
      const [sx, sy, sw, sh] = this.rect(gpu, start, length);
      g.globalAlpha = alpha;
      paint.rect(sx + 1, sy + 1, Math.max(1, sw - 2), sh - 2, c.slot);
    }
    g.globalAlpha = 1;
  }
  /** @param {Job} job @param {Slice} stay @param {number} t */
  runs(job, stay, t) {
    const {paint} = this, {g} = paint, fill = colours.get(job.kind) ?? 0, [x, y, w, h] = this.rect(stay.gpu, stay.start, stay.length);
    const share = Math.min(1, Math.max(0, (t - stay.begin) / Math.max(1e-9, stay.end - stay.begin)));
    g.globalAlpha = 0.35;
    paint.rect(x + 1, y + 1, Math.max(1, w - 2), h - 2, paint.colours.kinds[fill]);
    g.globalAlpha = 1;
    paint.rect(x + 1, y + 1, Math.max(1, (w - 2) * share), h - 2, paint.colours.kinds[fill]);
    if (job.deadline !== null && t > job.deadline) paint.rect(x + 1, y + h - 5, Math.max(1, w - 2), 4, paint.hatch);
    if (w <= 30 || h <= 12) return;
    for (const [from, to, ink] of /** @type {[number, number, string][]} */ ([[x, x + w * share, paint.inks[fill]], [x + w * share, x + w - 3, paint.colours.ink]])) {
      g.save();
      g.beginPath();
      g.rect(from, y, Math.max(0, to - from), h);
      g.clip();
      paint.text(job.name, x + 5, y + h / 2, ink);
      g.restore();
    }
  }
  /** @param {Job} job @param {[number, number, number, number]} box @param {number} t @param {number} alpha */
  dot(job, [x, y, w, h], t, alpha) {
    if (x < -10) return;
    const {paint} = this;
    paint.g.globalAlpha = alpha;
    paint.rect(x, y, w, h, paint.colours.kinds[colours.get(job.kind) ?? 0]);
    if (job.deadline !== null && t > job.deadline) paint.rect(x, y + h / 2, w, h / 2, paint.hatch);
    paint.g.globalAlpha = 1;
  }
  /** @param {Job} job @param {Slice} stay @param {[number, number, number, number]} from @param {number} p @param {number} t */
  flies(job, stay, from, p, t) {
    const to = this.rect(stay.gpu, stay.start, stay.length), e = ease(p);
    this.dot(job, /** @type {[number, number, number, number]} */ (from.map((v, i) => v + (to[i] - v) * e)), t, 0.9);
  }
  /** @param {Job} job @param {Slice} stay @param {number} p */
  leaves(job, stay, p) {
    const [x, y, w, h] = this.rect(stay.gpu, stay.start, stay.length), from = [x + w / 2, y + h / 2, DOT, DOT], late = job.deadline !== null && /** @type {number} */ (job.finish) > job.deadline;
    const to = [this.paint.width - /** @type {number} */ (this.doneWidth) + (late ? 44 : 10), this.paint.height - 20, DOT, DOT], e = ease(p);
    this.dot(job, /** @type {[number, number, number, number]} */ (from.map((v, i) => v + (to[i] - v) * e)), /** @type {number} */ (job.finish), 1 - p);
  }
  /** @param {number} inTime @param {number} late */
  done(inTime, late) {
    const {paint, day} = this, c = paint.colours, x = paint.width - /** @type {number} */ (this.doneWidth), top = 34, bottom = paint.height - 18, all = Math.max(1, day.jobs.length);
    for (const [i, [words, count, fill]] of /** @type {[string, number, string|CanvasPattern][]} */ ([['in time', inTime, c.good], ['late', late, paint.hatch]]).entries()) {
      const left = x + i * 40, h = (bottom - top) * count / all;
      paint.rect(left, top, 26, bottom - top, c.slot);
      paint.rect(left, bottom - h, 26, h, fill);
      paint.text(words, left + 13, bottom + 9, c.ink2, 'center');
      paint.text(num(count, 0), left + 13, top - 8, c.ink, 'center');
    }
  }
}
/** @param {number} p */
const ease = p => p <= 0 ? 0 : p >= 1 ? 1 : p * p * (3 - 2 * p);

const stages = days.map(day => new Stage(day, one('worlds')));
const score = new TimeCanvas(/** @type {HTMLCanvasElement} */ (one('score')), 76);
let t = 0, playing = false, speed = END / 60, last = 0;

function drawScore() {
  const top = 22, high = 70, gap = 34, second = top + high + gap, bottom = second + high, c = score.colours;
  score.resize(one('chart').clientWidth, bottom + 26);
  score.clear();
  score.t0 = 0;
  score.t1 = END;
  const ticks = timeTicks(0, END, score.right - score.left, false);
  for (const y of [top, second]) score.grid(ticks.at, y, y + high);
  const most = Math.max(1, ...days.map(d => d.score.late[d.score.late.length - 1] ?? 0)), colour = (/** @type {number} */ i) => i === 0 ? c.accent : c.warn;
  const scale = score.valueAxis(top, high, most / 3600, 'Lateness of all jobs so far, hours', 2), kwh = Math.max(1e-9, ...days.map(d => d.joules(END))) / 3.6e6;
  score.g.save();
  score.g.beginPath();
  score.g.rect(0, 0, Math.max(score.left, score.x(t)), score.height);
  score.g.clip();
  days.forEach((d, i) => score.steps(d.score.t, d.score.late.map(v => v / 3600), d.end, top, high, scale, colour(i)));
  score.g.restore();
  const kwhScale = score.valueAxis(second, high, kwh, 'Energy so far, kWh', 2);
  score.g.save();
  score.g.beginPath();
  score.g.rect(0, 0, Math.max(score.left, score.x(t)), score.height);
  score.g.clip();
  days.forEach((d, i) => score.steps(d.score.t, d.score.joules.map(v => v / 3.6e6), d.end, second, high, kwhScale, colour(i)));
  score.g.restore();
  days.forEach((d, i) => score.text(d.name, score.right - 4, top + 8 + 14 * i, colour(i), 'right'));
  score.timeLabels(ticks.at, bottom + 14, at => dayTime(at, ticks.step));
  if (part !== null) {
    const x = Math.round(score.x(part));
    for (let y = top; y < bottom; y += 6) score.rect(x, y, 1, 3, c.ink2);
    score.text('they part', Math.min(x + 4, score.right - 60), top - 10 + (x < score.left + 240 ? high + 24 : 0), c.ink2);
  }
  score.rect(Math.round(score.x(t)) - 1, top - 4, 2, bottom - top + 6, c.now);
}
function draw() {
  for (const stage of stages) stage.draw(Math.min(t, stage.day.end), speed);
  drawScore();
  const words = dayTime(t, 60);
  one('clock').textContent = words;
  one('score').setAttribute('aria-valuetext', words);
  for (const [name, value] of [['aria-valuemin', 0], ['aria-valuemax', END], ['aria-valuenow', t]]) one('score').setAttribute(String(name), String(Math.round(Number(value))));
}
/** @param {number} time */
function frame(time) {
  if (!playing) return;
  t += Math.min(0.2, (time - last) / 1000) * speed;
  last = time;
  if (t >= END) {
    t = END;
    play(false);
  }
  draw();
  if (playing) requestAnimationFrame(frame);
}
/** @param {boolean} on */
function play(on) {
  if (on && t >= END) t = 0;
  const begins = on && !playing;
  playing = on;
  one('play').textContent = on ? 'Pause' : 'Play';
  one('play').setAttribute('aria-pressed', String(on));
  if (!on) history.replaceState(null, '', '#t=' + t.toFixed(1));
  if (!begins) return;
  last = performance.now();
  requestAnimationFrame(frame);
}
/** @param {number} at */
function seek(at) {
  t = Math.min(END, Math.max(0, at));
  if (!playing) history.replaceState(null, '', '#t=' + t.toFixed(1));
  draw();
}
/** @param {1|-1} step */
function reshape(step) {
  const all = days.flatMap(d => d.reshapes).sort((a, b) => a - b), i = step > 0 ? after(all, t + 1e-6, v => v) : after(all, t - 1e-3, v => v) - 1;
  if (all[i] !== undefined) seek(all[i]);
}
function measure() {
  stages.forEach(stage => stage.measure());
  draw();
}

const speeds = /** @type {HTMLSelectElement} */ (one('speed'));
for (const seconds of [15, 30, 60, 120, 300, 1200]) speeds.add(new Option(`the day in ${seconds < 120 ? seconds + ' s' : seconds / 60 + ' min'}`, String(END / seconds), seconds === 60, seconds === 60));
speeds.onchange = () => { speed = Number(speeds.value); draw(); };
one('play').onclick = () => play(!playing);
one('part').hidden = part === null;
one('part').onclick = () => { play(false); seek(part ?? 0); };
one('full').onclick = () => void (document.fullscreenElement ? document.exitFullscreen() : document.querySelector('.replay')?.requestFullscreen());
for (const [name, colour] of colours) {
  const item = document.createElement('li'), key = document.createElement('i');
  key.className = 'k' + colour;
  item.append(key, name);
  one('legend').append(item);
}
const pointed = (/** @type {PointerEvent} */ e) => { if (e.buttons) seek(score.time(e.offsetX)); };
one('score').addEventListener('pointerdown', pointed);
one('score').addEventListener('pointermove', pointed);
addEventListener('keydown', e => {
  if (e.target instanceof HTMLSelectElement || e.ctrlKey || e.metaKey || e.altKey) return;
  const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
  if (key === ' ') { if (e.target instanceof HTMLButtonElement) return; play(!playing); }
  else if (key === 'ArrowRight') seek(t + speed / 2);
  else if (key === 'ArrowLeft') seek(t - speed / 2);
  else if (key === 'PageDown') reshape(1);
  else if (key === 'PageUp') reshape(-1);
  else if (key === 'Home') seek(0);
  else if (key === 'End') seek(END);
  else if (key === 'p' && part !== null) { play(false); seek(part); }
  else if (key === 'f') one('full').click();
  else return;
  e.preventDefault();
});
function readAddress() {
  const at = Number(new URLSearchParams(location.hash.slice(1)).get('t') ?? NaN);
  if (Number.isFinite(at)) {
    play(false);
    seek(at);
  }
  return Number.isFinite(at);
}
addEventListener('hashchange', readAddress);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const paint of [score, ...stages.map(s => s.paint)]) paint.restyle();
  draw();
});
new ResizeObserver(measure).observe(one('worlds'));
measure();
if (!readAddress() && !reduced) play(true);
Object.assign(window, {replay: {days, seek, counts: () => days.map(d => d.counts(t)), part, at: () => t}});
