// The time axis: each GPU a band, its lanes the memory slices, jobs as bars in them, reshapes as cuts, deadlines as
// flags, lateness hatched in a colour of its own. Left of "now" what happened, right of it what the simulator expects,
// paler and with whiskers for the spread. Drawn on a canvas as large as what is visible; the page scrolls behind it.
import {Bar, after, showTip, TimeCanvas, timeTicks} from '../plain/draw.js';
import {el} from './dom';
import {span} from './format';
import {profileOf, startOf} from './history';
import {JobColours} from './palette';
import {FutureStay, JobFuture, Model} from './types';
import {View} from './view';
import {World} from './world';

const AXIS = 26, GAP = 8;

interface FutureLane { stays: FutureStay[]; layouts: {at: number; slices: string[]}[]; }
export interface Hit { label: string; gpu: number; slice: string; begin: number; end: number; future: boolean; }

export class Lanes {
  readonly node: HTMLElement;
  private canvas = el('canvas', {role: 'img', tabindex: 0, 'aria-label': 'Jobs on the slices of every GPU over time; the list below says the same in words'});
  private scroller: HTMLElement;
  private spacer = el('div', {class: 'spacer'});
  private tip = el('div', {class: 'tip', hidden: true});
  readonly paint = new TimeCanvas(this.canvas, 86);
  private models: Model[] = [];
  private unit = 7; private tops: number[] = []; private total = 0;
  private future = new Map<number, FutureLane>();
  private futureOf = new Map<number, JobFuture>();
  private hits: Hit[] = [];
  private boxes: number[] = [];
  onChoose: (hit: Hit) => void = () => {};

  constructor(private world: World, private view: View, private jobs: JobColours) {
    this.scroller = el('div', {class: 'lanes-scroll'}, this.canvas, this.spacer);
    this.node = el('div', {class: 'lanes'}, this.scroller, this.tip);
    this.listen();
    this.restyle();
    new ResizeObserver(() => this.measure()).observe(this.node);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.restyle());
  }

  restyle() {
    this.paint.restyle();
    this.measure();
  }

  private measure() {
    const models = this.models = this.names().map(name => this.world.info.models[name] ?? this.world.info.models[this.world.info.gpus[0]]), box = this.node.getBoundingClientRect();
    const units = models.reduce((n, m) => n + m.memory_slices, 0), most = Math.max(240, Math.min(620, innerHeight * 0.62));
    this.unit = Math.max(3, Math.min(9, Math.floor((most - GAP * models.length) / Math.max(1, units))));
    if (models.length > 40) this.unit = 5;
    this.tops = [];
    let y = 4;
    for (const model of models) {
      this.tops.push(y);
      y += model.memory_slices * this.unit + GAP;
    }
    this.total = y;
    const height = Math.min(this.total, Math.round(most)) + AXIS;
    this.scroller.style.height = height + 'px';
    this.spacer.style.height = Math.max(0, this.total - (height - AXIS)) + 'px';
    this.paint.resize(Math.max(200, Math.round(box.width)), height);
    this.draw();
  }

  // Those of the world, and what a what-if adds to them.
  private names(): string[] { return this.view.whatif && this.view.whatif.gpus.length > this.world.info.gpus.length ? this.view.whatif.gpus : this.world.info.gpus; }

  // What stands right of now: the expected future, or the one of a what-if.
  setFuture(stays: FutureStay[], layouts: {at: number; gpu: number; slices: string[]}[], jobs: JobFuture[]) {
    this.future.clear();
    this.futureOf = new Map(jobs.map(j => [j.id, j]));
    const lane = (gpu: number) => {
      let of = this.future.get(gpu);
      if (!of) this.future.set(gpu, of = {stays: [], layouts: []});
      return of;
    };
    for (const stay of stays) lane(stay.gpu).stays.push(stay);
    for (const step of layouts) lane(step.gpu).layouts.push(step);
    if (this.tops.length !== this.names().length) this.measure();
  }

  scrollToGpu(gpu: number) { this.scroller.scrollTop = Math.max(0, (this.tops[gpu] ?? 0) - 20); }

  draw() {
    const {paint, view} = this, {g} = paint, bottom = paint.height - AXIS, scroll = this.scroller.scrollTop;
    paint.t0 = view.t0;
    paint.t1 = view.t1;
    paint.clear();
    this.hits = [];
    this.boxes = [];
    const ticks = timeTicks(view.t0, view.t1, paint.width - paint.left, this.world.clock.calendar);
    paint.grid(ticks.at, 0, bottom);
    g.save();
    g.beginPath();
    g.rect(0, 0, paint.width, bottom);
    g.clip();
    const first = Math.max(0, after(this.tops, scroll, y => y) - 1), now = this.world.now();
    for (let gpu = first; gpu < this.tops.length && this.tops[gpu] - scroll < bottom; ++gpu)
      this.band(gpu, this.tops[gpu] - scroll, now);
    this.highlights(scroll);
    g.restore();
    const xn = Math.round(paint.x(view.instant())), word = view.following && this.world.live ? 'now ' : '';
    paint.rect(xn - 1, 0, 2, bottom + 4, paint.colours.now);
    paint.timeLabels(ticks.at, bottom + 14, t => this.world.clock.time(t, ticks.step < 60), xn);
    paint.font('600');
    paint.text(word + this.world.clock.time(view.instant()), Math.min(Math.max(xn, paint.left + 40), paint.width - 44), bottom + 14, paint.colours.now, 'center');
  }

  private band(gpu: number, top: number, now: number) {
    const {paint, view, unit} = this, {g, colours: c} = paint, model = this.models[gpu], past = this.world.history.gpus[gpu];
    const height = model.memory_slices * unit, t0 = view.t0, t1 = view.t1, board = this.world.gpus?.[gpu];
    const notes: [string, string][] = [board && board.state !== 'ok' ? [board.state, c.warn] : [past ? this.names()[gpu] : 'one more', c.ink3]];
    if (board && view.following) notes.push([Math.round(board.watts_w) + ' W', c.ink2]);
    paint.bandName(top, height, 'GPU ' + gpu, notes, view.gpu === gpu ? c.accent : c.ink);
    // Slices that exist, from step to step; the gaps between them are the cuts.
    const lane = this.future.get(gpu), edge = Math.min(now, t1);
    if (past) for (let i = Math.max(0, after(past.layouts, t0, l => l.at) - 1); i < past.layouts.length && past.layouts[i].at < edge; ++i)
      this.slices(gpu, top, past.layouts[i].slices, Math.max(t0, past.layouts[i].at), Math.min(edge, past.layouts[i + 1]?.at ?? edge), i > 0);
    if (this.world.live && t1 > now) {
      const steps = [{at: now, slices: past ? this.world.history.layoutAt(gpu, now) : []}, ...(lane?.layouts ?? [])];
      for (let i = 0; i < steps.length && steps[i].at < t1; ++i)
        this.slices(gpu, top, steps[i].slices, Math.max(now, steps[i].at), Math.min(t1, steps[i + 1]?.at ?? t1), i > 0);
    }
    for (const slot of past?.slots ?? []) {
      let drawn = -1;
      for (let i = Math.max(0, after(slot, t0, s => s.begin) - 1); i < slot.length && slot[i].begin < t1; ++i) {
        const stay = slot[i], end = Math.min(stay.end, now), x1 = paint.x(end);
        if (stay.end <= t0 || x1 <= drawn + 0.4) continue;  // hidden by the one before it
        drawn = x1;
        this.bar(stay.job, gpu, stay.slice, top + stay.start * unit, stay.length * unit, stay.begin, end, false);
      }
    }
    if (this.world.live && lane && t1 > now)
      for (const stay of lane.stays) {
        if (stay.end_at <= t0 || stay.begin_at >= t1 || stay.end_at <= now) continue;
        const label = stay.id === null ? 'new' : this.world.jobs.get(stay.id)?.label ?? String(stay.id);
        const length = model.profiles[profileOf(stay.slice)]?.memory_slices ?? 1, y = top + startOf(stay.slice) * unit;
        this.bar(label, gpu, stay.slice, y, length * unit, Math.max(now, stay.begin_at), stay.end_at, true);
        const spread = stay.id !== null && stay.finished && !view.whatif ? this.futureOf.get(stay.id)?.finish_at : null;
        if (spread && stay.end_at < t1 && spread.p10 < t1) {  // from p10 to p90 of its end
          const a = Math.max(paint.left, paint.x(spread.p10)), b = Math.min(paint.right, paint.x(spread.p90)), ym = y + length * unit - 4;
          g.globalAlpha = view.job === null || view.job === label ? 0.7 : 0.3;
          paint.rect(a, ym, b - a, 1, c.ink2);
          paint.rect(a, ym - 2, 1, 5, c.ink2);
          paint.rect(b - 1, ym - 2, 1, 5, c.ink2);
          g.globalAlpha = 1;
        }
      }
  }

  private slices(gpu: number, top: number, slices: string[], from: number, to: number, cut: boolean) {
    for (const slice of slices)
      this.paint.slice(top + startOf(slice) * this.unit, (this.models[gpu].profiles[profileOf(slice)]?.memory_slices ?? 1) * this.unit, from, to);
    if (cut) this.paint.cut(top, from);
  }

  private bar(label: string, gpu: number, slice: string, y: number, height: number, begin: number, end: number, future: boolean) {
    const {view, world, paint} = this, name = world.title(label), wide = paint.x(end) - paint.x(begin) > 90;
    const job: Bar = {fill: this.jobs.of(label), deadline: world.deadline(label), future, mark: view.job === null ? 0 : view.job === label ? 1 : -1,
                      text: name && wide && name !== label ? `${label} ${name}` : label};
    const w = paint.bar(y, height, begin, end, job);
    if (w === 0) return;
    this.hits.push({label, gpu, slice, begin, end, future});
    this.boxes.push(Math.max(paint.left, paint.x(begin)), y, Math.max(3, w), height - 1);
  }

  private highlights(scroll: number) {
    const {view, unit, paint} = this, {g, colours: c} = paint, why = view.why;
    if (!why) return;
    const box = (gpu: number, slice: string, from: number, to: number, colour: string, words: string) => {
      const y = (this.tops[gpu] ?? 0) - scroll + startOf(slice) * unit, h = this.world.history.length(gpu, slice) * unit;
      const x0 = Math.max(paint.left, paint.x(from)), x1 = Math.min(paint.right, paint.x(to));
      if (x1 <= x0) return;
      g.strokeStyle = colour;
      g.lineWidth = 2;
      g.strokeRect(x0, y, x1 - x0, h - 1);
      g.lineWidth = 1;
      if (h > 9 && x1 - x0 > 70) paint.text(words, x0 + 4, y - 5, colour);
    };
    const now = this.world.now();
    for (const b of why.blocked_by) box(b.gpu, b.slice, Math.min(now, b.until_at) - view.past / 40, b.until_at, c.warn, 'in the way');
    const r = why.reservation;
    if (r) box(r.gpu, r.slice, r.start_at, r.finish_at, c.accent, 'kept for ' + view.job);
  }

  // ---- the pointer and the keys
  private hitAt(x: number, y: number): Hit|null {
    for (let i = this.hits.length - 1; i >= 0; --i) {
      const [bx, by, bw, bh] = this.boxes.slice(4 * i, 4 * i + 4);
      if (x >= bx && x <= bx + bw && y >= by && y <= by + bh) return this.hits[i];
    }
    return null;
  }

  private listen() {
    let drag: {x: number; t: number; moved: boolean}|null = null;
    this.canvas.addEventListener('pointerdown', e => {
      drag = {x: e.offsetX, t: this.view.instant(), moved: false};
      this.canvas.setPointerCapture(e.pointerId);
    });
    this.canvas.addEventListener('pointermove', e => {
      if (drag && Math.abs(e.offsetX - drag.x) > 3) {
        drag.moved = true;
        this.view.goTo(drag.t - (e.offsetX - drag.x) / (this.paint.right - this.paint.left) * (this.view.t1 - this.view.t0));
      }
      this.showTip(e.offsetX, e.offsetY);
    });
    this.canvas.addEventListener('pointerup', e => {
      if (drag && !drag.moved) {
        const hit = this.hitAt(e.offsetX, e.offsetY);
        if (hit) this.onChoose(hit);
        else if (e.offsetX > this.paint.left) this.view.goTo(this.paint.time(e.offsetX));
      }
      drag = null;
    });
    this.canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    this.canvas.addEventListener('wheel', e => {
      if (e.ctrlKey || e.metaKey) this.view.zoom(Math.exp(e.deltaY * 0.002));
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
        this.view.goTo(this.view.instant() + (e.deltaX || e.deltaY) / this.paint.width * (this.view.t1 - this.view.t0));
      else return;
      e.preventDefault();
    }, {passive: false});
    this.canvas.addEventListener('keydown', e => {
      const step = (this.view.t1 - this.view.t0) / 20;
      if (e.key === 'ArrowLeft') this.view.goTo(this.view.instant() - step);
      else if (e.key === 'ArrowRight') this.view.goTo(this.view.instant() + step);
      else if (e.key === '+' || e.key === '=') this.view.zoom(1 / 1.4);
      else if (e.key === '-') this.view.zoom(1.4);
      else if (e.key === 'End') this.view.goTo(null);
      else if (e.key === 'Home') this.view.goTo(this.world.history.begin);
      else return;
      e.preventDefault();
    });
    this.scroller.addEventListener('scroll', () => this.draw());
  }

  private showTip(x: number, y: number) {
    const hit = this.hitAt(x, y);
    if (!hit) {
      this.tip.hidden = true;
      return;
    }
    const world = this.world, job = world.byLabel.get(hit.label), deadline = world.deadline(hit.label);
    const rows = [
      `${world.clock.near(hit.begin, world.now())} to ${world.clock.near(hit.end, world.now())} (${span(hit.end - hit.begin)})${hit.future ? ', expected' : ''}`,
      `${profileOf(hit.slice)} at ${startOf(hit.slice)} of GPU ${hit.gpu}`,
    ];
    if (deadline !== null) rows.push(`deadline ${world.clock.near(deadline, world.now())}${hit.end > deadline ? `, ${span(hit.end - deadline)} late` : ''}`);
    if (job?.user) rows.push(job.user);
    showTip(this.tip, x, y, this.paint.width, `job ${hit.label} ${world.title(hit.label)}`, rows);
  }
}
