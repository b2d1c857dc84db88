// Where the reader looks: the instant, the window around it, what is chosen. Kept in the address, so that a link leads
// to the same instant. The window may leave the instant: `past` and `future` are its edges, seen from the instant.
import {Comparison, Why} from './types';
import {World} from './world';

const LEAST = 2, MOST = 3600 * 24 * 400;  // seconds in the window

// What was asked of the future, and when: an answer is about the state that it was asked of.
export interface Asked { answer: Comparison; at: number; events: number; }

export class View {
  at: number|null = null;  // null: the edge of what has happened, wherever that is
  past = 900; future = 450;  // seconds left and right of the instant
  job: string|null = null;   // a label
  gpu: number|null = null;
  why: Why|null = null;
  asked: Asked|null = null;
  playing = false; speed = 60;
  fitted = true;  // false: the window still waits for the first future to be fitted to
  private listeners: (() => void)[] = [];
  private written = 0;
  private writing = 0;

  constructor(readonly world: World) {
    this.open();
    this.readAddress();
    addEventListener('hashchange', () => {
      this.readAddress();
      this.changed();
    });
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
  get whatif(): Comparison|null { return this.asked?.answer ?? null; }

  // How it opens: fitted to what there is. A living world shows at most its last half hour, a recorded one all, at the
  // instant at which most jobs run.
  private open() {
    const {world} = this, begin = Number.isFinite(world.history.begin) ? world.history.begin : world.info.began_at ?? world.now() - 60;
    if (world.live) {
      this.fitted = false;
      this.past = this.fittedPast(begin);
      this.future = this.past / 2;
      return;
    }
    this.speed = Math.max(1, Math.round((world.now() - begin) / 60));
    this.at = world.history.busiest();
    this.fitWindow();
  }
  private fittedPast(begin: number) { return Math.min(1800, Math.max(20, this.world.now() - begin) * 1.02); }
  // Called when a future of a living world is known: fits the window to the first in which something runs.
  fitFuture() {
    if (this.fitted || !this.world.futures?.stays.length) return;
    this.fitted = true;
    if (Number.isFinite(this.world.history.begin)) this.past = this.fittedPast(this.world.history.begin);
    this.future = Math.min(Math.max(this.world.horizon() - this.world.now(), 30), Math.max(2 * this.past, 600)) * 1.03;
    this.changed();
  }
  // All that has happened and all that is expected.
  fit() {
    this.fitWindow();
    this.changed();
  }
  private fitWindow() {
    const {world} = this, begin = Number.isFinite(world.history.begin) ? world.history.begin : world.now() - 60;
    const margin = 0.01 * Math.max(10, world.horizon() - begin);
    this.fitted = true;
    this.past = this.instant() - begin + margin;
    this.future = world.horizon() - this.instant() + margin;
  }

  goTo(t: number|null) {
    if (t !== null) {
      const first = this.world.history.begin, last = this.world.now();
      t = Math.min(Math.max(t, Number.isFinite(first) ? first : t), last);
      if (this.world.live && t >= last - 0.5) t = null;
    }
    this.at = t;
    this.changed();
  }
  // The instant moves, the window stays.
  point(t: number) {
    const {t0, t1} = this;
    this.at = Math.min(Math.max(t, this.world.history.begin), this.world.now());
    if (this.world.live && this.at >= this.world.now() - 0.5) this.at = null;
    this.past = this.instant() - t0;
    this.future = t1 - this.instant();
    this.changed();
  }
  // What lies at `t` stays where it is; without it, the instant does.
  zoom(factor: number, t = this.instant()) {
    const length = (this.past + this.future) * factor;
    if (length < LEAST || length > MOST) return;
    this.fitted = true;
    const {t0, t1} = this;
    this.past = this.instant() - (t - (t - t0) * factor);
    this.future = t + (t1 - t) * factor - this.instant();
    this.changed();
  }
  choose(job: string|null) {
    if (this.job !== job) this.why = null;
    this.job = job;
    this.changed();
  }

  // What makes no sense is ignored.
  private readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const number = (key: string) => given.has(key) && given.get(key) !== '' && Number.isFinite(Number(given.get(key))) ? Number(given.get(key)) : null;
    const past = number('past') ?? this.past, future = number('future') ?? this.future, t = number('t'), gpu = number('gpu'), job = given.get('job');
    if (past + future >= LEAST && past + future <= MOST && Math.abs(past) <= MOST && Math.abs(future) <= MOST) {
      if (given.has('past') || given.has('future')) this.fitted = true;
      this.past = past;
      this.future = future;
    }
    const first = this.world.history.begin, last = this.world.now();
    if (t !== null && t >= first - 1 && t <= last + 1) this.at = Math.min(Math.max(t, first), last);
    else if (!given.has('t') && this.world.live) this.at = null;
    if (gpu !== null && Number.isInteger(gpu) && gpu >= 0 && gpu < this.world.info.gpus.length) this.gpu = gpu;
    if (job !== null && /^[\w.:-]{1,100}$/.test(job)) this.job = job;
    else if (job === null) this.job = null;
  }
  // At most five times a second, and once more when the last change is past.
  private writeAddress() {
    clearTimeout(this.writing);
    const wait = this.written + 200 - performance.now();
    if (wait > 0) {
      this.writing = window.setTimeout(() => this.writeAddress(), wait);
      return;
    }
    const next = this.address();
    if (next === location.hash) return;
    this.written = performance.now();
    history.replaceState(null, '', next);
  }
  private address(at: number|null = this.at): string {
    const put = new URLSearchParams();
    if (at !== null) put.set('t', at.toFixed(3));
    put.set('past', this.past.toFixed(0));
    put.set('future', this.future.toFixed(0));
    if (this.job !== null) put.set('job', this.job);
    if (this.gpu !== null) put.set('gpu', String(this.gpu));
    return '#' + put.toString();
  }
  link(): string { return location.origin + location.pathname + this.address(this.instant()); }
}
