// Numbers with their units, on the page in a browser and in reports. What is not known is "n/a", never zero.
// Plain JavaScript, so that a report can carry it as it is.
/** @typedef {number|null|undefined} Maybe */
export const NA = 'n/a';
/** @param {Maybe} v @returns {v is null|undefined} */
export const missing = v => v === null || v === undefined || !Number.isFinite(v);

/** @param {Maybe} v @param {number} [digits] */
export function num(v, digits) {
  if (missing(v)) return NA;
  const a = Math.abs(v);
  const d = digits ?? (a >= 100 ? 0 : a >= 10 ? 1 : a >= 1 ? 2 : a === 0 ? 0 : 3);
  return v.toLocaleString('en-US', {minimumFractionDigits: digits ?? 0, maximumFractionDigits: d})
      .replace(/,/g, '\u202f').replace('-', '\u2212');
}
/** @param {Maybe} v */
export const watts = v => missing(v) ? NA : num(v, 0) + ' W';
/** @param {Maybe} j */
export function energy(j) {
  if (missing(j)) return NA;
  const a = Math.abs(j);
  return a < 1e4 ? num(j, 0) + ' J' : a < 3.6e6 ? num(j / 1e3) + ' kJ' : num(j / 3.6e6) + ' kWh';
}
/** @param {Maybe} s */
export function span(s) {
  if (missing(s)) return NA;
  const a = Math.abs(s);
  return a < 1 ? num(s, 1) + ' s' : a < 120 ? num(s, 0) + ' s' : a < 7200 ? num(s / 60, a < 600 ? 1 : 0) + ' min' :
      a < 172800 ? num(s / 3600, 1) + ' h' : num(s / 86400, 1) + ' d';
}
/** @param {number} n */
export const pad = n => String(n).padStart(2, '0');
/** Seconds of a simulation as a clock. @param {number} t @param {number} step seconds between the labels beside it */
export function dayTime(t, step = 1) {
  const decimals = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3, grain = 10 ** decimals;
  t = Math.floor(t * grain + 1e-6) / grain;
  const day = Math.floor(t / 86400), s = t - 86400 * day;
  const seconds = decimals ? (s % 60).toFixed(decimals).padStart(3 + decimals, '0') : pad(Math.floor(s % 60));
  return (day > 0 ? `day ${day + 1} ` : '') + pad(Math.floor(s / 3600)) + ':' + pad(Math.floor(s % 3600 / 60)) +
      (step < 60 ? ':' + seconds : '');
}
