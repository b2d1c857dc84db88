// Puts the page together. What happens marks panels as stale; at most once a frame they are brought up to date, the axis
// ten times a second while it follows the edge.
import 'uplot/dist/uPlot.min.css';
import '../plain/look.css';
import './style.css';
import {Decisions} from './decisions';
import {drainButton, signInDialog, submitDialog} from './dialogs';
import {byId, el, fill, keyed, setAttr, setText} from './dom';
import {Figures} from './figures';
import {num, watts} from './format';
import {JobPanel} from './job_panel';
import {Landscape} from './landscape';
import {LaneList} from './lane_list';
import {Lanes} from './lanes';
import {LayoutPanel} from './layout_panel';
import {JobColours} from './palette';
import {MyJob} from './my_job';
import {QueueTable} from './queue_table';
import {TimeBar} from './time_bar';
import {View} from './view';
import {WhatIf} from './whatif';
import {LiveWorld, openWorld, World} from './world';

let sayTimer = 0;
function say(words: string, bad = false) {
  const node = byId('said');
  setText(node, words);
  node.classList.toggle('bad', bad);
  clearTimeout(sayTimer);
  sayTimer = window.setTimeout(() => setText(node, ''), 8000);
}

function showTheme(choice: string|null) {
  if (choice) document.documentElement.dataset.theme = choice;
  else delete document.documentElement.dataset.theme;
}

function header(world: World, view: View) {
  setText(byId('world'), world.live ? `${world.info.title} under ${world.status?.policy ?? world.info.policy}` : `${world.info.platform ?? ''} under ${world.info.policy}, ${world.info.title}`);
  const s = world.status, chips: [string, string, string][] = [];
  if (world.live) {
    chips.push(['link', world.connected ? 'live' : `not connected since ${world.clock.time(world.now())}: ${world.words}`, world.connected ? 'good' : 'bad']);
    if (!view.following) chips.push(['past', `at ${world.clock.near(view.instant(), world.now())}, not now`, 'bad']);
    if (s?.paused) chips.push(['paused', 'queue paused', 'bad']);
    if (s?.shortage) chips.push(['shortage', s.shortage, 'bad']);
    if (s && s.disk !== 'ok') chips.push(['disk', s.disk, 'bad']);
    for (const words of s?.quarantined ?? []) chips.push(['quarantined ' + words, 'quarantined: ' + words, 'bad']);
    if (s) {
      const q = s.queue, waiting = (q.queued ?? 0) + (q.held ?? 0), running = (q.running ?? 0) + (q.starting ?? 0) + (q.stopping ?? 0);
      let late = 0, will = 0;  // past their deadline; expected to be
      const of = new Map(world.futures?.jobs.map(f => [f.id, f.late_s ?? 0]));
      for (const job of world.jobs.values()) {
        if (job.ended_at) continue;
        if (world.lateAt(job, world.now()) > 0) ++late;
        else if (job.late_s > 0 || (of.get(job.id) ?? 0) > 0) ++will;
      }
      chips.push(['watts', `${watts(s.watts_w)}${s.power_cap_w ? ` of ${watts(s.power_cap_w)}` : ''}`, ''], ['running', `${num(running, 0)} running`, ''], ['waiting', `${num(waiting, 0)} waiting`, ''], ['late', `${num(late, 0)} late`, late ? 'late' : ''], ['will-be-late', `${num(will, 0)} expected late`, will ? 'late' : '']);
    }
  } else {
    chips.push(['link', 'recorded', '']);
  }
  keyed(byId('chips'), chips, c => c[0], () => el('li', {class: 'chip'}), (node, c) => {
    setText(node, c[1]);
    node.className = 'chip ' + c[2];
  });
}

function tabs() {
  const buttons = Array.from(document.querySelectorAll<HTMLButtonElement>('[role=tab]'));
  const open = (button: HTMLButtonElement) => buttons.forEach(b => {
    b.setAttribute('aria-selected', String(b === button));
    b.tabIndex = b === button ? 0 : -1;
    byId(b.getAttribute('aria-controls')!).hidden = b !== button;
  });
  buttons.forEach((b, i) => {
    b.addEventListener('click', () => open(b));
    b.addEventListener('keydown', e => {
      const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
      if (!step) return;
      const next = buttons[(i + step + buttons.length) % buttons.length];
      open(next);
      next.focus();
    });
  });
}

function run(world: World) {
  const view = new View(world), colours = new JobColours(world), choose = (label: string) => view.choose(label);
  const lanes = new Lanes(world, view, colours);
  byId('axis').append(lanes.node);
  byId('axis').addEventListener('gpu', e => lanes.scrollToGpu((e as CustomEvent).detail));
  lanes.onChoose = hit => choose(hit.label);
  const landscape = new Landscape(world, view, colours, lanes.paint);
  byId('axis').after(landscape.node);
  const layout = new LayoutPanel(byId('layout'), world, view, colours, choose);
  const queue = new QueueTable(byId('panel-queue'), world, view, choose);
  const decisions = new Decisions(byId('panel-decisions'), world, view);
  const figures = new Figures(byId('panel-energy'), world, view);
  const whatif = new WhatIf(byId('panel-whatif'), world, view, say);
  const job = new JobPanel(byId('job'), world, view, say);
  const bar = new TimeBar(byId('time'), world, view);
  const list = new LaneList(byId('in-words'), world, view);
  const drain = drainButton(byId('operator'), world, view, say);
  signInDialog(world, say);
  submitDialog(world, say);

  const due = {axis: true, rest: true};
  let painted = false;  // the axis and the layout first, the panels below a frame later
  let framed = false, slowNext = 0, lastFrame = 0, lastAxis = 0;
  const frame = (time: number) => {
    framed = false;
    const began = performance.now();
    bar.tick(Math.min(0.25, Math.max(0, (time - lastFrame) / 1000)));
    lastFrame = time;
    if (due.axis) {
      due.axis = false;
      lastAxis = time;
      lanes.draw();
      landscape.draw();
      layout.update();
      bar.update();
    }
    if (due.rest && painted && began >= slowNext) {
      due.rest = false;
      queue.update();
      decisions.update();
      figures.update();
      job.update();
      list.update(view.whatif?.stays ?? world.futures?.stays ?? [], world.futures?.jobs ?? []);
      legend(colours);
      header(world, view);
      whatif.update();
      drain();
      const took = performance.now() - began;
      slowNext = performance.now() + Math.max(90, 6 * took);
    }
    painted = true;
    (window as any).smartmigFrames?.push(performance.now() - began);
    if (view.playing || due.rest) request();
  };
  const request = () => {
    if (framed) return;
    framed = true;
    requestAnimationFrame(frame);
  };
  const future = () => {
    const w = view.whatif, f = world.futures;
    if (w) lanes.setFuture(w.stays, w.layouts, []);
    else if (f) lanes.setFuture(f.stays, f.layouts, f.jobs);
    else lanes.setFuture([], [], []);
    if (f) view.fitFuture();
    setText(byId('future-words'), !world.live ? '' : w ? 'right of now: the what-if, as it was when it was asked' : f ? `right of now: what ${f.policy} expects${f.futures ? `, whiskers p10 to p90 of ${f.futures} futures` : ''}` : `right of now: ${world.futuresWords || 'n/a'}`);
    setAttr(byId('axis'), 'data-whatif', w ? '1' : null);
    if (!w) setAttr(byId('axis'), 'data-old', null);
  };
  world.on(topic => {
    if (topic === 'futures') {
      future();
      queue.setFutures(world.futures?.jobs ?? []);
    }
    if (topic === 'jobs') {
      queue.invalidate();
      colours.update();
    }
    if (topic === 'connection') setAttr(document.body, 'data-lost', world.connected ? null : '1');
    due.axis = due.rest = true;
    request();
  });
  view.on(() => {
    future();
    if (!world.live) queue.invalidate();
    due.axis = due.rest = true;
    request();
  });
  setInterval(() => {
    if (document.hidden) return;
    if (world.live && view.following && performance.now() - lastAxis > 90) due.axis = true;
    if (performance.now() > slowNext + 800) due.rest = true;
    if (due.axis || due.rest) request();
  }, 100);
  const restyle = () => { lanes.restyle(); landscape.restyle(); figures.restyle(); request(); };
  byId('theme').addEventListener('click', () => {
    const dark = getComputedStyle(document.documentElement).colorScheme.includes('dark') && !getComputedStyle(document.documentElement).colorScheme.includes('light');
    const next = (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches || dark ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark';
    localStorage.setItem('smartmig-theme', next);
    showTheme(next);
    restyle();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restyle);
  if (view.gpu !== null) lanes.scrollToGpu(view.gpu);
  addEventListener('keydown', event => {
    if (event.key === 'Escape' && view.job !== null && !document.querySelector('dialog[open]')) view.choose(null);
  });
  future();
  request();
  (window as any).smartmig = {world, view, lanes, landscape, colours};
  document.body.dataset.ready = '1';
}

function legend(colours: JobColours) {
  const signs = [{name: 'past its deadline', sign: 'late'}, {name: 'failed', sign: 'failed'}, {name: 'stopped, goes on', sign: 'stopped'}];
  keyed(byId('legend'), [...colours.legend().map(l => ({...l, sign: ''})), ...signs.map(s => ({...s, colour: -1}))], l => l.sign + l.name, l => el('li', {},
    el('i', {class: l.sign}), el('span', {})), (node, l) => {
    setAttr(node.firstElementChild!, 'data-colour', l.colour < 0 ? null : String(l.colour));
    setText(node.lastElementChild!, l.name);
    setAttr(node, 'title', l.name);
  });
}

// The page of one job.
function runJob(world: World, label: string) {
  for (const id of ['open-submit', 'sign-in']) byId(id).hidden = true;
  const mine = new MyJob(document.querySelector('main')!, world, label), show = () => {
    setText(byId('world'), world.status ? `under ${world.status.policy}` : '');
    setText(byId('who'), world.info.signed_in ? world.info.user : 'read only');
    mine.update();
  };
  byId('theme').addEventListener('click', () => {
    const dark = (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
    localStorage.setItem('smartmig-theme', dark ? 'light' : 'dark');
    showTheme(dark ? 'light' : 'dark');
  });
  setInterval(show, 1000);
  world.on(topic => { if (topic === 'futures' || topic === 'connection') show(); });
  show();
  document.body.dataset.ready = '1';
}

async function begin() {
  showTheme(localStorage.getItem('smartmig-theme'));
  tabs();
  try {
    const world = await openWorld();
    document.title = world.live ? 'smartmig' : `smartmig: ${world.info.title}`;
    document.body.dataset.world = world.info.kind;
    await world.start();
    const only = () => new URLSearchParams(location.hash.slice(1)).get('only')?.match(/^\d+(_\d+)?$/)?.[0], hash = only(), mine = hash ?? location.pathname.match(/^\/job\/(\d+(?:_\d+)?)$/)?.[1];
    addEventListener('hashchange', () => { if (only() !== hash) location.reload(); });
    if (mine && world.live) runJob(world, mine);
    else run(world);
  } catch (error) {
    const status = (error as {status?: number}).status;
    if (status === 401) return askToken();
    fill(byId('said'), `The page cannot be shown: ${(error as Error).message}`);
    byId('said').classList.add('bad');
  }
}

// Where reading needs a token, too.
function askToken() {
  const world = new LiveWorld({} as never);
  const field = el('input', {type: 'password', id: 'token', autocomplete: 'off'}), words = el('p', {class: 'bad', role: 'alert', id: 'sign-in-words'});
  const form = el('form', {class: 'gate'}, el('label', {}, 'Token of this server', field), el('button', {class: 'main'}, 'Sign in'), words);
  form.addEventListener('submit', event => {
    event.preventDefault();
    world.signIn(field.value.trim()).then(() => location.reload(), () => setText(words, 'The server does not know this token.'));
  });
  fill(document.querySelector('main')!, form);
}

void begin();
