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
// `until`: where the expected part ends; `how`: failed, stopped or ''.
export interface Hit { label: string; gpu: number; slice: string; begin: number; end: number; until: number|null; future: boolean; held: boolean; how: string; y: number; }
type Part = Pick<Hit, 'gpu'|'slice'|'begin'|'end'|'until'|'future'|'held'|'how'>;
const NARROW = 3;  // pixels: where bars are narrower on average, a band shows how much of it is in use

export class Lanes {
  readonly node: HTMLElement;
  private canvas = el('canvas', {role: 'img', tabindex: 0, 'aria-label': 'Jobs on the slices of every GPU over time; the list below says the same in words'});
  private scroller: HTMLElement;
  private spacer = el('div', {class: 'spacer'});
  private tip = el('div', {class: 'tip', role: 'status', hidden: true});
  readonly paint = new TimeCanvas(this.canvas, 86);
  private models: Model[] = [];
  private unit = 7; private tops: number[] = []; private total = 0;
  private future = new Map<number, FutureLane>();
  private futureOf = new Map<number, JobFuture>();
  private hits: Hit[] = [];
  private boxes: number[] = [];
  private picked: string|null = null;  // the bar that the keys lead to
  private now = 0;
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
    const units = models.reduce((n, m) => n + m.memory_slices, 0), phone = box.width < 500;
    const most = phone ? innerHeight * 0.5 : Math.max(240, innerHeight * (models.length > 2 ? 0.62 : 0.42));
    this.paint.left = phone ? 46 : 86;
    this.unit = Math.max(phone ? 2 : 3, Math.min(30, Math.floor((most - GAP * models.length) / Math.max(1, units))));
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
    const first = Math.max(0, after(this.tops, scroll, y => y) - 1), now = this.now = this.world.now();
    for (let gpu = first; gpu < this.tops.length && this.tops[gpu] - scroll < bottom; ++gpu)
      this.band(gpu, this.tops[gpu] - scroll, now);
    this.highlights(scroll);
    g.restore();
    this.lines(ticks, bottom, now);
  }

  // The instant, and where it is not the present one, the present one, too.
  private lines(ticks: {step: number; at: number[]}, bottom: number, now: number) {
    const {paint, view, world} = this, {g, colours: c} = paint, xi = Math.round(paint.x(view.instant())), xn = Math.round(paint.x(now));
    const lost = world.live && !world.connected, there = (x: number) => x >= paint.left - 1 && x <= paint.right + 1;
    paint.timeLabels(ticks.at, bottom + 14, t => world.clock.time(t, ticks.step < 60), there(xi) ? xi : -1e9);
    if (world.live && !view.following && there(xn)) {
      g.strokeStyle = c.now;
      g.setLineDash([4, 3]);
      g.strokeRect(xn, 0, 0, bottom + 2);
      g.setLineDash([]);
      paint.text(lost ? 'last news' : 'now', Math.min(xn + 4, paint.right - 50), 7, c.now);
    }
    if (!there(xi)) return;
    const word = view.following && world.live ? lost ? 'last news ' : 'now ' : '';
    paint.rect(xi - 1, 0, 2, bottom + 4, c.now);
    paint.font('600');
    paint.text(word + world.clock.time(view.instant()), Math.min(Math.max(xi, paint.left + 40), paint.width - 44), bottom + 14, c.now, 'center');
  }

  private band(gpu: number, top: number, now: number) {
    const {paint, view, unit} = this, {colours: c} = paint, model = this.models[gpu], past = this.world.history.gpus[gpu];
    const height = model.memory_slices * unit, t0 = view.t0, t1 = view.t1, board = this.world.gpus?.[gpu];
    const notes: [string, string][] = [board && board.state !== 'ok' ? [board.state, c.warn] : [past ? this.names()[gpu] : 'one more', c.ink3]];
    if (paint.left < 60) notes.length = 0;
    if (board && view.following) notes.push([Math.round(board.watts_w) + ' W', c.ink2]);
    paint.bandName(top, height, (paint.left < 60 ? '' : 'GPU ') + gpu, notes, view.gpu === gpu ? c.accent : c.ink);
    // Slices that exist, from step to step; the gaps between them are the cuts.
    const lane = this.future.get(gpu), edge = Math.min(now, t1), dense = past ? this.density(gpu, top + height, edge) : false;
    if (past && !dense) for (let i = Math.max(0, after(past.layouts, t0, l => l.at) - 1); i < past.layouts.length && past.layouts[i].at < edge; ++i)
      this.slices(gpu, top, past.layouts[i].slices, Math.max(t0, past.layouts[i].at), Math.min(edge, past.layouts[i + 1]?.at ?? edge), i > 0);
    if (this.world.live && t1 > now) {
      const steps = [{at: now, slices: past ? this.world.history.layoutAt(gpu, now) : []}, ...(lane?.layouts ?? [])];
      for (let i = 0; i < steps.length && steps[i].at < t1; ++i)
        this.slices(gpu, top, steps[i].slices, Math.max(now, steps[i].at), Math.min(t1, steps[i + 1]?.at ?? t1), i > 0);
    }
    // A job that runs is one bar: what is expected of it goes on where its past ends.
    const goesOn = new Map<string, FutureStay>();
    if (this.world.live)
      for (const stay of lane?.stays ?? []) {
        const label = this.labelOf(stay), at = past ? this.world.history.stayAt(gpu, startOf(stay.slice), now) : null;
        if (at && at.job === label && at.slice === stay.slice && stay.begin_at <= now + 1 && stay.end_at > now) goesOn.set(label, stay);
      }
    for (const slot of past?.slots ?? []) {
      let drawn = -1;
      for (let i = Math.max(0, after(slot, t0, s => s.begin) - 1); i < slot.length && slot[i].begin < t1; ++i) {
        const stay = slot[i], end = Math.min(stay.end, now), x1 = paint.x(end), next = stay.end > now ? goesOn.get(stay.job) : undefined;
        if (dense && stay.end < Infinity) continue;
        if (Math.max(stay.end, next?.end_at ?? 0) <= t0 || !next && x1 <= drawn + 0.4) continue;  // hidden by the one before it
        drawn = x1;
        const y = top + stay.start * unit, h = stay.length * unit;
        this.bar(stay.job, y, h, {gpu, slice: stay.slice, begin: stay.begin, end, until: next?.end_at ?? null, future: false, held: false,
                                  how: stay.end <= now ? this.world.outcome(stay.job, stay.how, stay.end) : ''});
        if (next) this.spread(next, y, h);
      }
    }
    if (this.world.live && lane && t1 > now)
      for (const stay of lane.stays) {
        const label = this.labelOf(stay), job = stay.id === null ? undefined : this.world.jobs.get(stay.id);
        if (stay.end_at <= t0 || stay.begin_at >= t1 || stay.end_at <= now || goesOn.get(label) === stay || job?.ended_at) continue;
        const length = model.profiles[profileOf(stay.slice)]?.memory_slices ?? 1, y = top + startOf(stay.slice) * unit;
        this.bar(label, y, length * unit, {gpu, slice: stay.slice, begin: Math.max(now, stay.begin_at), end: stay.end_at, until: null, future: true, held: job?.state === 'held', how: ''});
        this.spread(stay, y, length * unit);
      }
  }
  private labelOf(stay: FutureStay) { return stay.id === null ? 'new' : this.world.jobs.get(stay.id)?.label ?? String(stay.id); }

  // From p10 to p90 of its end.
  private spread(stay: FutureStay, y: number, h: number) {
    const {paint, view} = this, {g, colours: c} = paint, label = this.labelOf(stay);
    const spread = stay.id !== null && stay.finished && !view.whatif ? this.futureOf.get(stay.id)?.finish_at : null;
    if (!spread || stay.end_at >= view.t1 || spread.p10 >= view.t1) return;
    const a = Math.max(paint.left, paint.x(spread.p10)), b = Math.min(paint.right, paint.x(spread.p90)), ym = y + h - 4;
    g.globalAlpha = view.job === null || view.job === label ? 0.7 : 0.3;
    paint.rect(a, ym, b - a, 1, c.ink2);
    paint.rect(a, ym - 2, 1, 5, c.ink2);
    paint.rect(b - 1, ym - 2, 1, 5, c.ink2);
    g.globalAlpha = 1;
  }

  // Where bars would be a barcode, how much of the GPU each kind of jobs used, column by column. False: they would not.
  private density(gpu: number, bottom: number, edge: number): boolean {
    const {paint, view, world} = this, slots = world.history.gpus[gpu].slots, step = 3;
    const seen = slots.map(slot => [Math.max(0, after(slot, view.t0, s => s.begin) - 1), after(slot, edge, s => s.begin)]);
    const count = seen.reduce((n, [from, to]) => n + to - from, 0);
    const pixels = Math.max(1, paint.x(edge) - Math.max(paint.left, paint.x(view.t0)));
    const busiest = Math.max(...seen.map(([from, to]) => to - from));
    if (busiest < 8 || pixels / busiest > NARROW || count < 8) return false;
    const width = Math.max(1, Math.ceil((paint.right - paint.left) / step)), length = (view.t1 - view.t0) / width;
    const columns = Array.from({length: paint.colours.kinds.length + 1}, () => new Float32Array(width));
    const put = (into: Float32Array, from: number, to: number, amount: number) => {
      const a = Math.max(0, (from - view.t0) / length), b = Math.min(width, (to - view.t0) / length);
      for (let i = Math.floor(a); i < b; ++i) into[i] += amount * (Math.min(b, i + 1) - Math.max(a, i));
    };
    slots.forEach((slot, start) => {
      for (let i = seen[start][0]; i < seen[start][1]; ++i) {
        const stay = slot[i], end = Math.min(stay.end, edge), deadline = world.deadline(stay.job);
        if (stay.end === Infinity || end <= view.t0) continue;
        put(columns[this.jobs.of(stay.job)], stay.begin, end, stay.length);
        if (deadline !== null && deadline < end) put(columns[columns.length - 1], Math.max(stay.begin, deadline), end, stay.length);
      }
    });
    paint.density(bottom, this.unit, step, columns);
    return true;
  }

  private slices(gpu: number, top: number, slices: string[], from: number, to: number, cut: boolean) {
    for (const slice of slices)
      this.paint.slice(top + startOf(slice) * this.unit, (this.models[gpu].profiles[profileOf(slice)]?.memory_slices ?? 1) * this.unit, from, to);
    if (cut) this.paint.cut(top, from);
  }

  private bar(label: string, y: number, height: number, part: Part) {
    const {view, world, paint} = this, name = world.title(label), last = part.until ?? part.end, wide = paint.x(last) - paint.x(part.begin) > 90;
    const text = (name && wide && name !== label ? `${label} ${name}` : label) + (part.held ? ', held' : '');
    const job: Bar = {fill: this.jobs.of(label), deadline: world.deadline(label), future: part.future, mark: view.job === null ? 0 : view.job === label ? 1 : -1,
                      text, until: part.until ?? part.end, how: part.how, held: part.held};
    const w = paint.bar(y, height, part.begin, part.end, job);
    if (w === 0) return;
    this.hits.push({label, ...part, y});
    this.boxes.push(Math.max(paint.left, paint.x(part.begin)), y, Math.max(3, w), height - 1);
    if (this.picked !== `${label} ${part.gpu} ${part.slice} ${part.begin}`) return;
    paint.g.strokeStyle = paint.colours.accent;
    paint.g.lineWidth = 2.5;
    paint.g.strokeRect(Math.max(paint.left, paint.x(part.begin)) - 1, y - 1, Math.max(3, w) + 2, height + 1);
    paint.g.lineWidth = 1;
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
    const pointers = new Map<number, number>();  // where each finger is
    let drag: {x: number; t: number; moved: boolean}|null = null, apart = 0;
    const {canvas, view, paint} = this;
    canvas.addEventListener('pointerdown', e => {
      pointers.set(e.pointerId, e.offsetX);
      drag = pointers.size === 1 ? {x: e.offsetX, t: view.instant(), moved: false} : null;
      apart = 0;
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener('pointermove', e => {
      if (pointers.has(e.pointerId)) pointers.set(e.pointerId, e.offsetX);
      if (pointers.size === 2) {  // a pinch
        const [a, b] = [...pointers.values()], distance = Math.max(10, Math.abs(a - b));
        if (apart > 0) view.zoom(apart / distance, paint.time((a + b) / 2));
        apart = distance;
        return;
      }
      if (drag && Math.abs(e.offsetX - drag.x) > 3) {
        drag.moved = true;
        view.goTo(drag.t - (e.offsetX - drag.x) / (paint.right - paint.left) * (view.t1 - view.t0));
      }
      this.showTip(e.offsetX, e.offsetY);
    });
    const up = (e: PointerEvent) => {
      if (e.type === 'pointerup' && drag && !drag.moved) {
        const hit = this.hitAt(e.offsetX, e.offsetY);
        if (hit) this.onChoose(hit);
        else if (e.offsetX > paint.left) view.point(paint.time(e.offsetX));
      }
      pointers.delete(e.pointerId);
      drag = null;
    };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    canvas.addEventListener('dblclick', e => view.zoom(0.4, paint.time(e.offsetX)));
    canvas.addEventListener('wheel', e => {
      if (e.ctrlKey || e.metaKey) view.zoom(Math.exp(e.deltaY * 0.002), paint.time(e.offsetX));
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
        view.goTo(view.instant() + (e.deltaX || e.deltaY) / paint.width * (view.t1 - view.t0));
      else return;
      e.preventDefault();
    }, {passive: false});
    canvas.addEventListener('keydown', e => {
      const step = (view.t1 - view.t0) / 20;
      if (e.key === 'ArrowLeft') view.goTo(view.instant() - step);
      else if (e.key === 'ArrowRight') view.goTo(view.instant() + step);
      else if (e.key === '+' || e.key === '=') view.zoom(1 / 1.4);
      else if (e.key === '-') view.zoom(1.4);
      else if (e.key === '0') view.fit();
      else if (e.key === 'End') view.goTo(null);
      else if (e.key === 'Home') view.goTo(this.world.history.begin);
      else if (e.key === 'ArrowDown') this.pick(1);
      else if (e.key === 'ArrowUp') this.pick(-1);
      else if (e.key === 'Enter') {
        const hit = this.hits.find(h => keyOf(h) === this.picked);
        if (hit) this.onChoose(hit);
      } else return;
      e.preventDefault();
    });
    canvas.addEventListener('blur', () => { this.picked = null; this.tip.hidden = true; this.draw(); });
    this.scroller.addEventListener('scroll', () => this.draw());
  }

  // The next bar that is in sight, from the top left to the bottom right.
  private pick(step: 1|-1) {
    const order = this.hits.map((hit, i) => ({hit, i})).sort((a, b) => a.hit.y - b.hit.y || a.hit.begin - b.hit.begin);
    if (order.length === 0) return;
    const at = order.findIndex(one => keyOf(one.hit) === this.picked);
    const {hit, i} = order[at < 0 ? (step > 0 ? 0 : order.length - 1) : (at + step + order.length) % order.length];
    this.picked = keyOf(hit);
    this.draw();
    this.tipOf(hit, this.boxes[4 * i] + 20, this.boxes[4 * i + 1] + this.boxes[4 * i + 3]);
  }

  private showTip(x: number, y: number) {
    const hit = this.hitAt(x, y);
    if (!hit) {
      this.tip.hidden = true;
      return;
    }
    this.tipOf(hit, x, y);
  }
  private tipOf(hit: Hit, x: number, y: number) {
    const world = this.world, end = hit.until ?? hit.end, job = world.byLabel.get(hit.label), deadline = world.deadline(hit.label);
    const near = (t: number) => world.clock.near(t, world.now()), live = !hit.future && world.live && hit.end >= this.now - 0.001;
    const rows = [
      hit.future || hit.until !== null ? `${near(hit.begin)} to \u2248 ${near(end)} (${span(end - hit.begin)}), expected${hit.held ? '; it is held until then' : ''}` :
        live ? `since ${near(hit.begin)} (${span(end - hit.begin)})` : `${near(hit.begin)} to ${near(end)} (${span(end - hit.begin)})`,
      `${profileOf(hit.slice)} at ${startOf(hit.slice)} of GPU ${hit.gpu}`,
    ];
    if (hit.how) rows.push(hit.how === 'failed' ? `ended badly: ${job?.state ?? 'failed'}` : 'stopped there; it goes on later');
    if (deadline !== null) rows.push(`deadline ${near(deadline)}${end > deadline ? `, ${span(end - deadline)} late${hit.future || hit.until !== null ? ' (expected)' : ''}` : ''}`);
    if (job?.user) rows.push(job.user);
    showTip(this.tip, x, y, this.paint.width, `job ${hit.label} ${world.title(hit.label)}`, rows);
  }
}

function keyOf(h: Hit) { return `${h.label} ${h.gpu} ${h.slice} ${h.begin}`; }
