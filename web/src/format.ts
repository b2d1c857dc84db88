// Numbers with their units beside those that reports have, too (plain/words.js), and the clock of a world.
import {dayTime, missing, NA, num, pad} from '../plain/words.js';
export {energy, NA, num, span, watts} from '../plain/words.js';
type Maybe = number|null|undefined;

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

// A world with a calendar shows the time of day here; a simulation counts days from 0.
export class Clock {
  constructor(readonly calendar: boolean) {}
  time(t: Maybe, seconds = true): string {
    if (missing(t)) return NA;
    if (this.calendar) {
      const d = new Date(t * 1000);
      return pad(d.getHours()) + ':' + pad(d.getMinutes()) + (seconds ? ':' + pad(d.getSeconds()) : '');
    }
    return dayTime(t, seconds ? 1 : 60);
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
