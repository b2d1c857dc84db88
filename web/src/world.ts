// The world that the page shows: a living daemon, or a recorded run or journal. One interface for both; what a recorded
// world does not have is null, and the page says n/a.
import {Clock} from './format';
import {History} from './history';
import {EventFeed, events, get, hasToken, lines, post, setToken} from './net';
import {Changes, Futures, Gpu, Model, Power, Series, ShortJob, Status, Summary, Usage, WorldInfo} from './types';

export type Topic = 'history'|'jobs'|'gpus'|'status'|'futures'|'connection'|'who'|'usage';

export interface PowerPoint { t: number; watts: number; queued: number|null; price: number|null; }

export const COMPUTING = 'computing …';
const isBadEnd = (how: string) => how === 'failed' || how === 'timed_out' || how === 'cancelled';

export abstract class World {
  history!: History;
  clock!: Clock;
  jobs = new Map<number, ShortJob>();
  byLabel = new Map<string, ShortJob>();
  gpus: Gpu[]|null = null;
  status: Status|null = null;
  futures: Futures|null = null;
  futuresWords = COMPUTING;
  usage: {kind: Usage; user: Usage}|null = null;
  summary: Summary|null = null;
  idleWatts: number|null = null;
  power: PowerPoint[] = [];
  pricesAhead: Power['ahead'] = [];  // from these instants on; empty: one price, or none
  today: {joules: number; money: number|null; since: number}|null = null;  // of the boards, since midnight here or since it is known
  owners = new Set<string>();
  waiting = 0;
  connected = true;
  words = '';
  newsAt = 0;  // of the last answer of a living world
  private listeners: ((topic: Topic) => void)[] = [];

  constructor(public info: WorldInfo) {}
  abstract get live(): boolean;
  abstract now(): number;        // the edge of what has happened
  abstract start(): Promise<void>;
  price(): number|null { return null; }  // of a kWh, now
  on(listener: (topic: Topic) => void) { this.listeners.push(listener); }
  protected tell(topic: Topic) { for (const listener of this.listeners) listener(topic); }
  modelsOfGpus(): Model[] { return this.info.gpus.map(name => this.info.models[name]); }
  modelOf(gpu: number): Model { return this.info.models[this.info.gpus[gpu]]; }
  deadline(label: string): number|null {
    return this.live ? this.byLabel.get(label)?.deadline_at ?? null : this.history.jobs.get(label)?.deadline ?? null;
  }
  // Where what is known ends: the last expected end, or the end of a recorded world.
  horizon(): number { return (this.futures?.stays ?? []).reduce((most, stay) => Math.max(most, stay.end_at), this.now()); }
  // The state of a job at an instant; at the present one the daemon's own word.
  stateAt(job: ShortJob, t: number, present: boolean): string {
    if (present && this.live) return job.suspended ? 'suspended' : job.state;
    if (job.ended_at !== null && job.ended_at <= t) return job.state;
    const stay = this.history.stayOf(job.label, t);
    return stay && stay.end > t ? 'running' : 'queued';
  }
  // Where it runs at an instant, or ran last.
  placeAt(job: ShortJob, t: number, present: boolean): {gpu: number; slice: string}|null {
    if (present && this.live) return job.gpu !== null && job.slice !== null ? {gpu: job.gpu, slice: job.slice} : null;
    return this.history.stayOf(job.label, t);
  }
  // Past its deadline, and not only expected to be.
  lateAt(job: ShortJob, t: number): number {
    return job.deadline_at === null ? 0 : Math.max(0, Math.min(job.ended_at ?? Infinity, t) - job.deadline_at);
  }
  // What became of a stay: 'failed' (any bad end), 'stopped' (it goes on later), or ''.
  outcome(label: string, how: string, end: number): string {
    const job = this.byLabel.get(label);
    if (job && job.ended_at !== null && end >= job.ended_at - 5) how = job.state;
    return isBadEnd(how) ? 'failed' : how === 'stopped' || how === 'withdrawn' ? 'stopped' : '';
  }
  kind(label: string): string { return this.byLabel.get(label)?.kind || this.history.jobs.get(label)?.kind || ''; }
  owner(label: string): string { return this.byLabel.get(label)?.user ?? ''; }
  title(label: string): string { return this.byLabel.get(label)?.name || ''; }
}

const MAX_PAST = 50000;   // journal lines that a page begins with
const MAX_ENDED = 3000;   // ended jobs kept beside the live ones

export class LiveWorld extends World {
  get live() { return true; }
  private skew = 0;  // of the server's clock against this one's
  private version = 0;
  private feed: EventFeed|null = null;
  private changesDue = false; private changesBusy = false;
  private futuresDue = false; private futuresBusy = false; private futuresNext = 0;
  private ended: number[] = [];
  private gpusSoon = 0;
  private kept: Power['points'] = [];
  private seen: PowerPoint[] = [];
  truncated = false;

  // The clock stands while the daemon cannot be reached: nothing is known beyond the last answer.
  now() { return this.connected ? Date.now() / 1000 + this.skew : this.newsAt; }

  async start() {
    this.setInfo(this.info);
    this.history = new History(this.modelsOfGpus());
    this.history.labelOf = id => this.jobs.get(id)?.label ?? String(id);
    this.clock = new Clock(true);
    // From the beginning of this run of the daemon, or as much of it as a page holds.
    const first = Math.max(0, this.info.journal_run - 1), tail = Math.max(0, this.info.journal_position - MAX_PAST);
    this.truncated = tail > first;
    this.history.position = Math.max(first, tail);
    const large = this.info.gpus.length > 64, gpus = this.pollGpus();  // of a large fleet the journal draws the rest first
    await Promise.all([this.pollStatus(), this.pullChanges(), ...(large ? [] : [gpus])]);
    this.feed = events(() => this.history.position, (position, line) => this.take(position, line),
                       (connected, words) => this.link(connected, words));
    this.askFutures();
    setInterval(() => void this.pollStatus(), 1000);
    setInterval(() => void this.pollGpus(), large ? 10000 : 2000);
    setInterval(() => { this.changesDue = true; void this.pump(); }, 3000);
    setInterval(() => this.askFutures(), 15000);
    setInterval(() => void this.pullUsage(), 20000);
    setInterval(() => void this.pullPower(), 30000);
    void this.pullUsage();
    void this.pullPower();
  }

  private setInfo(info: WorldInfo) {
    this.info = info;
    if (info.now_at !== null) this.skew = info.now_at - Date.now() / 1000;
  }

  private take(position: number, line: string) {
    if (position <= this.history.position && position > 0) return;  // told twice
    try {
      this.history.apply(line, position);
    } catch (error) {
      console.error('a journal line was not understood', error);
    }
    this.changesDue = true;
    this.futuresDue = true;
    if (this.info.gpus.length <= 64 && !this.gpusSoon) this.gpusSoon = window.setTimeout(() => {
      this.gpusSoon = 0;
      void this.pollGpus();
    }, 300);
    this.tell('history');
    void this.pump();
  }

  private link(connected: boolean, words: string) {
    if (connected === this.connected && words === this.words) return;
    if (this.connected) this.newsAt = this.now();
    const back = connected && !this.connected;
    this.connected = connected;
    this.words = words;
    this.tell('connection');
    if (back) void this.refresh();
  }

  // After a reconnect the daemon may be another one: who we are, and all jobs, are asked anew.
  private async refresh() {
    try {
      const info = await get<WorldInfo>('/v1/world');
      const other = info.gpus.join() !== this.info.gpus.join();
      this.setInfo(info);
      if (other) location.reload();
      this.version = 0;
      this.tell('who');
      await Promise.all([this.pullChanges(), this.pollGpus(), this.pollStatus()]);
      this.askFutures();
    } catch { /* the feed tries again */ }
  }

  async signIn(token: string): Promise<WorldInfo> {
    setToken(token);
    try {
      this.setInfo(await get<WorldInfo>('/v1/world'));
    } catch (error) {
      setToken('');
      throw error;
    }
    this.tell('who');
    return this.info;
  }
  async signOut() {
    setToken('');
    try {
      this.setInfo(await get<WorldInfo>('/v1/world'));
    } catch {
      location.reload();
    }
    this.tell('who');
  }

  private async pollStatus() {
    if (!this.connected && this.feed) return;
    try {
      this.status = await get<Status>('/v1/status');
      this.skew = this.status.now_at - Date.now() / 1000;
      this.seen.push({t: this.status.now_at, watts: this.status.watts_w, queued: (this.status.queue.queued ?? 0) + (this.status.queue.held ?? 0), price: this.price()});
      if (this.seen.length > 2400) this.seen.splice(0, 600);
      this.joinPower();
      this.tell('status');
    } catch { /* shown by the feed */ }
  }
  // What the daemon kept of the time before the page was opened, by the minute; then what the page saw itself.
  private async pullPower() {
    if (!this.connected && this.feed) return;
    try {
      const day = new Date(this.now() * 1000);
      const midnight = day.setHours(0, 0, 0, 0) / 1000, since = this.kept.length ? this.kept[this.kept.length - 1].at : 0;
      const told = await get<Power>(`/v1/power?since=${since}`);
      this.pricesAhead = told.ahead;
      this.kept = [...this.kept.filter(p => p.at < since), ...told.points].slice(-1500);
      const today = this.kept.filter(p => p.at >= midnight);
      this.today = today.length === 0 ? null : {
        joules: today.reduce((sum, p) => sum + p.energy_j, 0), since: today[0].at,
        money: today.some(p => p.energy_per_kwh === null) ? null : today.reduce((sum, p) => sum + p.energy_j / 3.6e6 * p.energy_per_kwh!, 0),
      };
      this.joinPower();
      this.tell('usage');
    } catch { /* shown by the feed */ }
  }
  price(): number|null {
    const p = this.status?.prices;
    if (!p || p.energy_per_kwh <= 0) return null;
    return !p.energy_by_hour ? p.energy_per_kwh : this.kept.length ? this.kept[this.kept.length - 1].energy_per_kwh : null;
  }
  private joinPower() {
    for (const p of this.seen) p.price ??= this.price();
    const from = this.seen.length ? this.seen[0].t : Infinity;
    this.power = [...this.kept.filter(p => p.at + 60 <= from).map(p => ({t: p.at, watts: p.watts_w, queued: null, price: p.energy_per_kwh})), ...this.seen];
  }
  private async pollGpus() {
    if (!this.connected && this.feed) return;
    try {
      this.gpus = (await get<{gpus: Gpu[]}>('/v1/gpus')).gpus;
      this.tell('gpus');
    } catch { /* shown by the feed */ }
  }

  private async pump() {
    if (this.changesBusy || !this.changesDue) return;
    this.changesBusy = true;
    this.changesDue = false;
    const began = performance.now();
    await this.pullChanges();
    // At most half of the time, and not more than eight times a second.
    await new Promise(r => setTimeout(r, Math.max(120, performance.now() - began)));
    this.changesBusy = false;
    if (this.futuresDue) this.askFutures();
    if (this.changesDue) void this.pump();
  }

  private async pullChanges() {
    try {
      const c = await get<Changes>(`/v1/jobs/changes?since=${this.version}`);
      const lost = new Set<number>();  // live ones of which nothing more is said: they have ended meanwhile
      if (c.whole)
        for (const [id, job] of this.jobs)
          if (!job.ended_at) lost.add(id);
      for (const id of c.gone) lost.add(id);
      for (const id of lost) this.forget(id);
      this.version = c.version;
      this.waiting = c.waiting;
      for (const job of c.jobs) {
        this.keep(job);
        lost.delete(job.id);
      }
      if (lost.size > 0 || c.whole) await this.pullEnded();  // and those that came and went unseen
      this.tell('jobs');
    } catch { /* shown by the feed */ }
  }
  private async pullEnded() {
    try {
      const list = await get<{jobs: any[]}>('/v1/jobs?state=final&limit=1000');
      for (const j of list.jobs.reverse())
        this.keep({...j, label: j.array_id !== null ? `${j.array_id}_${j.array_index}` : String(j.id),
                   energy_j: j.attempt > 0 ? j.energy.energy_j : null, cost: j.attempt > 0 ? j.cost : null});
    } catch { /* shown by the feed */ }
  }
  private keep(job: ShortJob) {
    this.jobs.set(job.id, job);
    this.byLabel.set(job.label, job);
    this.owners.add(job.user);
    if (!job.ended_at) return;
    this.ended.push(job.id);
    if (this.ended.length > MAX_ENDED) for (const id of this.ended.splice(0, 500)) this.forget(id);
  }
  private forget(id: number) {
    const job = this.jobs.get(id);
    if (!job) return;
    this.jobs.delete(id);
    this.byLabel.delete(job.label);
  }

  private askFutures() {
    if (!this.connected) return;
    this.futuresDue = true;
    if (this.futuresBusy || performance.now() < this.futuresNext || document.hidden) return;
    this.futuresBusy = true;
    this.futuresDue = false;
    const began = performance.now();
    void (async () => {
      // Fewer futures for longer queues: the spread costs twenty times what is expected costs.
      const count = this.waiting < 200 ? 20 : this.waiting < 600 ? 5 : 0;
      try {
        this.futures = await get<Futures>(`/v1/futures?count=${count}`);
        this.futuresWords = '';
      } catch (error) {
        if (this.connected) this.futures = null;
        this.futuresWords = error instanceof Error ? error.message : 'not known';
      }
      const took = performance.now() - began;
      this.futuresNext = performance.now() + Math.max(400, 4 * took);
      this.futuresBusy = false;
      this.tell('futures');
      setTimeout(() => { if (this.futuresDue) this.askFutures(); }, Math.max(400, 4 * took) + 10);
    })();
  }

  private async pullUsage() {
    if (!this.connected) return;
    const midnight = new Date(this.now() * 1000);
    midnight.setHours(0, 0, 0, 0);
    const since = Math.floor(midnight.getTime() / 1000);
    try {
      const [kind, user] = await Promise.all([get<Usage>(`/v1/usage?by=kind&since=${since}`), get<Usage>(`/v1/usage?by=user&since=${since}`)]);
      this.usage = {kind, user};
      this.tell('usage');
    } catch { /* shown by the feed */ }
  }

  reasons(ids: number[]) {
    return post<{reasons: {id: number; code: string; sentence: string}[]}>('/v1/jobs/reasons', {ids});
  }
}

export class RecordedWorld extends World {
  get live() { return false; }
  now() { return this.history.end; }
  async start() {
    this.history = new History(this.modelsOfGpus(), Infinity);
    this.clock = new Clock(this.info.began_at !== null);
    const [, series, summary] = await Promise.all([
      lines('/v1/journal', line => this.history.apply(line)), get<Series>('/v1/series'), get<Summary>('/v1/summary'),
    ]);
    this.summary = summary;
    this.idleWatts = series.idle_w;
    for (let i = 0; i < series.points.length; ++i) {
      const [t, joules, queued] = series.points[i], next = series.points[i + 1];
      if (next && next[0] > t) this.power.push({t, watts: (next[1] - joules) / (next[0] - t), queued, price: null});
    }
    let id = 0;
    for (const past of this.history.jobs.values()) {
      const joules = series.joules[past.label];
      const job: ShortJob = {
        id: ++id, label: past.label, name: past.kind, user: '', state: past.finish === null ? 'queued' : past.how, suspended: false,
        reason: '', kind: past.kind, submitted_at: past.submit, started_at: null, ended_at: past.finish, deadline_at: past.deadline,
        expected_finish_at: null, late_s: past.finish !== null && past.deadline !== null ? Math.max(0, past.finish - past.deadline) : 0,
        gpu: null, slice: null, mem_mib: past.mem, peak_mib: null, energy_j: joules ?? null, cost: null, priority: 0, attempt: 0,
      };
      this.jobs.set(id, job);
      this.byLabel.set(job.label, job);
    }
    for (const gpu of this.history.gpus)
      for (const slot of gpu.slots)
        for (const stay of slot) {
          const job = this.byLabel.get(stay.job);
          if (!job) continue;
          if (job.started_at === null || stay.begin < job.started_at) job.started_at = stay.begin;
          ++job.attempt;
        }
  }
}

export async function openWorld(): Promise<World> {
  let info: WorldInfo;
  try {
    info = await get<WorldInfo>('/v1/world');
  } catch (error) {
    if (!hasToken()) throw error;
    setToken('');  // a token of another daemon
    info = await get<WorldInfo>('/v1/world');
  }
  return info.kind === 'live' ? new LiveWorld(info) : new RecordedWorld(info);
}
