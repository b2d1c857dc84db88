// Numbers with their units. What is not known is "n/a", never zero.
export const NA = 'n/a';
type Maybe = number|null|undefined;
const missing = (v: Maybe): v is null|undefined => v === null || v === undefined || !Number.isFinite(v);

export function num(v: Maybe, digits?: number): string {
  if (missing(v)) return NA;
  const a = Math.abs(v);
  const d = digits ?? (a >= 100 ? 0 : a >= 10 ? 1 : a >= 1 ? 2 : a === 0 ? 0 : 3);
  return v.toLocaleString('en-US', {minimumFractionDigits: digits ?? 0, maximumFractionDigits: d})
      .replace(/,/g, '\u202f').replace('-', '\u2212');
}
export const watts = (v: Maybe) => missing(v) ? NA : num(v, 0) + ' W';
export function energy(j: Maybe): string {
  if (missing(j)) return NA;
  const a = Math.abs(j);
  return a < 1e4 ? num(j, 0) + ' J' : a < 3.6e6 ? num(j / 1e3) + ' kJ' : num(j / 3.6e6) + ' kWh';
}
export function span(s: Maybe): string {
  if (missing(s)) return NA;
  const a = Math.abs(s);
  return a < 1 ? num(s, 1) + ' s' : a < 120 ? num(s, 0) + ' s' : a < 7200 ? num(s / 60, a < 600 ? 1 : 0) + ' min' :
      a < 172800 ? num(s / 3600, 1) + ' h' : num(s / 86400, 1) + ' d';
}
export function mib(v: Maybe): string {
  return missing(v) ? NA : v < 1024 ? num(v, 0) + ' MiB' : num(v / 1024, 1) + ' GiB';
}
export const money = (v: Maybe) => missing(v) ? NA : num(v, Math.abs(v) < 10 ? 3 : 2);
export const percent = (v: Maybe) => missing(v) ? NA : num(100 * v, 1) + ' %';
export function signed(v: Maybe, words: (v: number) => string): string {
  if (missing(v)) return NA;
  const text = words(Math.abs(v));
  return text === words(0) ? 'same' : (v < 0 ? '\u2212' : '+') + text;
}

const pad = (n: number) => String(n).padStart(2, '0');
// A world with a calendar shows the time of day here; a simulation counts days from 0.
export class Clock {
  constructor(readonly calendar: boolean) {}
  time(t: Maybe, seconds = true): string {
    if (missing(t)) return NA;
    if (this.calendar) {
      const d = new Date(t * 1000);
      return pad(d.getHours()) + ':' + pad(d.getMinutes()) + (seconds ? ':' + pad(d.getSeconds()) : '');
    }
    const day = Math.floor(t / 86400), s = t - 86400 * day;
    const text = pad(Math.floor(s / 3600)) + ':' + pad(Math.floor(s % 3600 / 60)) + (seconds ? ':' + pad(Math.floor(s % 60)) : '');
    return day > 0 ? `day ${day + 1} ${text}` : text;
  }
  full(t: Maybe): string {
    if (missing(t)) return NA;
    if (!this.calendar) return this.time(t);
    const d = new Date(t * 1000);
    return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${this.time(t)}`;
  }
  // The day only where it is not that of `now`.
  near(t: Maybe, now: number): string {
    if (missing(t)) return NA;
    if (!this.calendar) return this.time(t);
    const same = new Date(t * 1000).toDateString() === new Date(now * 1000).toDateString();
    return same ? this.time(t) : this.full(t);
  }
}
