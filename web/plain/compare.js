// The small power curves of a comparison: the same axes for each policy (drawn by draw.js). A canvas says in its data
// attributes which colour it has; its steps are in the script element "data" that src/report/compare_report.cc writes.
import {TimeCanvas, timeTicks} from './draw.js';
import {dayTime} from './words.js';

const D = JSON.parse(/** @type {HTMLElement} */ (document.getElementById('data')).textContent ?? '');
const curves = Array.from(document.querySelectorAll('canvas')).map((canvas, i) => {
  const paint = new TimeCanvas(canvas, 44);
  paint.t1 = Math.max(1e-6, D.end_s);
  return {paint, curve: D.curves[i]};
});
function draw() {
  for (const {paint, curve} of curves) {
    const top = 22, height = 76, width = /** @type {HTMLElement} */ (paint.canvas.parentElement).clientWidth;
    if (width === 0) continue;
    paint.resize(width, top + height + 24);
    paint.clear();
    const ticks = timeTicks(0, D.end_s, paint.right - paint.left, false, 62);
    paint.grid(ticks.at, top, top + height);
    const most = paint.valueAxis(top, height, D.most_w, 'W', 2);
    paint.steps(curve.at_s, curve.watts, curve.end_s, top, height, most, paint.colours.kinds[curve.colour]);
    paint.timeLabels(ticks.at, top + height + 13, t => dayTime(t, ticks.step));
  }
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const {paint} of curves) paint.restyle();
  draw();
});
new ResizeObserver(draw).observe(document.body);
draw();
