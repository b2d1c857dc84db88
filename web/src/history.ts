// The journal folded into what the axis draws: who was on which slice from when to when, how layouts changed, what was
// decided. One fold for a daemon's journal (several runs, notes between the lines) and for a simulator's (docs/outputs.md).
// What is older than `keep` closed stays is forgotten, so that a page left open for days does not grow.
import {after} from '../plain/draw.js';
import {Model} from './types';

export interface Stay {
  job: string;  // its label: "17", or "12_3" for a task of an array
  gpu: number; start: number; length: number; slice: string;
  begin: number; end: number;  // Infinity: it is there
  how: string;  // 'open', 'finished', 'stopped', 'withdrawn', or what the daemon notes of its end: 'failed', 'timed_out', ...
}
export interface LayoutStep { at: number; slices: string[]; }
export interface PastJob {
  label: string; kind: string; submit: number; deadline: number|null; mem: number|null;
  finish: number|null; how: string;  // when and how it ended: 'done', 'failed', ...
}
export interface Decision { at: number; words: string[]; notes: string[]; }
interface GpuPast { slots: Stay[][]; layouts: LayoutStep[]; blocked: boolean; }

export function startOf(slice: string): number { return Number(slice.slice(slice.lastIndexOf('@') + 1)) || 0; }
export function profileOf(slice: string): string {
  const at = slice.lastIndexOf('@');
  return at < 0 ? slice : slice.slice(0, at);
}

const MOST_WORDS = 8000;  // of decisions

export class History {
  gpus: GpuPast[];
  jobs = new Map<string, PastJob>();
  decisions: Decision[] = [];
  marks: number[] = [];  // instants of events, for jumping
  begin = NaN; end = NaN;
  position = 0; lines = 0; waiting = 0;
  kinds = new Map<string, number>();
  events = 0;                       // lines that change the world
  labelOf = (id: number) => String(id);  // of a job in a daemon's note
  private open = new Map<string, Stay>();
  private byJob = new Map<string, Stay[]>();  // in order of begin
  private ends = new Map<string, string>();   // noted before the event
  private carried = new Map<string, Stay>();
  private labels = new Map<number, string>();
  private queue = new Set<string>();
  private origin = 0;
  private closed = 0;
  private said = 0;

  constructor(readonly models: Model[], readonly keep = 20000) {
    this.gpus = models.map(m => ({slots: Array.from({length: m.memory_slices}, () => []), layouts: [], blocked: false}));
  }

  length(gpu: number, slice: string): number { return this.models[gpu]?.profiles[profileOf(slice)]?.memory_slices ?? 1; }

  apply(line: string, position = 0) {
    const e = JSON.parse(line);
    this.position = Math.max(this.position, position);
    ++this.lines;
    if (e.smartmig_journal) return this.header(e);
    if (e.note) return this.note(e);
    ++this.events;
    const t = this.origin + e.t / 1e6;
    if (!(this.end >= t)) this.end = t;
    if (!(this.begin <= t)) this.begin = t;
    if (this.marks.length === 0 || this.marks[this.marks.length - 1] < t) this.marks.push(t);
    if (this.marks.length > 200000) this.marks.splice(0, 50000);
    if (this.carried.size > 0 && e.ev !== 'found_running' && e.ev !== 'submitted') this.dropCarried(t);
    this.event(e, t);
  }

  private header(e: {config: [string, string][]; initial: [number, string[]][]}) {
    const began = e.config.find(c => c[0] === 'began_at');
    this.origin = began ? Number(began[1]) : 0;
    this.labels.clear();
    for (const [label, stay] of this.open) this.carried.set(label, stay);  // found again, or ended while it was away
    this.queue.clear();
    let gpu = 0;
    for (const [count, slices] of e.initial)
      for (let i = 0; i < count && gpu < this.gpus.length; ++i, ++gpu)
        this.gpus[gpu].layouts.push({at: this.origin, slices: [...slices]});
    if (!(this.begin <= this.origin)) this.begin = this.origin;
    if (!(this.end >= this.origin)) this.end = this.origin;
  }

  private dropCarried(t: number) {
    for (const stay of this.carried.values()) this.close(stay, t, 'withdrawn');
    this.carried.clear();
  }

  private event(e: any, t: number) {
    const label = this.labels.get(e.job) ?? '';
    switch (e.ev) {
      case 'submitted': {
        const name: string = e.name ?? String(e.job);
        this.labels.set(e.job, name);
        this.queue.add(name);
        const old = this.jobs.get(name);
        const deadline = e.deadline === null ? null : this.origin + e.deadline / 1e6;
        this.jobs.set(name, {label: name, kind: e.kind ?? '', submit: Math.min(old?.submit ?? t, t), deadline, mem: e.mem, finish: null, how: ''});
        if (e.kind) this.kinds.set(e.kind, (this.kinds.get(e.kind) ?? 0) + 1);
        break;
      }
      case 'started':
      case 'found_running':
        this.queue.delete(label);
        this.start(label, e.gpu, e.slice, t, e.ev === 'found_running');
        if (e.ev === 'started') this.decided(t, `job ${label} starts on ${e.slice} of GPU ${e.gpu}`);
        break;
      case 'stopped':
        this.leave(label, t, 'stopped');
        this.queue.add(label);
        this.decided(t, `job ${label} is stopped and goes on later`);
        break;
      case 'finished':
      case 'withdrawn': {
        this.leave(label, t, e.ev);
        this.queue.delete(label);
        const job = this.jobs.get(label);
        if (job && e.ev === 'finished') {
          job.finish = t;
          job.how ||= 'done';
        }
        this.labels.delete(e.job);
        break;
      }
      case 'reshape':
        this.decided(t, `GPU ${e.gpu} is to become ${e.slices.join(' ') || 'empty'}`);
        break;
      case 'destroyed':
      case 'created': {
        const of = this.gpus[e.gpu];
        if (!of) break;
        const old = of.layouts.length ? of.layouts[of.layouts.length - 1].slices : [];
        const changed = new Set<string>(e.slices);
        const slices = e.ev === 'created' ? [...old, ...e.slices] : old.filter(s => !changed.has(s));
        slices.sort((a, b) => startOf(a) - startOf(b));
        of.layouts.push({at: t, slices});
        break;
      }
      case 'blocked':
      case 'unblocked':
        if (this.gpus[e.gpu]) this.gpus[e.gpu].blocked = e.ev === 'blocked';
        break;
    }
    this.waiting = this.queue.size;
  }

  private start(label: string, gpu: number, slice: string, t: number, found: boolean) {
    const of = this.gpus[gpu];
    if (!of) return;
    const start = startOf(slice), carried = this.carried.get(label);
    if (carried) {
      this.carried.delete(label);
      if (carried.gpu === gpu && carried.slice === slice) return;  // it ran on while nobody looked
      this.close(carried, t, 'withdrawn');
    }
    const slot = of.slots[start] ?? (of.slots[start] = []);
    const last = slot[slot.length - 1];
    if (found && last && last.job === label && last.slice === slice && last.end === t) {  // the belief was revised
      last.end = Infinity;
      last.how = 'open';
      this.open.set(label, last);
      return;
    }
    const stay: Stay = {job: label, gpu, start, length: this.length(gpu, slice), slice, begin: t, end: Infinity, how: 'open'};
    slot.push(stay);
    this.open.set(label, stay);
    const all = this.byJob.get(label);
    if (all) all.push(stay);
    else this.byJob.set(label, [stay]);
  }

  private leave(label: string, t: number, how: Stay['how']) {
    const stay = this.open.get(label);
    if (stay) this.close(stay, t, how);
  }

  private close(stay: Stay, t: number, how: Stay['how']) {
    stay.end = Math.max(t, stay.begin);
    stay.how = this.ends.get(stay.job) ?? how;
    this.ends.delete(stay.job);
    if (this.open.get(stay.job) === stay) this.open.delete(stay.job);
    if (++this.closed > this.keep) this.forget();
  }

  // The older half goes, with the jobs that have no stay left.
  private forget() {
    const ends: number[] = [];
    for (const gpu of this.gpus)
      for (const slot of gpu.slots)
        for (const stay of slot)
          if (stay.how !== 'open') ends.push(stay.end);
    ends.sort((a, b) => a - b);
    const limit = ends[ends.length >> 1] ?? -Infinity, kept = new Set<string>(this.queue);
    this.closed = 0;
    for (const gpu of this.gpus) {
      gpu.slots = gpu.slots.map(slot => slot.filter(stay => stay.end > limit));
      const first = Math.max(0, after(gpu.layouts, limit, l => l.at) - 1);
      gpu.layouts.splice(0, first);
      for (const slot of gpu.slots)
        for (const stay of slot) {
          kept.add(stay.job);
          if (stay.how !== 'open') ++this.closed;
        }
    }
    for (const label of this.jobs.keys())
      if (!kept.has(label)) this.jobs.delete(label);
    for (const [label, stays] of this.byJob) {
      const left = stays.filter(stay => stay.end > limit);
      if (left.length) this.byJob.set(label, left);
      else this.byJob.delete(label);
    }
    this.marks.splice(0, after(this.marks, limit, m => m));
    this.begin = Math.max(this.begin, limit);
  }

  private decided(t: number, words: string) {
    const last = this.decisions[this.decisions.length - 1];
    if (last && t - last.at < 1e-3 && last.words.length < 40) last.words.push(words);
    else this.decisions.push({at: t, words: [words], notes: []});
    if (++this.said > MOST_WORDS) {  // the older half goes
      let gone = 0, less = 0;
      while (less < MOST_WORDS / 2 && gone < this.decisions.length - 1) less += Math.max(1, this.decisions[gone++].words.length);
      this.decisions.splice(0, gone);
      this.said -= less;
    }
  }

  // How a job ended: told before or after the event that takes it off its slice.
  private ended(e: {job: number; state: string; at: number}) {
    const label = this.labelOf(e.job), stays = this.byJob.get(label), job = this.jobs.get(label);
    if (job) {
      job.finish ??= e.at;
      job.how = e.state;
    }
    if (e.state === 'done') return;
    if (this.open.has(label)) this.ends.set(label, e.state);
    else if (stays) stays[stays.length - 1].how = e.state;
  }

  private note(e: any) {
    if (e.note === 'job_ended') return this.ended(e);
    let words = '';
    if (e.note === 'shadow')
      words = `${e.policy} would have started ${(e.would_start as string[]).join(', ') || 'nothing'}`;
    else if (e.note === 'guard')
      words = e.falls_back ? `the guard falls back from ${e.policy}` : `${e.policy} decides again`;
    else if (e.words)
      words = `${e.note}${e.job !== undefined ? ` (job ${e.job})` : ''}: ${e.words}`;
    if (!words) return;
    const last = this.decisions[this.decisions.length - 1];
    if (last && Math.abs(e.at - last.at) < 0.5) last.notes.push(words);
    else {
      this.decisions.push({at: e.at, words: [], notes: [words]});
      ++this.said;
    }
  }

  // ---- questions
  stayAt(gpu: number, start: number, t: number): Stay|null {
    const slot = this.gpus[gpu]?.slots[start];
    if (!slot) return null;
    const i = after(slot, t, s => s.begin) - 1;
    return i >= 0 && slot[i].end > t ? slot[i] : null;
  }
  layoutAt(gpu: number, t: number): string[] {
    const steps = this.gpus[gpu].layouts, i = after(steps, t, s => s.at) - 1;
    return i >= 0 ? steps[i].slices : [];
  }
  // Where a job is at an instant, or was last before it.
  stayOf(label: string, t: number): Stay|null {
    const stays = this.byJob.get(label);
    return stays?.[after(stays, t, s => s.begin) - 1] ?? null;
  }
  // What runs at an instant: GPU, slice and job; slices without a job, too.
  at(t: number, gpu: number): {slice: string; stay: Stay|null}[] {
    return this.layoutAt(gpu, t).map(slice => ({slice, stay: this.stayAt(gpu, startOf(slice), t)}));
  }
  busyShare(gpu: number, t: number): number {
    let used = 0;
    const slots = this.gpus[gpu].slots;
    for (let start = 0; start < slots.length; ++start) used += this.stayAt(gpu, start, t)?.length ?? 0;
    return used / Math.max(1, this.models[gpu].memory_slices);
  }
  running(t: number): number {
    let count = 0;
    for (let g = 0; g < this.gpus.length; ++g)
      for (let start = 0; start < this.gpus[g].slots.length; ++start)
        if (this.stayAt(g, start, t)) ++count;
    return count;
  }
  // The first of the instants at which most jobs run.
  busiest(): number {
    const steps: [number, number][] = [];
    for (const stays of this.byJob.values())
      for (const stay of stays) steps.push([stay.begin, 1], [stay.end, -1]);
    steps.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let running = 0, most = 0, at = this.end;
    for (const [t, step] of steps)
      if ((running += step) > most) {
        most = running;
        at = t;
      }
    return at;
  }
  stays(): number { return this.gpus.reduce((n, g) => n + g.slots.reduce((m, s) => m + s.length, 0), 0); }
}
