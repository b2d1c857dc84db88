// The queue: only the rows that can be seen are in the document, so that 10,000 jobs cost as much as 30. Reason codes
// are asked for these rows alone.
import {el, setAttr, setText} from './dom';
import {energy, mib, money, NA, span} from './format';
import {JobFuture, ShortJob} from './types';
import {View} from './view';
import {COMPUTING, LiveWorld, World} from './world';

const ROW = 26;
export const NO_START: {[code: string]: string} = {held: 'when released', waits_for_held: 'unknown', dependency_fails: 'never'};
interface Column { key: string; title: string; numeric?: boolean; value: (job: ShortJob) => number|string|null; text: (job: ShortJob) => string; }

export class QueueTable {
  private body = el('div', {class: 'rows', role: 'rowgroup'});
  private scroller = el('div', {class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': 'Jobs; arrow keys scroll'});
  private table: HTMLElement;
  private count = el('span', {class: 'note', id: 'row-count', role: 'status'});
  private filter = el('input', {type: 'search', placeholder: 'name, user, number, kind', 'aria-label': 'Filter jobs', id: 'filter'});
  private state = el('select', {'aria-label': 'Which jobs', id: 'state-filter'});
  private rows: ShortJob[] = [];
  private pool: HTMLElement[] = [];
  private sortKey = 'id'; private down = false;
  private futures = new Map<number, JobFuture>();
  private reasons = new Map<number, {code: string; sentence: string; at: number}>();
  private asking = false;
  private dirty = true;
  private was = false;  // it showed the present
  private columns: Column[];
  private headers: HTMLElement[] = [];

  constructor(node: HTMLElement, private world: World, private view: View, private choose: (label: string) => void) {
    const clock = world.clock, near = (t: number|null|undefined) => clock.near(t, view.instant());
    // What is expected is of the present; at another instant only what had happened by then is shown.
    const began = (job: ShortJob) => job.started_at !== null && (this.present || job.started_at <= view.instant()) ? job.started_at : null;
    const eta = (job: ShortJob) => began(job) !== null || !this.present ? null : this.futures.get(job.id)?.expected_start_at ?? null;
    const over = (job: ShortJob) => job.ended_at !== null && (this.present || job.ended_at <= view.instant()) ? job.ended_at : null;
    const finish = (job: ShortJob) => over(job) ?? (this.present ? this.futures.get(job.id)?.expected_finish_at ?? job.expected_finish_at : null);
    // Why there is no instant: it is being computed, or there is none.
    const none = (job: ShortJob) => {
      const why = this.futures.get(job.id)?.no_start;
      return !world.live || !this.present ? NA : why ? NO_START[why] ?? why : world.futures ? NA : world.futuresWords === COMPUTING ? '…' : NA;
    };
    const expected = (t: number|null, job: ShortJob) => t !== null ? '≈ ' + near(t) : none(job);
    this.columns = [
      {key: 'id', title: 'job', numeric: true, value: j => j.id, text: j => j.label},
      {key: 'name', title: 'name', value: j => j.name, text: j => j.name || 'job ' + j.label},
      {key: 'user', title: 'user', value: j => j.user, text: j => j.user || NA},
      {key: 'state', title: 'state', value: j => this.stateOf(j), text: j => this.stateOf(j)},
      {key: 'why', title: 'why it waits', value: j => this.code(j), text: j => this.code(j)},
      {key: 'start', title: 'start', numeric: true, value: j => began(j) ?? eta(j), text: j => began(j) !== null ? near(began(j)) : expected(eta(j), j)},
      {key: 'end', title: 'end', numeric: true, value: finish, text: j => over(j) !== null ? near(over(j)) : expected(finish(j), j)},
      {key: 'deadline', title: 'deadline', numeric: true, value: j => j.deadline_at, text: j => j.deadline_at === null ? 'none' : near(j.deadline_at)},
      {key: 'late', title: 'late', numeric: true, value: j => this.late(j) || this.willBeLate(j), text: j => j.deadline_at === null ? NA : this.late(j) > 0 ? span(this.late(j)) : this.willBeLate(j) > 0 ? '≈ ' + span(this.willBeLate(j)) : 'no'},
      {key: 'mem', title: 'memory', numeric: true, value: j => j.mem_mib, text: j => mib(j.mem_mib)},
      {key: 'joules', title: 'energy', numeric: true, value: j => j.energy_j, text: j => energy(j.energy_j)},
      {key: 'cost', title: 'cost', numeric: true, value: j => j.cost, text: j => money(j.cost)},
      {key: 'where', title: 'where', value: j => this.place(j)?.gpu ?? -1, text: j => { const at = this.place(j); return at ? `GPU ${at.gpu} ${at.slice}` : ''; }},
    ];
    for (const [value, text] of [['active', 'waiting and running'], ['waiting', 'waiting'], ['running', 'running'], ['late', 'past their deadline'], ['will-be-late', 'expected to be late'], ['ended', 'ended'], ['all', 'all']])
      this.state.append(el('option', {value}, text));
    const head = el('div', {class: 'row head', role: 'row'}, ...this.columns.map(column => {
      const button = el('button', {onclick: () => this.sort(column.key)}, column.title);
      const cell = el('div', {role: 'columnheader', class: 'c-' + column.key + (column.numeric ? ' n' : ''), 'aria-sort': 'none'}, button);
      this.headers.push(cell);
      return cell;
    }));
    this.table = el('div', {role: 'table', class: 'table', id: 'queue', 'aria-label': 'Queue'}, el('div', {role: 'rowgroup', class: 'head-group'}, head), this.body);
    this.scroller.append(this.table);
    node.append(el('div', {class: 'tools'}, this.filter, this.state, this.count), this.scroller);
    this.scroller.addEventListener('scroll', () => this.paint());
    new ResizeObserver(() => this.paint()).observe(this.scroller);
    this.filter.addEventListener('input', () => this.refresh());
    this.state.addEventListener('change', () => this.refresh());
    this.headers[0].setAttribute('aria-sort', 'ascending');
  }

  setFutures(jobs: JobFuture[]) {
    this.futures = new Map(jobs.map(j => [j.id, j]));
    this.dirty = true;
  }
  invalidate() { this.dirty = true; }
  update() {
    if (!this.dirty && this.present && this.was) return;
    this.was = this.present;
    this.dirty = false;
    this.refresh();
  }

  private get present() { return this.world.live && this.view.following; }
  private stateOf(job: ShortJob): string { return this.world.stateAt(job, this.view.instant(), this.present); }
  private waits(job: ShortJob) { const s = this.stateOf(job); return s === 'queued' || s === 'held'; }
  private ended(job: ShortJob) { return ['done', 'failed', 'cancelled', 'timed_out'].includes(this.stateOf(job)); }
  private place(job: ShortJob) { return this.waits(job) ? null : this.world.placeAt(job, this.view.instant(), this.present); }
  // Past its deadline already; expected to be, and not yet.
  private late(job: ShortJob): number { return this.world.lateAt(job, this.view.instant()); }
  private willBeLate(job: ShortJob): number {
    return !this.present || this.ended(job) || this.late(job) > 0 ? 0 : Math.max(job.late_s, this.futures.get(job.id)?.late_s ?? 0);
  }
  private code(job: ShortJob): string {
    if (!this.waits(job)) return '';
    return this.present ? this.reasons.get(job.id)?.code ?? '…' : NA;
  }

  private sort(key: string) {
    this.down = this.sortKey === key ? !this.down : false;
    this.sortKey = key;
    this.headers.forEach((h, i) => h.setAttribute('aria-sort', this.columns[i].key !== key ? 'none' : this.down ? 'descending' : 'ascending'));
    this.refresh();
  }

  private refresh() {
    const words = this.filter.value.trim().toLowerCase(), which = this.state.value, t = this.view.instant();
    const rows: ShortJob[] = [];
    for (const job of this.world.jobs.values()) {
      if (!this.present && job.submitted_at > t) continue;
      const over = this.ended(job);
      if (which === 'active' ? over : which === 'waiting' ? !this.waits(job) : which === 'running' ? over || this.waits(job) :
          which === 'late' ? over || !(this.late(job) > 0) : which === 'will-be-late' ? !(this.willBeLate(job) > 0) : which === 'ended' ? !over : false)
        continue;
      if (words && !`${job.label} ${job.name} ${job.user} ${job.kind} ${this.stateOf(job)}`.toLowerCase().includes(words)) continue;
      rows.push(job);
    }
    const column = this.columns.find(c => c.key === this.sortKey)!, sign = this.down ? -1 : 1;
    if (this.sortKey !== 'id' || this.down || !this.sorted(rows)) {
      const keys = new Map(rows.map(j => [j, column.value(j)]));
      rows.sort((a, b) => {
        const x = keys.get(a)!, y = keys.get(b)!;
        if (x === y) return a.id - b.id;
        if (x === null || x === undefined) return 1;  // what is not known comes last
        if (y === null || y === undefined) return -1;
        return (x < y ? -1 : 1) * sign;
      });
    }
    this.rows = rows;
    setText(this.count, `${rows.length.toLocaleString('en-US').replace(/,/g, '\u202f')} jobs`);
    this.body.style.height = rows.length * ROW + 'px';
    setAttr(this.table, 'aria-rowcount', String(rows.length + 1));
    this.paint();
  }
  private sorted(rows: ShortJob[]) {
    for (let i = 1; i < rows.length; ++i)
      if (rows[i - 1].id > rows[i].id) return false;
    return true;
  }

  private paint() {
    const top = this.scroller.scrollTop, height = this.scroller.clientHeight || 400;
    const first = Math.max(0, Math.floor(top / ROW) - 4), shown = this.rows.slice(first, first + Math.ceil(height / ROW) + 10);
    while (this.pool.length < shown.length) this.pool.push(this.makeRow());
    this.pool.forEach((node, i) => {
      const job = shown[i];
      node.hidden = !job;
      if (!job) return;
      node.style.transform = `translateY(${(first + i) * ROW}px)`;
      setAttr(node, 'data-id', String(job.id));
      setAttr(node, 'data-job', job.label);
      setAttr(node, 'data-state', this.stateOf(job));
      setAttr(node, 'data-late', this.late(job) > 0 ? '1' : this.willBeLate(job) > 0 ? 'expected' : null);
      setAttr(node, 'aria-current', this.view.job === job.label ? 'true' : null);
      setAttr(node, 'aria-rowindex', String(first + i + 2));
      this.columns.forEach((column, c) => {
        const cell = node.children[c] as HTMLElement;
        const text = column.text(job);
        setText(c === 0 ? cell.firstElementChild! : cell, text);
        if (column.key === 'why') setAttr(cell, 'title', this.waits(job) ? this.reasons.get(job.id)?.sentence ?? null : null);
        else if (column.key === 'name') setAttr(cell, 'title', text);
      });
    });
    this.askReasons(shown);
  }

  private makeRow() {
    const open = el('button', {class: 'open'});
    const row = el('div', {class: 'row', role: 'row'}, ...this.columns.map((column, c) =>
      el('div', {role: 'cell', class: 'c-' + column.key + (column.numeric ? ' n' : '')}, c === 0 ? open : null)));
    row.addEventListener('click', () => this.choose(row.dataset.job!));
    this.body.append(row);
    return row;
  }

  private askReasons(shown: ShortJob[]) {
    if (!(this.world instanceof LiveWorld) || this.asking) return;
    const now = performance.now();
    const wanted = shown.filter(j => this.waits(j) && now - (this.reasons.get(j.id)?.at ?? -1e9) > 4000).slice(0, 60).map(j => j.id);
    if (wanted.length === 0) return;
    this.asking = true;
    for (const id of wanted) this.reasons.set(id, {code: this.reasons.get(id)?.code ?? '…', sentence: '', at: now});
    this.world.reasons(wanted).then(answer => {
      for (const r of answer.reasons) this.reasons.set(r.id, {code: r.code, sentence: r.sentence, at: now});
      if (this.reasons.size > 5000) this.reasons.clear();
    }).catch(() => {}).finally(() => setTimeout(() => {
      this.asking = false;
      this.paint();
    }, 400));
  }
}
