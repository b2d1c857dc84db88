// The power landscape: watts of all boards below the bands, on the same time axis, stacked by kind or by user. Left of now
// they were measured (or simulated, in a recorded run); right of now the expected future draws them. What the boards draw
// above idle is divided among the jobs that run, by their compute slices. Prices shade the background, a cap is a line.
import {coloursOf} from '../plain/colours.js';
import {after, KINDS, showTip, TimeCanvas} from '../plain/draw.js';
import {el, fill, setAttr, setText} from './dom';
import {money, num, percent, watts} from './format';
import {profileOf} from './history';
import {JobColours} from './palette';
import {View} from './view';
import {World} from './world';

const HEIGHT = 132, TOP = 20, STEP = 3, GAP = 150;  // pixels; pixels of a column; seconds after which a value is too old

export interface Part { name: string; colour: number; watts: number; }
// At an instant. `idle` and the parts add up to `watts`.
export interface Draw { watts: number; idle: number; parts: Part[]; price: number|null; expected: boolean; }
interface Step { t: number; watts: number; until: number; }

export class Landscape {
  readonly node = el('div', {class: 'landscape', id: 'landscape'});
  private canvas = el('canvas', {role: 'img', 'aria-label': 'Watts of all boards over time, by kind or user'});
  private paint: TimeCanvas;
  private by = el('select', {'aria-label': 'Divide the watts by', id: 'landscape-by'}, el('option', {value: 'kind'}, 'by colour'), el('option', {value: 'user'}, 'by user'));
  private words = el('span', {class: 'note', id: 'landscape-words'});
  private key = el('ul', {class: 'legend', id: 'landscape-key', 'aria-label': 'Users'});
  private tip = el('div', {class: 'tip', hidden: true});
  private names: string[] = [];        // of the groups, in the order in which they are stacked
  private colourOf = new Map<string, number>();
  private took = 0;
  private drawn = 0;

  constructor(private world: World, private view: View, private jobs: JobColours, private bands: TimeCanvas) {
    this.node.append(el('div', {class: 'panel-head'}, el('h3', {}, 'Power'), this.by, this.key, this.words), el('div', {class: 'lanes'}, this.canvas, this.tip));
    this.paint = new TimeCanvas(this.canvas, bands.left);
    this.by.hidden = !world.live;
    this.by.addEventListener('change', () => { this.took = 0; this.draw(); });
    this.canvas.addEventListener('pointermove', e => this.show(e.offsetX, e.offsetY));
    this.canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    this.canvas.addEventListener('click', e => { if (e.offsetX > this.paint.left) view.point(this.paint.time(e.offsetX)); });
    new ResizeObserver(() => this.measure()).observe(this.node);
  }
  restyle() {
    this.paint.restyle();
    this.took = 0;
    this.draw();
  }
  private measure() {
    const width = Math.round(this.node.clientWidth);
    if (width > 0 && width !== this.paint.width) {
      this.paint.resize(Math.max(200, width), HEIGHT);
      this.took = 0;
      this.draw();
    }
  }

  private group(label: string): string { return this.by.value === 'user' && this.world.live ? this.world.owner(label) || 'nobody' : this.jobs.group(label); }
  private future() { return this.view.whatif ?? this.world.futures; }
  private idle(): number { return this.world.live ? this.world.futures?.idle_w ?? 0 : this.world.idleWatts ?? 0; }

  // The watts of all boards from step to step between two instants; where nothing is known there is no step.
  private steps(t0: number, t1: number): Step[] {
    const {world} = this, now = world.now(), out: Step[] = [], past = world.power;
    for (let i = Math.max(0, after(past, t0, p => p.t) - 1); i < past.length && past[i].t < Math.min(t1, now); ++i) {
      const next = past[i + 1]?.t ?? now, until = world.live && next - past[i].t > GAP ? past[i].t + 60 : next;
      out.push({t: past[i].t, watts: past[i].watts, until: Math.min(until, now)});
    }
    const power = world.live && t1 > now ? this.future()?.power ?? [] : [];
    for (let i = 0; i < power.length && power[i].at < t1; ++i) {
      const until = power[i + 1]?.at ?? Math.max(power[i].at, t1);
      if (until > now) out.push({t: Math.max(now, power[i].at), watts: power[i].watts_w, until});
    }
    return out;
  }

  // Who was on how many compute slices from when to when.
  private stays(t0: number, t1: number, put: (name: string, slices: number, from: number, to: number) => void) {
    const {world} = this, now = world.now(), models = world.modelsOfGpus(), edge = Math.min(t1, now);
    const slices = (gpu: number, slice: string) => models[gpu]?.profiles[profileOf(slice)]?.compute_slices ?? 1;
    world.history.gpus.forEach((of, gpu) => {
      for (const slot of of.slots)
        for (let i = Math.max(0, after(slot, t0, s => s.begin) - 1); i < slot.length && slot[i].begin < edge; ++i)
          if (Math.min(slot[i].end, edge) > t0) put(this.group(slot[i].job), slices(gpu, slot[i].slice), slot[i].begin, Math.min(slot[i].end, edge));
    });
    if (!world.live || t1 <= now) return;
    for (const stay of this.future()?.stays ?? [])
      if (stay.begin_at < t1 && stay.end_at > Math.max(now, t0)) {
        const label = stay.id === null ? '' : world.jobs.get(stay.id)?.label ?? String(stay.id);
        put(label ? this.group(label) : 'what-if', slices(stay.gpu, stay.slice), Math.max(now, stay.begin_at), stay.end_at);
      }
  }

  price(t: number): number|null {
    const {world} = this;
    if (t > world.now()) {
      const i = after(world.pricesAhead, t, p => p.at) - 1;
      return i >= 0 ? world.pricesAhead[i].energy_per_kwh : world.price();
    }
    const i = after(world.power, t, p => p.t) - 1;
    return world.power[i]?.price ?? null;
  }

  at(t: number): Draw|null {
    const step = this.steps(t, t + 1e-3).find(s => s.t <= t && s.until > t);
    if (!step) return null;
    const used = new Map<string, number>();
    let all = 0;
    this.stays(t, t + 1e-6, (name, slices) => {
      used.set(name, (used.get(name) ?? 0) + slices);
      all += slices;
    });
    this.gather();
    const idle = all > 0 ? Math.min(step.watts, this.idle()) : step.watts;
    const parts = [...used].map(([name, slices]) => ({name, colour: this.colourOf.get(name) ?? KINDS, watts: (step.watts - idle) * slices / all}));
    return {watts: step.watts, idle, parts: parts.sort((a, b) => b.watts - a.watts), price: this.price(t), expected: this.world.live && t > this.world.now()};
  }

  // Which groups there are, and their colours: as on the bands, or those of the users.
  private gather() {
    const {world} = this;
    if (this.by.value === 'user' && world.live) {
      this.names = [...world.owners].sort();
      this.colourOf = coloursOf(this.names);
    } else {
      const legend = this.jobs.all();
      this.names = legend.map(l => l.name);
      this.colourOf = new Map(legend.map(l => [l.name, l.colour]));
    }
  }

  draw() {
    const {paint, view, world} = this;
    if (paint.width === 0) return;
    // A long window over a long history costs more than a frame: then it is drawn less often.
    const began = performance.now(), moved = paint.t0 !== view.t0 || paint.t1 !== view.t1;
    if (this.took > 5 && began - this.drawn < 15 * this.took && !(moved && !view.following)) return;
    this.gather();
    paint.left = this.bands.left;
    paint.t0 = view.t0;
    paint.t1 = view.t1;
    paint.clear();
    const {g, colours: c} = paint, height = HEIGHT - TOP - 8, bottom = TOP + height, now = world.now();
    const count = Math.max(1, Math.ceil((paint.right - paint.left) / STEP)), length = (view.t1 - view.t0) / count;
    const add = (into: Float32Array, from: number, to: number, amount: number) => {
      const a = Math.max(0, (from - view.t0) / length), b = Math.min(count, (to - view.t0) / length);
      for (let i = Math.floor(a); i < b; ++i) into[i] += amount * (Math.min(b, i + 1) - Math.max(a, i));
    };
    const total = new Float32Array(count), known = new Float32Array(count), used = new Map<string, Float32Array>();
    for (const step of this.steps(view.t0, view.t1)) {
      add(total, step.t, step.until, step.watts);
      add(known, step.t, step.until, 1);
    }
    this.stays(view.t0, view.t1, (name, slices, from, to) => {
      let into = used.get(name);
      if (!into) used.set(name, into = new Float32Array(count));
      add(into, from, to, slices);
    });
    const cap = world.status?.power_cap_w ?? null;
    let most = cap ?? 0;
    for (let i = 0; i < count; ++i) if (known[i] > 0) most = Math.max(most, total[i] / known[i]);
    this.shade(count, length, bottom);
    const max = paint.valueAxis(TOP, height, Math.max(10, most), 'W', 2), scale = height / max, floor = this.idle();
    const order = this.names.filter(name => used.has(name)).concat([...used.keys()].filter(name => !this.colourOf.has(name)));
    for (let i = 0; i < count; ++i) {
      if (known[i] <= 0.01) continue;
      let all = 0;
      for (const name of order) all += used.get(name)![i];
      const sum = total[i] / known[i], idle = all > 0 ? Math.min(sum, floor) : sum, x = paint.left + i * STEP;
      g.globalAlpha = world.live && view.t0 + (i + 0.5) * length > now ? 0.5 : 1;
      let y = bottom - idle * scale;
      paint.rect(x, y, STEP, bottom - y, c.idle);
      for (const name of order) {
        const h = (sum - idle) * used.get(name)![i] / (all || 1) * scale;
        if (h < 0.05) continue;
        y -= h;
        paint.rect(x, y, STEP, h, c.kinds[this.colourOf.get(name) ?? KINDS]);
      }
    }
    g.globalAlpha = 1;
    if (cap) {
      const y = Math.round(bottom - cap * scale);
      for (let x = paint.left; x < paint.right; x += 7) paint.rect(x, y, 4, 1.5, c.ink);
      paint.text(`cap ${watts(cap)}`, paint.right - 2, y - 7, c.ink, 'right');
    }
    const xi = Math.round(paint.x(view.instant()));
    if (xi >= paint.left - 1 && xi <= paint.right + 1) paint.rect(xi - 1, TOP - 6, 2, height + 6, c.now);
    this.say();
    this.drawn = performance.now();
    this.took = this.drawn - began;
  }

  // Hours with a higher price have a darker background.
  private shade(count: number, length: number, bottom: number) {
    const {paint, view, world} = this, {g, colours: c} = paint;
    if (!world.pricesAhead.length) return;
    const list = Array.from({length: count}, (_, i) => this.price(view.t0 + (i + 0.5) * length)), known = list.filter((p): p is number => p !== null);
    const least = Math.min(...known), most = Math.max(...known, ...world.pricesAhead.map(p => p.energy_per_kwh));
    if (!(most > least)) return;
    let last: number|null = null;
    list.forEach((price, i) => {
      if (price === null) return;
      g.globalAlpha = 0.2 * (price - least) / (most - least);
      paint.rect(paint.left + i * STEP, TOP - 6, STEP, bottom - TOP + 6, c.warn);
      g.globalAlpha = 1;
      if (price !== last) paint.text(money(price) + ' a kWh', Math.min(paint.left + i * STEP + 3, paint.right - 80), TOP - 10, c.ink2);
      last = price;
    });
  }

  private say() {
    const t = this.view.instant(), now = this.at(t - 1e-3) ?? this.at(t), users = this.by.value === 'user' && this.world.live;
    const text = !now ? 'n/a' : `${watts(now.watts)}, ${percent(now.idle / Math.max(1e-9, now.watts))} of it idle` +
        now.parts.slice(0, 3).map(p => `; ${p.name} ${watts(p.watts)}`).join('');
    setText(this.words, text);
    setAttr(this.canvas, 'aria-label', `Watts of all boards over time. At the chosen time: ${text}`);
    const keys = users ? this.names.map(name => [name, this.colourOf.get(name) ?? KINDS] as const) : [], known = JSON.stringify(keys);
    if (this.key.dataset.text === known) return;
    this.key.dataset.text = known;
    fill(this.key, ...keys.slice(0, 8).map(([name, colour]) => el('li', {}, el('i', {'data-colour': colour}), el('span', {}, name))));
  }

  private show(x: number, y: number) {
    const t = this.paint.time(x), draw = x > this.paint.left ? this.at(t) : null;
    if (!draw) {
      this.tip.hidden = true;
      return;
    }
    const rows = [`idle boards ${watts(draw.idle)}`, ...draw.parts.slice(0, 8).map(p => `${p.name} ${watts(p.watts)}`)];
    if (draw.parts.length > 8) rows.push(`${num(draw.parts.length - 8, 0)} more`);
    if (draw.price !== null) rows.push(`${money(draw.price)} a kWh`);
    showTip(this.tip, x, y, this.paint.width, `${this.world.clock.near(t, this.world.now())}: ${watts(draw.watts)}${draw.expected ? ', expected' : ''}`, rows);
  }
}
