#include "report/chart_script.h"

namespace smartmig {

std::string_view chart_script() {
  return R"JS(
(function() {
'use strict';
// D.r has seven numbers for each stay: job, GPU, start, length, profile, begin, duration; D.s five for each instance:
// GPU, start, length, begin, duration; D.j* are by job; D.t, D.w, D.q are the steps of watts and queue. Times are in ticks.
// L and PR are the margins left and right, U the pixels of a memory slice, gy the top of each GPU's band.
const D = JSON.parse(document.getElementById('data').textContent), box = document.getElementById('chart'),
      cv = box.querySelector('canvas'), tip = document.getElementById('tip'), g = cv.getContext('2d');
const R = D.r, nR = R.length / 7, S = D.s, nS = S.length / 5, nG = D.gpus.length, L = 74, PR = 14, TOP = 4,
      GAP = nG > 24 ? 4 : 8, POWER = 130, QUEUE = 84, HEAD = 30, AXIS = 40;
const units = D.gpus.map(x => x[1]), total = units.reduce((a, b) => a + b, 0),
      U = Math.max(2, Math.min(9, Math.floor(560 / Math.max(1, total))));
const gy = [];
let y = TOP;
for (let i = 0; i < nG; i++) {
  gy.push(y);
  y += units[i] * U + GAP
}
const yP = y - GAP + HEAD, yQ = yP + POWER + HEAD, H = yQ + QUEUE + AXIS;
const maxW = Math.max(D.idle, ...D.w) || 1, maxQ = Math.max(2, ...D.q);
let W = 0, t0 = 0, t1 = Math.max(1, D.end), css = {}, hover = null, dragging = null;
const END = Math.max(1, D.end);
// Runs by GPU, in order of begin: a search finds the first that can be seen.
const byGpu = D.gpus.map(() => []);
for (let i = 0; i < nR; i++) byGpu[R[7 * i + 1]].push(i);
const longest = byGpu.map(a => a.reduce((m, i) => Math.max(m, R[7 * i + 6]), 0));
function colours() {
  const s = getComputedStyle(document.documentElement);
  for (const n of ['ink', 'ink2', 'ink3', 'line', 'grid', 'slot', 'surface', 'late', 'accent', 'idle'])
    css[n] = s.getPropertyValue('--' + n).trim();
  css.k = D.kinds.map(k => s.getPropertyValue('--' + k[1]).trim())
}
const X = t => L + (t - t0) / (t1 - t0) * (W - L - PR), T = x => t0 + (x - L) / (W - L - PR) * (t1 - t0);
function nice(range, n) {
  let u = 1;
  const r = range / n;
  while (u * 10 <= r) u *= 10;
  while (u > r) u /= 10;
  for (const f of [1, 2, 2.5, 5, 10])
    if (u * f >= r) return u * f;
  return u * 10
}
function num(v) {
  return v.toLocaleString('en-US', {maximumFractionDigits: v < 10 ? 2 : v < 100 ? 1 : 0}).replace(/,/g, '\u202f')
}
const pad = n => String(n).padStart(2, '0');
function clock(s, step) {
  const neg = s < 0;
  s = Math.abs(s);
  const d = Math.floor(s / 86400), h = Math.floor(s % 86400 / 3600), m = Math.floor(s % 3600 / 60), c = s % 60;
  const decimals = step < .01 ? 3 : step < .1 ? 2 : 1;
  let o;
  if (step < 1)
    o = (h || d ? d * 24 + h + ':' + pad(m) + ':' : m + ':') +
        c.toFixed(decimals).padStart(decimals + 3, '0');
  else if (step < 60)
    o = (d ? 'day ' + (d + 1) + ' ' : '') + (h || d || END * D.tick >= 3600 ? h + ':' + pad(m) : m) + ':' +
        pad(Math.floor(c));
  else
    o = (END * D.tick > 86400 * 1.5 ? 'day ' + (d + 1) + ' ' : '') + (END * D.tick > 86400 * 1.5 ? h : d * 24 + h) +
        ':' + pad(m);
  return (neg ? '\u2212' : '') + o
}
function span(s) {
  const a = Math.abs(s);
  return a < 1 ? num(s * 1000) + ' ms' :
      a < 120  ? num(s) + ' s' :
      a < 7200 ? num(s / 60) + ' min' :
                 num(s / 3600) + ' h'
}
const STEPS = [
  .001, .002, .005, .01, .02,  .05,  .1,   .2,    .5,    1,     2,     5,      10,     15,      30,      60,
  120,  300,  600,  900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000
];
function timeTicks() {
  const s = (t1 - t0) * D.tick, want = s / Math.max(3, (W - L - PR) / 105),
        step = STEPS.find(x => x >= want) || nice(s, 8), out = [];
  for (let v = Math.ceil(t0 * D.tick / step - 1e-9) * step; v <= t1 * D.tick + step * 1e-9; v += step) out.push(v);
  return [out, step]
}
function lower(a, f) {
  let lo = 0, hi = a.length;
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (f(a[m]))
      hi = m;
    else
      lo = m + 1
  }
  return lo
}
const stepAt = t => Math.max(0, lower(D.t, v => v > t) - 1);
function bars() {
  for (let i = 0; i < nS; i++) {
    const o = 5 * i, a = S[o + 3], b = a + S[o + 4];
    if (b < t0 || a > t1) continue;
    const x = Math.max(L, X(a)), w = Math.min(W - PR, X(b)) - x;
    g.fillStyle = css.slot;
    g.fillRect(x, gy[S[o]] + S[o + 1] * U, w, S[o + 2] * U - 1)
  }
  for (let q = 0; q < nG; q++) {
    const a = byGpu[q];
    for (let n = lower(a, i => R[7 * i + 5] >= t0 - longest[q]); n < a.length; n++) {
      const o = 7 * a[n], b = R[o + 5];
      if (b > t1) break;
      const e = b + R[o + 6];
      if (e < t0) continue;
      const x = Math.max(L, X(b)), xe = Math.min(W - PR, X(e)), w = Math.max(.6, xe - x), yy = gy[q] + R[o + 2] * U,
            h = R[o + 3] * U - 1, j = R[o];
      g.fillStyle = css.k[D.jk[j]];
      g.fillRect(x, yy, w > 3 ? w - .6 : w, h);
      const d = D.jd[j];
      if (d !== null && e > d) {
        const xl = Math.max(x, X(Math.max(b, d)));
        g.fillStyle = css.late;
        g.fillRect(xl, yy + h - Math.min(3, h / 2), Math.max(.6, xe - xl), Math.min(3, h / 2))
      }
      if (w > 46 && h >= 13) {
        g.fillStyle = '#fff';
        g.font = '11px system-ui,sans-serif';
        const s = String(D.jn[j]);
        if (g.measureText(s).width < w - 10) g.fillText(s, x + 5, yy + h / 2 + 4)
      }
    }
  }
}
function curve(v, top, height, max, fill, line) {
  g.beginPath();
  const a = stepAt(t0);
  let first = true, yy = 0;
  const Y = u => top + height - u / max * height;
  for (let i = a; i < D.t.length && D.t[i] <= t1; i++) {
    const x = Math.max(L, X(D.t[i]));
    if (first) {
      g.moveTo(x, top + height);
      g.lineTo(x, Y(v[i]));
      first = false
    } else {
      g.lineTo(x, yy);
      g.lineTo(x, Y(v[i]))
    }
    yy = Y(v[i])
  }
  const xe = Math.min(W - PR, X(END));
  g.lineTo(xe, yy);
  g.lineTo(xe, top + height);
  g.closePath();
  g.globalAlpha = .2;
  g.fillStyle = fill;
  g.fill();
  g.globalAlpha = 1;
  g.beginPath();
  first = true;
  for (let i = a; i < D.t.length && D.t[i] <= t1; i++) {
    const x = Math.max(L, X(D.t[i]));
    if (first) {
      g.moveTo(x, Y(v[i]));
      first = false
    } else {
      g.lineTo(x, yy);
      g.lineTo(x, Y(v[i]))
    }
    yy = Y(v[i])
  }
  g.lineTo(xe, yy);
  g.strokeStyle = line;
  g.lineWidth = 1.3;
  g.stroke();
}
function yaxis(top, height, max, title) {
  const st = nice(max, 3);
  g.font = '12px system-ui,sans-serif';
  g.fillStyle = css.ink;
  g.textAlign = 'left';
  g.fillText(title, L, top - 9);
  g.textAlign = 'right';
  for (let v = 0; v <= max + 1e-9; v += st) {
    const yy = Math.round(top + height - v / max * height) + .5;
    g.strokeStyle = css.grid;
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(L, yy);
    g.lineTo(W - PR, yy);
    g.stroke();
    g.fillStyle = css.ink2;
    g.fillText(num(v), L - 9, yy + 4)
  }
  g.textAlign = 'left'
}
function roundUp(m, n) {
  const s = nice(m, n);
  return Math.ceil(m / s - 1e-9) * s
}
const topW = roundUp(maxW, 3), topQ = roundUp(maxQ, 3);
function draw() {
  const dpr = window.devicePixelRatio || 1;
  W = box.clientWidth;
  cv.width = Math.round(W * dpr);
  cv.height = Math.round(H * dpr);
  cv.style.height = H + 'px';
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
  g.clearRect(0, 0, W, H);
  const [ticks, step] = timeTicks();
  g.strokeStyle = css.grid;
  g.lineWidth = 1;
  for (const v of ticks) {
    const x = Math.round(X(v / D.tick)) + .5;
    for (const [a, b] of [[TOP, yP - HEAD], [yP, yP + POWER], [yQ, yQ + QUEUE]]) {
      g.beginPath();
      g.moveTo(x, a);
      g.lineTo(x, b);
      g.stroke()
    }
  }
  bars();
  g.font = '12px system-ui,sans-serif';
  g.textAlign = 'right';
  const every = Math.max(1, Math.ceil(14 / ((units[0] || 8) * U + GAP)));
  for (let i = 0; i < nG; i += every) {
    g.fillStyle = css.ink2;
    g.fillText('GPU ' + i, L - 9, gy[i] + units[i] * U / 2 + 4)
  }
  g.textAlign = 'left';
  yaxis(yP, POWER, topW, 'Fleet power (W)');
  curve(D.w, yP, POWER, topW, css.accent, css.accent);
  const yi = yP + POWER - D.idle / topW * POWER;
  g.globalAlpha = .55;
  g.fillStyle = css.idle;
  g.fillRect(L, yi, Math.min(W - PR, X(END)) - L, yP + POWER - yi);
  g.globalAlpha = 1;
  g.fillStyle = css.ink2;
  g.font = '11px system-ui,sans-serif';
  if (D.idle / topW * POWER > 13) g.fillText('idle floor ' + num(D.idle) + ' W', L + 6, yi + 12);
  yaxis(yQ, QUEUE, topQ, 'Jobs waiting');
  curve(D.q, yQ, QUEUE, topQ, css.ink3, css.ink2);
  g.fillStyle = css.ink2;
  g.textAlign = 'center';
  g.font = '12px system-ui,sans-serif';
  for (const v of ticks) {
    const x = X(v / D.tick);
    const s = clock(v, step), w = g.measureText(s).width / 2;
    g.fillText(s, Math.min(W - w, Math.max(w, x)), yQ + QUEUE + 17)
  }
  g.fillText('time since the start (' + (step < 60 ? 'h:min:s' : 'h:min') + ')', (L + W - PR) / 2, yQ + QUEUE + 35);
  g.textAlign = 'left';
  if (hover !== null) {
    g.strokeStyle = css.ink3;
    g.lineWidth = 1;
    g.setLineDash([3, 3]);
    const x = Math.round(hover) + .5;
    g.beginPath();
    g.moveTo(x, TOP);
    g.lineTo(x, yQ + QUEUE);
    g.stroke();
    g.setLineDash([])
  }
}
let asked = false;
function redraw() {
  if (!asked) {
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw()
    })
  }
}
function view(a, b) {
  const least = Math.max(20, END * 1e-5), len = Math.min(END, Math.max(least, b - a));
  a = Math.max(0, Math.min(END - len, a));
  t0 = a;
  t1 = a + len;
  redraw()
}
function zoom(f, x) {
  const c = x === undefined ? (t0 + t1) / 2 : T(x);
  view(c - (c - t0) * f, c + (t1 - c) * f)
}
function find(x, yy) {
  const t = T(x), tol = 2 * (t1 - t0) / (W - L - PR);
  for (let q = 0; q < nG; q++) {
    if (yy < gy[q] || yy > gy[q] + units[q] * U) continue;
    const u = (yy - gy[q]) / U;
    let best = -1;
    const a = byGpu[q];
    for (let n = lower(a, i => R[7 * i + 5] >= t - longest[q] - tol); n < a.length; n++) {
      const o = 7 * a[n];
      if (R[o + 5] > t + tol) break;
      if (u >= R[o + 2] && u < R[o + 2] + R[o + 3] && R[o + 5] + R[o + 6] + tol >= t) {
        best = a[n];
        if (R[o + 5] <= t && t <= R[o + 5] + R[o + 6]) break
      }
    }
    return best
  }
  return -1
}
const esc = s => String(s).replace(/&/g, '&amp;').replace(/</g, '&lt;');
function show(e) {
  const b = cv.getBoundingClientRect(), x = e.clientX - b.left, yy = e.clientY - b.top;
  if (x < L || x > W - PR) {
    hide();
    return
  }
  hover = x;
  const t = T(x), i = stepAt(t), sec = D.tick, c = s => clock(s * sec, 1);
  let h = '';
  const r = find(x, yy);
  if (r >= 0) {
    const o = 7 * r, j = R[o], d = D.jd[j], f = D.jf[j];
    h += '<b>job ' + esc(D.jn[j]) + '</b> <span>' + esc(D.kinds[D.jk[j]][0]) + '</span><br><span>on</span> GPU ' +
        R[o + 1] + ', ' + D.p[R[o + 4]] + '@' + R[o + 2] + ' <span>for</span> ' + span(R[o + 6] * sec) +
        '<br><span>here</span> ' + c(R[o + 5]) + ' \u2013 ' + c(R[o + 5] + R[o + 6]) + '<br><span>submitted</span> ' +
        c(D.js[j]) + (d === null ? '' : '<span>, due</span> ' + c(d));
    if (f !== null) {
      const l = d === null ? 0 : (f - d) * sec;
      h += '<br><span>finished</span> ' + c(f) + (l > 0 ? ' <b class="late">' + span(l) + ' late</b>' : '')
    }
    h += '<br><span>active energy</span> ' + num(D.je[j] / 1000) + ' kJ<br>'
  }
  h += '<span>at</span> ' + c(t) + ': ' + num(D.w[i]) + ' W<span>, </span>' + num(D.q[i]) + ' <span>waiting</span>';
  tip.innerHTML = h;
  tip.style.display = 'block';
  const w = tip.offsetWidth, hh = tip.offsetHeight;
  tip.style.left = Math.min(W - w - 4, x + 16 > W - w - 4 ? x - w - 16 : x + 16) + 'px';
  tip.style.top = Math.max(0, Math.min(H - hh, yy + 14)) + 'px';
  redraw()
}
function hide() {
  hover = null;
  tip.style.display = 'none';
  redraw()
}
cv.addEventListener('pointerdown', e => {
  dragging = {x: e.clientX, a: t0, b: t1};
  cv.setPointerCapture(e.pointerId)
});
cv.addEventListener('pointermove', e => {
  if (dragging) {
    const d = (e.clientX - dragging.x) / (W - L - PR) * (dragging.b - dragging.a);
    view(dragging.a - d, dragging.b - d);
    hide()
  } else
    show(e)
});
for (const n of ['pointerup', 'pointercancel']) cv.addEventListener(n, () => {dragging = null});
cv.addEventListener('pointerleave', hide);
cv.addEventListener('dblclick', e => zoom(.4, e.clientX - cv.getBoundingClientRect().left));
cv.addEventListener('wheel', e => {
  if (!e.ctrlKey && !e.metaKey) return;
  e.preventDefault();
  zoom(Math.pow(1.0018, e.deltaY), e.clientX - cv.getBoundingClientRect().left)
}, {passive: false});
cv.addEventListener('keydown', e => {
  const d = (t1 - t0) * .2;
  if (e.key === 'ArrowLeft')
    view(t0 - d, t1 - d);
  else if (e.key === 'ArrowRight')
    view(t0 + d, t1 + d);
  else if (e.key === '+' || e.key === '=')
    zoom(.6);
  else if (e.key === '-')
    zoom(1 / .6);
  else if (e.key === '0')
    view(0, END);
  else
    return;
  e.preventDefault()
});
document.getElementById('in').onclick = () => zoom(.5);
document.getElementById('out').onclick = () => zoom(2);
document.getElementById('all').onclick = () => view(0, END);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  colours();
  redraw()
});
new ResizeObserver(redraw).observe(box);
colours();
draw();
})();
)JS";
}

}  // namespace smartmig
