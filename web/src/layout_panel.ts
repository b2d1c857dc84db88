// The layout at the instant, drawn to scale: each GPU an axis of memory slices, each slice as wide as its memory, with the
// memory that is used against the memory that is given. Plain elements, so that a screen reader and the tests can read
// it. A fleet of more than 40 GPUs is a grid of cells, one for each GPU, and the chosen one is drawn large.
import {byId, el, keyed, setAttr, setText} from './dom';
import {mib, NA, percent, span, watts} from './format';
import {profileOf, startOf, Stay} from './history';
import {JobColours} from './palette';
import {Slice} from './types';
import {View} from './view';
import {World} from './world';

const MANY = 40;
interface Row { gpu: number; slices: {slice: string; stay: Stay|null; now: Slice|null}[]; }

export class LayoutPanel {
  private list = el('div', {class: 'gpus', role: 'list', 'aria-label': 'GPUs and their slices at the instant'});
  private grid = el('div', {class: 'grid', role: 'group', 'aria-label': 'Busy share of every GPU'});
  private idle = el('p', {class: 'note', id: 'idle-slices'});
  private cells: HTMLElement[] = [];
  private told: string[] = [];

  constructor(node: HTMLElement, private world: World, private view: View, private colours: JobColours,
              private choose: (label: string) => void) {
    if (this.many) {
      const find = el('input', {type: 'search', placeholder: 'GPU number', 'aria-label': 'Find a GPU by its number', class: 'find-gpu'});
      find.addEventListener('input', () => {
        const wanted = Number(find.value);
        if (find.value !== '' && wanted >= 0 && wanted < world.info.gpus.length) this.pick(wanted);
      });
      node.append(find, this.grid);
      if (view.gpu === null) view.gpu = 0;
      const part = document.createDocumentFragment();
      world.info.gpus.forEach((_, gpu) => {
        const cell = el('button', {class: 'cell', 'data-gpu': gpu, 'aria-label': 'GPU ' + gpu});
        this.cells.push(cell);
        part.append(cell);
      });
      this.grid.append(part);
      this.grid.addEventListener('click', event => {
        const cell = (event.target as HTMLElement).closest<HTMLElement>('.cell');
        if (cell) this.pick(Number(cell.dataset.gpu));
      });
    }
    node.append(this.list, this.idle);
  }
  private get many() { return this.world.info.gpus.length > MANY; }
  private pick(gpu: number) {
    this.view.gpu = gpu;
    this.view.changed();
    byId('axis').dispatchEvent(new CustomEvent('gpu', {detail: gpu}));
  }

  update() {
    const {world, view} = this, t = view.instant(), present = view.following && world.live;
    const shown = this.many ? [view.gpu ?? 0] : world.info.gpus.map((_, g) => g);
    const rows: Row[] = shown.map(gpu => ({
      gpu,
      slices: world.history.at(t, gpu).map(one => ({
        ...one, now: present ? world.gpus?.[gpu]?.slices.find(s => s.name === one.slice) ?? null : null,
      })),
    }));
    keyed(this.list, rows, r => String(r.gpu), r => this.make(r), (node, r) => this.refresh(node, r));
    if (this.many) this.cells.forEach((cell, gpu) => {
      const share = world.history.busyShare(gpu, t), state = world.gpus?.[gpu]?.state ?? 'ok';
      const known = `${share} ${state} ${view.gpu === gpu}`;
      if (this.told[gpu] === known) return;  // most of a thousand are as they were
      this.told[gpu] = known;
      setAttr(cell, 'data-busy', String(Math.round(share * 8)));
      setAttr(cell, 'data-state', state === 'ok' ? null : state);
      setAttr(cell, 'title', `GPU ${gpu}: ${percent(share)} busy${state === 'ok' ? '' : ', ' + state}`);
      setAttr(cell, 'aria-pressed', String(view.gpu === gpu));
    });
    setText(this.idle, this.idleWords(present));
  }

  // Slices that a job holds without using them: nobody else can have them.
  private idleWords(present: boolean): string {
    if (!present || !this.world.gpus) return 'Memory in use and idle slices: ' + NA + ' for another instant than now.';
    const names: string[] = [];
    for (const gpu of this.world.gpus)
      for (const slice of gpu.slices) {
        const job = slice.job === null ? null : this.world.jobs.get(slice.job);
        if (job && slice.used_mib === 0 && job.started_at !== null && this.world.now() - job.started_at > 30)
          names.push(`${slice.name} of GPU ${gpu.index} (job ${job.label}, ${span(this.world.now() - job.started_at)})`);
      }
    if (names.length === 0) return 'No slice is allocated and idle.';
    const more = names.length > 6 ? ` and ${names.length - 6} more` : '';
    return `Allocated, but no GPU memory used: ${names.slice(0, 6).join('; ')}${more}.`;
  }

  private make(row: Row) {
    return el('div', {class: 'gpu', role: 'listitem', 'data-gpu': row.gpu},
              el('div', {class: 'gpu-head'}, el('b', {}, 'GPU ' + row.gpu), el('span', {class: 'gpu-model'}), el('span', {class: 'gpu-watts'})),
              el('ul', {class: 'slices', 'aria-label': 'Slices of GPU ' + row.gpu}));
  }

  private refresh(node: HTMLElement, row: Row) {
    const {world} = this, model = world.modelOf(row.gpu), gpu = this.view.following && world.live ? world.gpus?.[row.gpu] : null;
    const state = gpu && gpu.state !== 'ok' ? ' · ' + gpu.state : '';
    setText(node.querySelector('.gpu-model')!, world.info.gpus[row.gpu] + state);
    setText(node.querySelector('.gpu-watts')!, gpu ? watts(gpu.watts_w) : '');
    keyed(node.querySelector<HTMLElement>('.slices')!, row.slices, s => s.slice, () => this.makeSlice(), (li, one) => {
      const length = world.history.length(row.gpu, one.slice), profile = model.profiles[profileOf(one.slice)];
      const button = li.firstElementChild as HTMLElement, used = button.querySelector<HTMLElement>('.used')!;
      li.style.left = 100 * startOf(one.slice) / model.memory_slices + '%';
      li.style.width = 100 * length / model.memory_slices + '%';
      const job = one.stay?.job ?? null, late = job !== null && this.late(job);
      setAttr(button, 'data-gpu', String(row.gpu));
      setAttr(button, 'data-slice', one.slice);
      setAttr(button, 'data-job', job);
      setAttr(button, 'data-colour', job === null ? null : String(this.colours.of(job)));
      setAttr(button, 'data-late', late ? '1' : null);
      setAttr(button, 'data-blocks', this.view.why?.blocked_by.some(b => b.gpu === row.gpu && b.slice === one.slice) ? '1' : null);
      setAttr(button, 'data-kept', this.view.why?.reservation?.gpu === row.gpu && this.view.why.reservation.slice === one.slice ? '1' : null);
      setAttr(button, 'aria-pressed', String(job !== null && this.view.job === job));
      const given = one.now?.memory_mib || profile?.memory_mib || null, inUse = one.now ? one.now.used_mib : null;
      used.style.width = given && inUse !== null ? Math.min(100, 100 * inUse / given) + '%' : '0';
      setText(button.querySelector('.job')!, job === null ? 'free' : job);
      setText(button.querySelector('.profile')!, profileOf(one.slice));
      const trouble = one.now && one.now.state !== 'ok' ? `, ${one.now.state}: ${one.now.words}` : '';
      setAttr(button, 'aria-label',
              `${one.slice} of GPU ${row.gpu}: ${job === null ? 'free' : 'job ' + job + (late ? ', late' : '')}, ${inUse === null ? NA : mib(inUse)} of ${mib(given)} used${trouble}`);
      setAttr(button, 'title', button.getAttribute('aria-label'));
    });
  }
  private makeSlice() {
    const button = el('button', {class: 'slice'}, el('span', {class: 'used'}), el('span', {class: 'job'}), el('span', {class: 'profile'}));
    button.addEventListener('click', () => { if (button.dataset.job) this.choose(button.dataset.job); });
    return el('li', {}, button);
  }
  private late(job: string): boolean {
    const deadline = this.world.deadline(job);
    return deadline !== null && this.view.instant() > deadline;
  }
}
