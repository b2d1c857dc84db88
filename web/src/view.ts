// Where the reader looks: the instant, the window around it, what is chosen. Kept in the address, so that a link leads
// to the same instant.
import {Comparison, Why} from './types';
import {World} from './world';

export class View {
  at: number|null = null;  // null: the edge of what has happened, wherever that is
  past = 900; future = 450;  // seconds left and right of the instant
  job: string|null = null;   // a label
  gpu: number|null = null;
  why: Why|null = null;
  whatif: Comparison|null = null;
  playing = false; speed = 60;
  private listeners: (() => void)[] = [];

  constructor(readonly world: World) {
    if (!world.live) {
      const length = Math.max(60, world.now() - world.history.begin);
      this.past = Math.min(length, 6 * 3600);
      this.future = Math.min(length, 3 * 3600);
      this.speed = Math.max(1, Math.round(length / 120));
    }
    this.readAddress();
  }
  on(listener: () => void) { this.listeners.push(listener); }
  changed() {
    this.writeAddress();
    for (const listener of this.listeners) listener();
  }
  get following() { return this.at === null; }
  instant() { return this.at ?? this.world.now(); }
  get t0() { return this.instant() - this.past; }
  get t1() { return this.instant() + this.future; }

  goTo(t: number|null) {
    if (t !== null) {
      const first = this.world.history.begin, last = this.world.now();
      t = Math.min(Math.max(t, Number.isFinite(first) ? first : t), last);
      if (this.world.live && t >= last - 0.5) t = null;
    }
    this.at = t;
    this.changed();
  }
  zoom(factor: number) {
    const whole = Math.max(60, this.world.now() - this.world.history.begin) * 1.2;
    this.past = Math.min(Math.max(this.past * factor, 10), Math.max(whole, 3600 * 24 * 31));
    this.future = Math.min(Math.max(this.future * factor, 5), Math.max(whole, 3600 * 24 * 31));
    this.changed();
  }
  choose(job: string|null) {
    if (this.job !== job) this.why = null;
    this.job = job;
    this.changed();
  }

  private readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const number = (key: string) => given.has(key) && Number.isFinite(Number(given.get(key))) ? Number(given.get(key)) : null;
    this.at = number('t');
    this.past = number('past') ?? this.past;
    this.future = number('future') ?? this.future;
    this.gpu = number('gpu');
    this.job = given.get('job');
  }
  private writeAddress() {
    const put = new URLSearchParams();
    if (this.at !== null) put.set('t', this.at.toFixed(3));
    put.set('past', this.past.toFixed(0));
    put.set('future', this.future.toFixed(0));
    if (this.job !== null) put.set('job', this.job);
    if (this.gpu !== null) put.set('gpu', String(this.gpu));
    const next = '#' + put.toString();
    if (next !== location.hash && performance.now() - this.written > 200) {
      this.written = performance.now();
      history.replaceState(null, '', next);
    }
  }
  private written = 0;
  link(): string {
    const put = new URLSearchParams(location.hash.slice(1));
    put.set('t', this.instant().toFixed(3));
    return location.origin + location.pathname + '#' + put.toString();
  }
}
