// One job: what it asked for and what became of it; why it waits, with the slices in its way lit up on the axis; what
// else could be done and at what price; its log as it grows; and for who may, cancel, requeue, hold, release.
import {lastOfLines, pieces} from './ansi';
import {byId, el, fill, setAttr, setText} from './dom';
import {energy, mib, money, NA, span} from './format';
import {ApiError, get, post, remove, stream} from './net';
import {ShortJob, Why} from './types';
import {NO_START} from './queue_table';
import {View} from './view';
import {World} from './world';

const LOG_KEPT = 200000;  // characters

export class JobPanel {
  private head = el('h2', {}, 'Job');
  private own = el('a', {class: 'note', target: '_blank'}, 'its own page');
  private facts = el('dl', {class: 'facts'});
  private why = el('div', {id: 'why', 'aria-live': 'polite'});
  private tools = el('div', {class: 'tools', id: 'job-actions'});
  private log = el('pre', {id: 'log', tabindex: 0, 'aria-label': 'Log of the job'});
  private words = el('p', {class: 'note', id: 'log-words'});
  private following: AbortController|null = null;
  private shown: string|null = null;
  private asked = 0;
  private whyAt = 0;
  private text = '';     // the log as it came
  private drawing = 0;

  constructor(node: HTMLElement, private world: World, private view: View, private say: (words: string, bad?: boolean) => void) {
    const close = el('button', {class: 'quiet', 'aria-label': 'Close the job', onclick: () => this.view.choose(null)}, '×');
    node.append(el('div', {class: 'panel-head'}, this.head, this.own, close), this.facts, this.tools, this.why, this.words, this.log);
  }

  update() {
    const label = this.view.job, panel = byId('job');
    panel.hidden = label === null;
    if (label === null) return this.leave();
    const job = this.world.byLabel.get(label);
    setText(this.head, `Job ${label}`);
    if (this.shown !== label) {
      this.leave();
      this.shown = label;
      fill(this.why);
      this.log.textContent = '';
      setText(this.words, '');
      if (this.world.live && job) {
        if (!job.ended_at) void this.askWhy(job.id);
        void this.follow(job.id);
      }
    }
    this.showFacts(label, job);
    this.showTools(job);
    // A plan is of one moment: what keeps a waiting job is asked again as the queue moves.
    const stale = performance.now() - this.whyAt > 5000;
    if (job && this.world.live && this.world.connected && stale && (job.state === 'queued' || job.state === 'held')) void this.askWhy(job.id);
  }

  private showFacts(label: string, job: ShortJob|undefined) {
    const {world, view} = this, near = (t: number|null) => world.clock.near(t, view.instant()), t = view.instant(), present = world.live && view.following;
    const at = job ? world.placeAt(job, t, present) : null, late = job ? world.lateAt(job, t) : 0, state = job ? world.stateAt(job, t, present) : NA;
    const eta = world.futures?.jobs.find(f => f.id === job?.id);
    const rows: [string, string][] = [
      ['name', job?.name || NA], ['user', job?.user || NA], ['kind', world.kind(label) || NA],
      ['state', job ? state + (present && job.reason ? ': ' + job.reason : '') : NA],
      ['submitted', near(job?.submitted_at ?? null)], ['started', near(job?.started_at ?? null)],
      ['ends', job?.ended_at ? near(job.ended_at) : eta && eta.expected_finish_at !== null ? `≈ ${near(eta.expected_finish_at)}${eta.finish_at ? ` (${near(eta.finish_at.p10)} to ${near(eta.finish_at.p90)})` : ''}` : eta?.no_start ? NO_START[eta.no_start] ?? eta.no_start : present && !world.futures && !job?.ended_at ? world.futuresWords : NA],
      ['deadline', job?.deadline_at ? near(job.deadline_at) + (late > 0 ? `, ${span(late)} late` : present && job.late_s > 0 ? `, \u2248 ${span(job.late_s)} late (expected)` : '') : 'none'],
      ['memory', `${mib(job?.mem_mib)} asked, ${mib(job?.peak_mib)} peak`],
      ['energy', energy(job?.energy_j)], ['cost', money(job?.cost)],
      ['where', at ? `${at.slice} of GPU ${at.gpu}` : NA],
    ];
    const text = JSON.stringify(rows);
    if (this.facts.dataset.text === text) return;
    this.facts.dataset.text = text;
    setAttr(this.own, 'href', '/job/' + label);
    this.own.hidden = !world.live;
    fill(this.facts, ...rows.map(([key, value]) => el('div', {}, el('dt', {}, key), el('dd', {}, value))));
  }

  private showTools(job: ShortJob|undefined) {
    const may = this.world.live && this.world.info.signed_in && job;
    const key = `${may ? job!.id + job!.state : ''}${this.world.info.operator}`;
    if (this.tools.dataset.key === key) return;
    this.tools.dataset.key = key;
    fill(this.tools);
    if (!this.world.live || !job) return;
    if (!may) return void this.tools.append(el('span', {class: 'note'}, 'Read only: sign in to cancel or requeue.'));
    const act = (words: string, what: () => Promise<unknown>) => el('button', {onclick: () => void this.act(words, what)}, words);
    const choice = {ids: [job.id]};
    if (!job.ended_at) {
      const ask = el('button', {id: 'cancel', onclick: () => { ask.hidden = true; sure.hidden = false; (sure.children[1] as HTMLElement).focus(); }}, 'Cancel');
      const sure = el('span', {hidden: true, class: 'tools', role: 'group', 'aria-label': `Cancel job ${job.label}?`}, `Cancel job ${job.label}?`,
        el('button', {id: 'keep', onclick: () => { ask.hidden = false; sure.hidden = true; ask.focus(); }}, 'No'),
        el('button', {id: 'cancel-yes', onclick: () => void this.act('Cancel', () => remove(`/v1/jobs/${job.id}`))}, 'Yes, cancel it'));
      this.tools.append(ask, sure);
    }
    this.tools.append(act('Requeue', () => post(`/v1/jobs/${job.id}/requeue`)));
    if (job.state === 'queued') this.tools.append(act('Hold', () => post('/v1/jobs/hold', choice)));
    if (job.state === 'held') this.tools.append(act('Release', () => post('/v1/jobs/release', choice)));
  }
  private async act(words: string, what: () => Promise<unknown>) {
    try {
      const answer = await what() as {refused?: {message: string}[]};
      if (answer.refused?.length) this.say(answer.refused[0].message, true);
      else this.say(`${words}: done`);
    } catch (error) {
      this.say((error as Error).message, true);
    }
  }

  private async askWhy(id: number) {
    const ticket = ++this.asked;
    this.whyAt = performance.now();
    if (!this.why.hasChildNodes()) fill(this.why, el('p', {class: 'note'}, 'asking why …'));
    try {
      const why = await get<Why>(`/v1/jobs/${id}/why`);
      if (ticket !== this.asked) return;
      this.whyAt = performance.now();
      this.view.why = why;
      this.showWhy(why);
      this.view.changed();
    } catch (error) {
      if (ticket === this.asked) fill(this.why, el('p', {class: 'bad'}, (error as Error).message));
    }
  }

  private showWhy(why: Why) {
    const near = (t: number|null) => this.world.clock.near(t, this.world.now());
    const table = el('table', {}, el('caption', {}, 'What else could be done; energy and cost are the fleet’s'),
      el('thead', {}, el('tr', {}, ...['', 'starts', 'ends', 'late', 'energy', 'cost'].map(t => el('th', {scope: 'col'}, t)))),
      el('tbody', {}, ...why.alternatives.map(a => el('tr', {}, el('td', {}, a.what), el('td', {}, near(a.start_at)), el('td', {}, near(a.finish_at)),
        el('td', {}, a.late_s === null ? NA : a.late_s > 0 ? span(a.late_s) : 'no'), el('td', {}, energy(a.energy_j)), el('td', {}, money(a.cost))))));
    const r = why.reservation;
    fill(this.why,
      el('p', {}, el('code', {id: 'why-code'}, why.code), ' ', el('span', {id: 'why-sentence'}, why.sentence)),
      why.to_change.length ? el('ul', {}, ...why.to_change.map(t => el('li', {}, t))) : null,
      why.blocked_by.length ? el('p', {class: 'note', id: 'blocked-by'}, 'In its way (framed on the axis): ',
        why.blocked_by.slice(0, 8).map(b => `job ${b.job} on ${b.slice} of GPU ${b.gpu} until ≈ ${near(b.until_at)}`).join('; ')) : null,
      r ? el('p', {class: 'note', id: 'reservation'}, `Kept for it: ${r.slice} of GPU ${r.gpu} from ≈ ${near(r.start_at)}${r.after.length ? ', after job ' + r.after.join(', ') : ''}`) : null,
      why.alternatives.length ? el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Alternatives'}, table) : null);
  }

  private async follow(id: number) {
    this.following = new AbortController();
    const mine = this.following;
    try {
      await stream(`/v1/jobs/${id}/log?follow=1`, piece => {
        this.text = (this.text + piece).slice(-LOG_KEPT);
        if (this.drawing) return;
        this.drawing = window.setTimeout(() => this.drawLog(), 50);
      }, mine.signal);
    } catch (error) {
      if (mine.signal.aborted) return;
      const refused = error instanceof ApiError && error.status === 403;
      setText(this.words, refused ? 'Log: ' + NA + '. Logs are for the job’s owner and the operator.' : `Log: ${(error as Error).message}`);
    }
  }
  private drawLog() {
    this.drawing = 0;
    const end = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 4;
    fill(this.log, ...pieces(lastOfLines(this.text)).map(p => p.classes ? el('span', {class: p.classes}, p.text) : p.text));
    if (end) this.log.scrollTop = this.log.scrollHeight;
  }
  private leave() {
    clearTimeout(this.drawing);
    this.drawing = 0;
    this.text = '';
    this.following?.abort();
    this.following = null;
    this.shown = null;
    ++this.asked;
  }
}
