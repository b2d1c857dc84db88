// The chart of a report of sim: slices, power and queue of a finished run on one time axis (drawn by draw.js). The data
// are numbers in a script element that src/report/chart_data.cc writes: D.r has seven for each stay (job, GPU, start,
// length, profile, begin, duration), D.s five for each instance (GPU, start, length, begin, duration); D.j* are by job;
// D.t, D.w, D.q are the steps of watts and queue. Times there are in ticks of D.tick seconds.
import {after, showTip, TimeCanvas, timeTicks} from './draw.js';
import {dayTime, energy, num, span, watts} from './words.js';

const one = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const D = JSON.parse(one('data').textContent ?? ''), box = one('chart'), tip = one('tip');
const canvas = /** @type {HTMLCanvasElement} */ (box.querySelector('canvas')), paint = new TimeCanvas(canvas, 86);
const END = Math.max(1, D.end) * D.tick, POWER = 130, QUEUE = 84, HEAD = 34, AXIS = 26, GAP = D.gpus.length > 24 ? 4 : 8;
/** @param {number[]} list */
const seconds = list => list.map(t => t * D.tick);
/** @param {(number|null)[]} list */
const maybe = list => list.map(t => t === null ? null : t * D.tick);
/** @param {number[]} list */
const highest = list => list.reduce((most, v) => Math.max(most, v), 0);
const steps = seconds(D.t), submit = seconds(D.js), deadline = maybe(D.jd), finish = maybe(D.jf);
const total = D.gpus.reduce((/** @type {number} */ n, /** @type {[string, number]} */ g) => n + g[1], 0);
const unit = Math.max(2, Math.min(9, Math.floor(560 / Math.max(1, total))));
/** @type {number[]} */
const tops = [];
let bottom = 6;
for (const [, slices] of D.gpus) {
  tops.push(bottom);
  bottom += slices * unit + GAP;
}
const powerTop = bottom - GAP + HEAD, queueTop = powerTop + POWER + HEAD, axisTop = queueTop + QUEUE;
/** @typedef {{job: number, gpu: number, start: number, length: number, profile: string, begin: number, end: number}} Stay */
/** @type {Stay[][]} by GPU, in order of begin */
const stays = D.gpus.map(() => []);
for (let o = 0; o < D.r.length; o += 7)
  stays[D.r[o + 1]].push({job: D.r[o], gpu: D.r[o + 1], start: D.r[o + 2], length: D.r[o + 3], profile: D.p[D.r[o + 4]],
                          begin: D.r[o + 5] * D.tick, end: (D.r[o + 5] + D.r[o + 6]) * D.tick});
const longest = stays.map(list => list.reduce((most, s) => Math.max(most, s.end - s.begin), 0));
let hover = -1, asked = false;
paint.t1 = END;

function draw() {
  paint.resize(box.clientWidth, axisTop + AXIS);
  paint.clear();
  const ticks = timeTicks(paint.t0, paint.t1, paint.right - paint.left, false), c = paint.colours;
  for (const [top, end] of [[0, bottom - GAP], [powerTop, powerTop + POWER], [queueTop, axisTop]]) paint.grid(ticks.at, top, end);
  const every = Math.max(1, Math.ceil(13 / ((D.gpus[0]?.[1] ?? 8) * unit + GAP)));
  tops.forEach((top, gpu) => {
    const [model, slices] = D.gpus[gpu];
    if (gpu % every === 0) paint.bandName(top, slices * unit, 'GPU ' + gpu, [[model, c.ink3]]);
  });
  for (let o = 0; o < D.s.length; o += 5) {
    const top = tops[D.s[o]], from = D.s[o + 3] * D.tick, to = from + D.s[o + 4] * D.tick;
    if (to < paint.t0 || from > paint.t1) continue;
    paint.slice(top + D.s[o + 1] * unit, D.s[o + 2] * unit, from, to);
    if (from > 0) paint.cut(top, from);
  }
  stays.forEach((list, gpu) => {
    for (let i = after(list, paint.t0 - longest[gpu], s => s.begin); i < list.length && list[i].begin <= paint.t1; ++i) {
      const s = list[i], text = String(D.jn[s.job]);
      if (s.end >= paint.t0)
        paint.bar(tops[gpu] + s.start * unit, s.length * unit, s.begin, s.end,
                  {fill: D.kinds[D.jk[s.job]][1], deadline: deadline[s.job], future: false, mark: 0, text});
    }
  });
  const most = paint.valueAxis(powerTop, POWER, Math.max(D.idle, highest(D.w)), 'Watts of all boards');
  paint.steps(steps, D.w, END, powerTop, POWER, most, c.accent);
  const floor = D.idle / most * POWER, x0 = Math.max(paint.left, paint.x(0));
  paint.g.globalAlpha = 0.55;
  paint.rect(x0, powerTop + POWER - floor, Math.min(paint.right, paint.x(END)) - x0, floor, c.idle);
  paint.g.globalAlpha = 1;
  if (floor > 13) paint.text('idle fleet ' + watts(D.idle), paint.left + 6, powerTop + POWER - floor + 8, c.ink);
  paint.steps(steps, D.q, END, queueTop, QUEUE, paint.valueAxis(queueTop, QUEUE, Math.max(2, highest(D.q)), 'Waiting jobs'), c.ink2);
  paint.timeLabels(ticks.at, axisTop + 14, t => dayTime(t, ticks.step));
  if (hover >= 0) paint.rect(Math.round(hover), 0, 1, axisTop, c.ink3);
}
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw();
  });
}
/** @param {number} from @param {number} to */
function view(from, to) {
  const length = Math.min(END, Math.max(20 * D.tick, END * 1e-5, to - from));
  paint.t0 = Math.max(0, Math.min(END - length, from));
  paint.t1 = paint.t0 + length;
  redraw();
}
/** @param {number} factor @param {number} [x] */
function zoom(factor, x) {
  const at = x === undefined ? (paint.t0 + paint.t1) / 2 : paint.time(x);
  view(at - (at - paint.t0) * factor, at + (paint.t1 - at) * factor);
}
/** @param {number} x @param {number} y @returns {Stay|undefined} */
function find(x, y) {
  const gpu = after(tops, y, top => top) - 1, t = paint.time(x), near = paint.time(x + 2) - t;
  if (gpu < 0) return undefined;
  const row = (y - tops[gpu]) / unit, list = stays[gpu];
  let best;
  for (let i = after(list, t - longest[gpu] - near, s => s.begin); i < list.length && list[i].begin <= t + near; ++i) {
    const s = list[i];
    if (row < s.start || row >= s.start + s.length || s.end + near < t) continue;
    if (s.begin <= t && t <= s.end) return s;
    best = s;
  }
  return best;
}
/** @param {PointerEvent} e */
function show(e) {
  if (e.offsetX < paint.left || e.offsetX > paint.right) return hide();
  hover = e.offsetX;
  const t = paint.time(hover), at = Math.max(0, after(steps, t, s => s) - 1), s = find(e.offsetX, e.offsetY), rows = [];
  let title = '';
  if (s) {
    const due = deadline[s.job], end = finish[s.job];
    title = `job ${D.jn[s.job]} ${D.kinds[D.jk[s.job]][0]}`;
    rows.push(`${dayTime(s.begin)} to ${dayTime(s.end)} (${span(s.end - s.begin)})`, `${s.profile} at ${s.start} of GPU ${s.gpu}`,
              `submitted ${dayTime(submit[s.job])}`);
    if (due !== null) rows.push(`deadline ${dayTime(due)}${end !== null && end > due ? `, ${span(end - due)} late` : ''}`);
    if (end !== null) rows.push(`finished ${dayTime(end)}`);
    rows.push(`active energy ${energy(D.je[s.job])}`);
  }
  rows.push(`at ${dayTime(t)}: ${watts(D.w[at])}, ${num(D.q[at])} waiting`);
  showTip(tip, e.offsetX, e.offsetY, paint.width, title, rows);
  redraw();
}
function hide() {
  hover = -1;
  tip.hidden = true;
  redraw();
}

/** @type {{x: number, from: number, to: number}|null} */
let drag = null;
canvas.addEventListener('pointerdown', e => {
  drag = {x: e.offsetX, from: paint.t0, to: paint.t1};
  canvas.setPointerCapture(e.pointerId);
});
canvas.addEventListener('pointermove', e => {
  if (!drag) return show(e);
  const moved = (e.offsetX - drag.x) / (paint.right - paint.left) * (drag.to - drag.from);
  view(drag.from - moved, drag.to - moved);
  hide();
});
for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, () => { drag = null; });
canvas.addEventListener('pointerleave', hide);
canvas.addEventListener('dblclick', e => zoom(0.4, e.offsetX));
canvas.addEventListener('wheel', e => {
  if (!e.ctrlKey && !e.metaKey) return;
  e.preventDefault();
  zoom(Math.exp(e.deltaY * 0.002), e.offsetX);
}, {passive: false});
canvas.addEventListener('keydown', e => {
  const step = (paint.t1 - paint.t0) / 5;
  if (e.key === 'ArrowLeft') view(paint.t0 - step, paint.t1 - step);
  else if (e.key === 'ArrowRight') view(paint.t0 + step, paint.t1 + step);
  else if (e.key === '+' || e.key === '=') zoom(1 / 1.4);
  else if (e.key === '-') zoom(1.4);
  else if (e.key === '0') view(0, END);
  else return;
  e.preventDefault();
});
one('in').onclick = () => zoom(0.5);
one('out').onclick = () => zoom(2);
one('all').onclick = () => view(0, END);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  paint.restyle();
  redraw();
});
new ResizeObserver(redraw).observe(box);
draw();
