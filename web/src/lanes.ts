// The time axis: each GPU a band, its lanes the memory slices, jobs as bars in them, reshapes as cuts, deadlines as
// flags, lateness hatched in a colour of its own. Left of "now" what happened, right of it what the simulator expects,
// paler and with whiskers for the spread. Drawn on a canvas as large as what is visible; the page scrolls behind it.
import {el} from './dom';
import {span} from './format';
import {after, profileOf, startOf} from './history';
import {Colours, JobColours, KINDS, readColours} from './palette';
import {timeTicks} from './ticks';
import {FutureStay, JobFuture} from './types';
import {View} from './view';
import {World} from './world';

const LEFT = 86, AXIS = 26, GAP = 8;

interface FutureLane { stays: FutureStay[]; layouts: {at: number; slices: string[]}[]; }
export interface Hit { label: string; gpu: number; slice: string; begin: number; end: number; future: boolean; }

export class Lanes {
  readonly node: HTMLElement;
  private canvas = el('canvas', {role: 'img', tabindex: 0, 'aria-label': 'Jobs on the slices of every GPU over time; the list below says the same in words'});
  private scroller: HTMLElement;
  private spacer = el('div', {class: 'spacer'});
  private tip = el('div', {class: 'tip', hidden: true});
  private g: CanvasRenderingContext2D;
  private colours!: Colours;
  private hatch: CanvasPattern|null = null;
  private width = 0; private height = 0; private unit = 7; private tops: number[] = []; private total = 0;
  private future = new Map<number, FutureLane>();
  private futureOf = new Map<number, JobFuture>();
  private hits: Hit[] = [];
  private boxes: number[] = [];
  onChoose: (hit: Hit) => void = () => {};

  constructor(private world: World, private view: View, private jobs: JobColours) {
    this.scroller = el('div', {class: 'lanes-scroll'}, this.canvas, this.spacer);
    this.node = el('div', {class: 'lanes'}, this.scroller, this.tip);
    this.g = this.canvas.getContext('2d')!;
    this.listen();
    this.restyle();
    new ResizeObserver(() => this.measure()).observe(this.node);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.restyle());
  }

  restyle() {
    this.colours = readColours();
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const g = tile.getContext('2d')!;
    g.fillStyle = this.colours.late;
    g.fillRect(0, 0, 6, 6);
    g.strokeStyle = this.colours.surface;
    g.lineWidth = 1.4;
    g.beginPath();
    g.moveTo(-1, 7);
    g.lineTo(7, -1);
    g.stroke();
    this.hatch = this.g.createPattern(tile, 'repeat');
    this.measure();
  }

  private measure() {
    const models = this.models(), box = this.node.getBoundingClientRect();
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
    this.width = Math.max(200, Math.round(box.width));
    this.height = Math.min(this.total, Math.round(most)) + AXIS;
    this.scroller.style.height = this.height + 'px';
    this.canvas.style.height = this.height + 'px';
    this.spacer.style.height = Math.max(0, this.total - (this.height - AXIS)) + 'px';
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.g.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  // Those of the world, and what a what-if adds to them.
  private names(): string[] { return this.view.whatif && this.view.whatif.gpus.length > this.world.info.gpus.length ? this.view.whatif.gpus : this.world.info.gpus; }
  private models() { return this.names().map(name => this.world.info.models[name] ?? this.world.info.models[this.world.info.gpus[0]]); }

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

  private x = (t: number) => LEFT + (t - this.view.t0) / (this.view.t1 - this.view.t0) * (this.width - LEFT - 8);
  private timeAt = (x: number) => this.view.t0 + (x - LEFT) / (this.width - LEFT - 8) * (this.view.t1 - this.view.t0);

  draw() {
    const {g, colours: c, view} = this, bottom = this.height - AXIS, scroll = this.scroller.scrollTop;
    g.clearRect(0, 0, this.width, this.height);
    g.font = '11px system-ui, sans-serif';
    g.textBaseline = 'middle';
    this.hits = [];
    this.boxes = [];
    const ticks = timeTicks(view.t0, view.t1, this.width - LEFT, this.world.clock.calendar);
    g.fillStyle = c.grid;
    for (const t of ticks.at) g.fillRect(Math.round(this.x(t)), 0, 1, bottom);
    g.save();
    g.beginPath();
    g.rect(0, 0, this.width, bottom);
    g.clip();
    const first = Math.max(0, after(this.tops, scroll, y => y) - 1), now = this.world.now();
    for (let gpu = first; gpu < this.tops.length && this.tops[gpu] - scroll < bottom; ++gpu)
      this.band(gpu, this.tops[gpu] - scroll, now);
    this.highlights(scroll);
    g.restore();
    const xn = Math.round(this.x(view.instant()));
    g.fillStyle = c.now;
    g.fillRect(xn - 1, 0, 2, bottom + 4);
    g.textAlign = 'center';
    for (const t of ticks.at) {
      const x = this.x(t);
      if (x < LEFT + 20 || x > this.width - 22 || Math.abs(x - xn) < 60) continue;
      g.fillStyle = c.ink2;
      g.fillText(this.world.clock.time(t, ticks.step < 60), x, bottom + 14);
    }
    const word = view.following && this.world.live ? 'now ' : '';
    g.fillStyle = c.now;
    g.font = '600 11px system-ui, sans-serif';
    g.fillText(word + this.world.clock.time(view.instant()), Math.min(Math.max(xn, LEFT + 40), this.width - 44), bottom + 14);
  }

  private band(gpu: number, top: number, now: number) {
    const {g, colours: c, view, unit} = this, model = this.models()[gpu], past = this.world.history.gpus[gpu];
    const height = model.memory_slices * unit, right = this.width - 8, t0 = view.t0, t1 = view.t1;
    const state = this.world.gpus?.[gpu]?.state;
    g.textAlign = 'left';
    g.fillStyle = view.gpu === gpu ? c.accent : c.ink;
    g.font = '600 12px system-ui, sans-serif';
    g.fillText('GPU ' + gpu, 2, top + Math.min(9, height / 2));
    g.font = '11px system-ui, sans-serif';
    if (height > 26) {
      g.fillStyle = state && state !== 'ok' ? c.warn : c.ink3;
      g.fillText(state && state !== 'ok' ? state : (past ? this.names()[gpu] : 'one more').slice(0, 13), 2, top + 23);
    }
    if (height > 40 && this.world.gpus?.[gpu] && view.following) {
      g.fillStyle = c.ink2;
      g.fillText(Math.round(this.world.gpus[gpu].watts_w) + ' W', 2, top + 37);
    }
    g.fillStyle = c.grid;
    g.fillRect(LEFT, top + height, right - LEFT, 1);
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
        const stay = slot[i];
        if (stay.end <= t0) continue;
        const x0 = Math.max(LEFT, this.x(stay.begin)), x1 = Math.min(right, this.x(Math.min(stay.end, now)));
        if (x1 <= drawn + 0.4 && x1 - x0 < 0.5) continue;
        drawn = x1;
        this.bar(stay.job, gpu, stay.slice, stay.length, top + stay.start * unit, x0, x1, stay.begin, Math.min(stay.end, now), false);
      }
    }
    if (this.world.live && lane && t1 > now)
      for (const stay of lane.stays) {
        if (stay.end_at <= t0 || stay.begin_at >= t1 || stay.end_at <= now) continue;
        const begin = Math.max(now, stay.begin_at), x0 = Math.max(LEFT, this.x(begin)), x1 = Math.min(right, this.x(stay.end_at));
        const label = stay.id === null ? 'new' : this.world.jobs.get(stay.id)?.label ?? String(stay.id);
        const length = model.profiles[profileOf(stay.slice)]?.memory_slices ?? 1, y = top + startOf(stay.slice) * unit;
        this.bar(label, gpu, stay.slice, length, y, x0, x1, stay.begin_at, stay.end_at, true);
        const spread = stay.id !== null && stay.finished && !view.whatif ? this.futureOf.get(stay.id)?.finish_at : null;
        if (spread && x1 < right) {  // from p10 to p90 of its end
          g.fillStyle = c.ink2;
          const a = Math.max(LEFT, this.x(spread.p10)), b = Math.min(right, this.x(spread.p90)), ym = y + length * unit - 4;
          g.globalAlpha = view.job === null || view.job === label ? 0.7 : 0.3;
          g.fillRect(a, ym, b - a, 1);
          g.fillRect(a, ym - 2, 1, 5);
          g.fillRect(b - 1, ym - 2, 1, 5);
          g.globalAlpha = 1;
        }
      }
  }

  private slices(gpu: number, top: number, slices: string[], from: number, to: number, cut: boolean) {
    const profiles = this.models()[gpu].profiles;
    const {g, colours: c, unit} = this, x0 = Math.max(LEFT, this.x(from)), x1 = Math.min(this.width - 8, this.x(to));
    if (x1 - x0 < 0.2) return;
    g.fillStyle = c.slot;
    for (const slice of slices) {
      const length = profiles[profileOf(slice)]?.memory_slices ?? 1;
      g.fillRect(x0, top + startOf(slice) * unit, x1 - x0, length * unit - 1);
    }
    if (cut && x0 > LEFT + 1) {  // where a reshape cut the band
      g.fillStyle = c.ink3;
      g.fillRect(Math.round(x0), top - 3, 1, 3);
    }
  }

  private bar(label: string, gpu: number, slice: string, length: number, y: number, x0: number, x1: number, begin: number,
              end: number, future: boolean) {
    const {g, colours: c, unit, view} = this, h = length * unit - 1, w = Math.max(0.7, x1 - x0 - (x1 - x0 > 3 ? 0.7 : 0));
    const colour = this.jobs.of(label), fill = colour < KINDS ? c.k[colour] : c.other, chosen = view.job === label;
    g.globalAlpha = (view.job !== null && !chosen ? 0.45 : 1) * (future ? 0.42 : 1);
    g.fillStyle = fill;
    g.fillRect(x0, y, w, h);
    g.globalAlpha = view.job !== null && !chosen ? 0.5 : 1;
    if (future && w > 2) {
      g.strokeStyle = fill;
      g.setLineDash([3, 2]);
      g.strokeRect(x0 + 0.5, y + 0.5, w - 1, h - 1);
      g.setLineDash([]);
    }
    const deadline = this.world.deadline(label);
    if (deadline !== null && end > deadline) {
      const xl = Math.max(x0, this.x(Math.max(begin, deadline)));
      if (xl < x0 + w) {
        g.fillStyle = this.hatch ?? c.late;
        g.globalAlpha *= future ? 0.75 : 1;
        g.fillRect(xl, y, x0 + w - xl, h);
      }
    }
    if (deadline !== null && (w > 14 || chosen)) this.flag(deadline, y, h, end > deadline);
    g.globalAlpha = 1;
    if (w > 26 && h > 9) {
      const name = this.world.title(label), text = name && w > 90 && name !== label ? `${label} ${name}` : label;
      g.fillStyle = future ? c.ink : '#fff';
      g.textAlign = 'left';
      g.save();
      g.beginPath();
      g.rect(x0, y, w - 2, h);
      g.clip();
      g.fillText(text, x0 + 4, y + h / 2 + 0.5);
      g.restore();
    }
    if (chosen) {
      g.strokeStyle = c.ink;
      g.lineWidth = 1.6;
      g.strokeRect(x0 + 0.5, y + 0.5, Math.max(1, w - 1), h - 1);
      g.lineWidth = 1;
    }
    this.hits.push({label, gpu, slice, begin, end, future});
    this.boxes.push(x0, y, Math.max(3, w), h);
  }

  private flag(deadline: number, y: number, h: number, late: boolean) {
    const x = this.x(deadline), {g, colours: c} = this;
    if (x < LEFT || x > this.width - 8) return;
    g.fillStyle = late ? c.late : c.ink2;
    g.fillRect(x, y - 1, 1, h + 1);
    g.beginPath();
    g.moveTo(x, y - 1);
    g.lineTo(x + 6, y + 1.5);
    g.lineTo(x, y + 4);
    g.fill();
  }

  private highlights(scroll: number) {
    const {g, colours: c, view, unit} = this, why = view.why;
    if (!why) return;
    const box = (gpu: number, slice: string, from: number, to: number, colour: string, words: string) => {
      const y = (this.tops[gpu] ?? 0) - scroll + startOf(slice) * unit, h = this.world.history.length(gpu, slice) * unit;
      const x0 = Math.max(LEFT, this.x(from)), x1 = Math.min(this.width - 8, this.x(to));
      if (x1 <= x0) return;
      g.strokeStyle = colour;
      g.lineWidth = 2;
      g.strokeRect(x0, y, x1 - x0, h - 1);
      g.lineWidth = 1;
      g.fillStyle = colour;
      g.textAlign = 'left';
      if (h > 9 && x1 - x0 > 70) g.fillText(words, x0 + 4, y - 5);
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
        this.view.goTo(drag.t - (e.offsetX - drag.x) / (this.width - LEFT - 8) * (this.view.t1 - this.view.t0));
      }
      this.showTip(e.offsetX, e.offsetY);
    });
    this.canvas.addEventListener('pointerup', e => {
      if (drag && !drag.moved) {
        const hit = this.hitAt(e.offsetX, e.offsetY);
        if (hit) this.onChoose(hit);
        else if (e.offsetX > LEFT) this.view.goTo(this.timeAt(e.offsetX));
      }
      drag = null;
    });
    this.canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    this.canvas.addEventListener('wheel', e => {
      if (e.ctrlKey || e.metaKey) this.view.zoom(Math.exp(e.deltaY * 0.002));
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
        this.view.goTo(this.view.instant() + (e.deltaX || e.deltaY) / this.width * (this.view.t1 - this.view.t0));
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
    this.tip.hidden = !hit;
    if (!hit) return;
    const world = this.world, job = world.byLabel.get(hit.label), deadline = world.deadline(hit.label);
    const rows = [
      `${world.clock.near(hit.begin, world.now())} to ${world.clock.near(hit.end, world.now())} (${span(hit.end - hit.begin)})${hit.future ? ', expected' : ''}`,
      `${profileOf(hit.slice)} at ${startOf(hit.slice)} of GPU ${hit.gpu}`,
    ];
    if (deadline !== null) rows.push(`deadline ${world.clock.near(deadline, world.now())}${hit.end > deadline ? `, ${span(hit.end - deadline)} late` : ''}`);
    if (job?.user) rows.push(job.user);
    this.tip.textContent = '';
    this.tip.append(el('b', {}, `job ${hit.label} ${world.title(hit.label)}`), ...rows.map(r => el('div', {}, r)));
    this.tip.style.left = Math.min(x + 12, this.width - 250) + 'px';
    this.tip.style.top = y + 14 + 'px';
  }
}
