// One job on a page of its own, /job/12, small enough for a phone or a link in a chat: when it starts and ends, how that
// changed and after what, what it waits for, its memory against its slice, its log with a search, and how well forecasts
// held lately.
import {lastOfLines, pieces} from './ansi';
import {el, fill, keyed, setAttr, setText} from './dom';
import {energy, mib, NA, num, percent, span} from './format';
import {profileOf} from './history';
import {ApiError, get, stream} from './net';
import {JobFuture, ShortJob, Why} from './types';
import {World} from './world';

const LOG_KEPT = 200000, LINES = 400;
interface Calibration { interval_ratio: number; forecasts: {forecast: string; count: number; held_ratio: number|null}[]; }
interface Step { at: number; words: string; }

// What is known of its start and end, in one sentence.
export function headline(job: ShortJob, future: JobFuture|undefined, time: (t: number) => string, now: number): string {
  const range = (q: {p10: number; p90: number}|null, one: number|null) => q && q.p90 - q.p10 >= 60 ? `${time(q.p10)} to ${time(q.p90)}` : one !== null ? `about ${time(one)}` : null;
  const due = job.deadline_at === null || future?.on_time_ratio === null || future?.on_time_ratio === undefined ? '' : `, ${num(100 * future.on_time_ratio, 0)} % before your deadline`;
  if (job.ended_at !== null) return `${job.state.replace('_', ' ')} at ${time(job.ended_at)}${job.started_at !== null ? `, after ${span(job.ended_at - job.started_at)}` : ''}`;
  if (job.state === 'held' && (!future || future.no_start === 'held')) return `held${job.reason ? ': ' + job.reason : ''}`;
  if (future?.no_start) return `does not start: ${job.reason || future.no_start.replace(/_/g, ' ')}`;
  if (job.started_at !== null && job.state !== 'queued') {
    const ends = range(future?.finish_at ?? null, future?.expected_finish_at ?? job.expected_finish_at);
    return `running since ${time(job.started_at)} (${span(now - job.started_at)}), ${ends ? 'ends ' + ends + due : 'its end is not known'}`;
  }
  const starts = range(future?.start_at ?? null, future?.expected_start_at ?? null);
  return starts ? `starts ${starts}${due}` : 'waits; its start is being computed';
}

export class MyJob {
  private said = el('p', {class: 'headline', id: 'headline', role: 'status'});
  private line = el('div', {class: 'job-line', role: 'img'});
  private facts = el('dl', {class: 'facts', id: 'job-facts'});
  private chain = el('ul', {id: 'chain'});
  private steps = el('ol', {id: 'steps', class: 'decisions'});
  private search = el('input', {type: 'search', placeholder: 'search the log', 'aria-label': 'Search the log', id: 'log-search'});
  private found = el('span', {class: 'note', role: 'status', id: 'log-found'});
  private log = el('pre', {id: 'log', tabindex: 0, 'aria-label': 'Log of the job'});
  private held = el('p', {class: 'note', id: 'held'});
  private text = '';
  private following = false;
  private drawing = 0;
  private whyAt = -1e9;
  private why: Why|null = null;
  private last: {start: number|null; end: number|null; events: number}|null = null;
  private history: Step[] = [];
  private calibratedAt = -1e9;

  constructor(node: HTMLElement, private world: World, private label: string) {
    const part = (title: string, ...inner: Node[]) => el('section', {class: 'card-box'}, el('h2', {}, title), ...inner);
    node.classList.add('my-job');
    fill(node, el('section', {class: 'card-box'}, el('h2', {id: 'job-title'}, 'Job ' + label), this.said, this.line, this.facts),
      part('What it waits for, and what would help', this.chain), part('How the estimate changed', this.steps),
      part('Log', el('div', {class: 'tools'}, this.search, this.found), this.log), this.held, el('p', {}, el('a', {href: '/#job=' + label}, 'The whole page')));
    this.search.addEventListener('input', () => this.drawLog());
  }

  update() {
    const {world, label} = this, job = world.byLabel.get(label), now = world.now(), clock = world.clock;
    if (!job) return setText(this.said, `Job ${label} is not among the live jobs or the last that ended.`);
    const future = world.futures?.jobs.find(f => f.id === job.id), words = headline(job, future, t => clock.near(t, now).replace(/:\d\d$/, ''), now);
    setText(this.said, world.connected ? words : `${words}; the daemon has not answered since ${clock.time(now)}`);
    setText(document.getElementById('job-title')!, `Job ${label} ${job.name}`);
    document.title = `${label}: ${words}`;
    this.drawLine(job, future, now);
    this.showFacts(job);
    this.note(job, future);
    if (performance.now() - this.whyAt > 8000 && job.ended_at === null && world.connected) void this.ask(job.id);
    this.showChain(job);
    keyed(this.steps, [...this.history].reverse().slice(0, 30), s => String(s.at), () => el('li', {}, el('span', {class: 'note'}), el('span', {})), (node, s) => {
      setText(node.children[0], clock.time(s.at));
      setText(node.children[1], s.words);
    });
    if (!this.following) void this.follow(job.id);
    if (performance.now() - this.calibratedAt > 60000) void this.calibrate();
  }

  // From its submission to its deadline or its latest end: what it waited, ran, and is expected to.
  private drawLine(job: ShortJob, future: JobFuture|undefined, now: number) {
    const begin = job.submitted_at, start = job.started_at ?? future?.expected_start_at ?? null, end = job.ended_at ?? future?.finish_at?.p90 ?? future?.expected_finish_at ?? job.expected_finish_at ?? null;
    const last = Math.max(now, job.deadline_at ?? 0, end ?? 0) + 1, at = (t: number) => `${(100 * Math.min(1, Math.max(0, (t - begin) / (last - begin)))).toFixed(2)}%`;
    const bar = (name: string, from: number|null, to: number|null) => {
      if (from === null || to === null || to <= from) return null;
      const made = el('span', {class: 'part ' + name, title: name.replace('-', ' ')});
      made.style.left = at(from);
      made.style.width = `calc(${at(to)} - ${at(from)})`;
      return made;
    };
    const mark = (name: string, t: number|null) => {
      if (t === null) return null;
      const made = el('span', {class: 'mark-at ' + name, title: name});
      made.style.left = at(t);
      return made;
    };
    const ran = job.started_at === null ? null : Math.min(job.ended_at ?? now, now);
    fill(this.line, bar('waited', begin, job.started_at ?? now), bar('will-wait', job.started_at === null ? now : null, start), bar('ran', job.started_at, ran),
      bar('will-run', job.ended_at !== null ? null : Math.max(now, start ?? now), start === null ? null : end), mark('deadline', job.deadline_at), mark('now', now));
    setAttr(this.line, 'aria-label', `Submitted ${this.world.clock.near(begin, now)}${job.deadline_at !== null ? `, deadline ${this.world.clock.near(job.deadline_at, now)}` : ''}`);
  }

  private showFacts(job: ShortJob) {
    const {world} = this, near = (t: number|null) => world.clock.near(t, world.now());
    const at = job.gpu !== null && job.slice !== null && job.started_at !== null ? {gpu: job.gpu, slice: job.slice} : null;
    const given = at ? world.modelOf(at.gpu)?.profiles[profileOf(at.slice)]?.memory_mib ?? null : null;
    const rows: [string, string][] = [
      ['submitted', near(job.submitted_at)], ['deadline', job.deadline_at === null ? 'none' : near(job.deadline_at)], ['where', at ? `${at.slice} of GPU ${at.gpu}` : 'nowhere yet'],
      ['memory', `${mib(job.peak_mib)} used at most${given ? ` of ${mib(given)} of its slice (${percent((job.peak_mib ?? 0) / given)})` : ''}; ${mib(job.mem_mib)} asked for`], ['energy', energy(job.energy_j)],
    ];
    const text = JSON.stringify(rows);
    if (this.facts.dataset.text === text) return;
    this.facts.dataset.text = text;
    fill(this.facts, ...rows.map(([key, value]) => el('div', {}, el('dt', {}, key), el('dd', {}, value))));
  }

  // A line for each time that the expected start or end moved, with what happened in between.
  private note(job: ShortJob, future: JobFuture|undefined) {
    if (!future || job.ended_at !== null) return;
    const {world} = this, start = job.started_at ?? future.expected_start_at, end = future.expected_finish_at, was = this.last, events = world.history.events;
    const moved = (a: number|null|undefined, b: number|null) => a !== null && a !== undefined && b !== null && Math.abs(a - b) >= 15 ? b - a : 0;
    const by = was ? moved(was.start, start) : 0, byEnd = was ? moved(was.end, end) : 0;
    if (was && !by && !byEnd) return;
    this.last = {start, end, events};
    if (!was) {
      this.history.push({at: world.now(), words: start === null ? 'no start is expected' : `first seen: starts ${world.clock.time(start)}, ends ${world.clock.time(end)}`});
      return;
    }
    const what = by ? ['start', by] as const : ['end', byEnd] as const, recent = world.history.decisions.slice(-3).flatMap(d => d.words).slice(-2);
    this.history.push({at: world.now(), words: `the ${what[0]} moved ${span(Math.abs(what[1]))} ${what[1] > 0 ? 'later' : 'earlier'}, after ${num(events - was.events, 0)} events${recent.length ? ': ' + recent.join('; ') : ''}`});
    if (this.history.length > 200) this.history.splice(0, 50);
  }

  private async ask(id: number) {
    this.whyAt = performance.now();
    try {
      this.why = await get<Why>(`/v1/jobs/${id}/why`);
    } catch { /* the headline says whether the daemon answers */ }
  }
  private showChain(job: ShortJob) {
    const {why, world} = this, near = (t: number|null) => world.clock.near(t, world.now()), rows: string[] = [];
    if (job.ended_at === null && why && job.started_at === null) {
      rows.push(why.sentence);
      for (const w of why.waits_for ?? []) rows.push(`job ${w.job} must ${w.until}${w.expected_at !== null ? `, ≈ ${near(w.expected_at)}` : ''}`);
      if (why.reservation) rows.push(`kept for it: ${why.reservation.slice} of GPU ${why.reservation.gpu} from ≈ ${near(why.reservation.start_at)}`);
      const as = why.alternatives[0]?.start_at ?? null;
      for (const a of why.alternatives.slice(1))
        if (as !== null && a.start_at !== null && as - a.start_at >= 5) rows.push(`${a.what}: starts ${span(as - a.start_at)} earlier`);
    }
    keyed(this.chain, rows.length ? rows : [job.ended_at !== null ? 'Nothing: it has ended.' : job.started_at !== null ? 'Nothing: it runs.' : 'asking …'], r => r, () => el('li', {}), setText);
  }
  private async calibrate() {
    this.calibratedAt = performance.now();
    try {
      const c = await get<Calibration>('/v1/calibration'), of = (kind: string) => c.forecasts.find(f => f.forecast === kind);
      const words = ['start', 'end'].map(kind => [kind, of(kind)] as const).filter(([, f]) => f && f.count > 0).map(([kind, f]) => `${percent(f!.held_ratio)} of ${num(f!.count, 0)} forecasts of the ${kind}`);
      setText(this.held, words.length ? `Intervals that should hold for ${percent(c.interval_ratio)} held lately for ${words.join(' and ')}.` : 'How well forecasts hold is not known yet: none of a job that has ended.');
    } catch { setText(this.held, `How well forecasts held: ${NA}.`); }
  }

  private async follow(id: number) {
    this.following = true;
    try {
      await stream(`/v1/jobs/${id}/log?follow=1`, piece => {
        this.text = (this.text + piece).slice(-LOG_KEPT);
        if (!this.drawing) this.drawing = window.setTimeout(() => this.drawLog(), 60);
      });
    } catch (error) {
      setText(this.found, error instanceof ApiError && error.status === 403 ? 'Logs are for the job’s owner and the operator: sign in on the whole page.' : (error as Error).message);
      if (!(error instanceof ApiError)) setTimeout(() => { this.following = false; }, 5000);
    }
  }
  private drawLog() {
    this.drawing = 0;
    const wanted = this.search.value.toLowerCase(), all = lastOfLines(this.text).split('\n');
    const lines = wanted ? all.filter(line => line.toLowerCase().includes(wanted)) : all, end = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 4;
    fill(this.log, ...pieces(lines.slice(-LINES).join('\n')).map(p => p.classes ? el('span', {class: p.classes}, p.text) : p.text));
    if (wanted) setText(this.found, `${num(lines.length, 0)} of ${num(all.length, 0)} lines`);
    else setText(this.found, '');
    if (end) this.log.scrollTop = this.log.scrollHeight;
  }
}
