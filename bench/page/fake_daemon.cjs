// A stand-in for the daemon's API that makes as many events as it is told to: the page is measured, not the daemon.
const http = require('http');
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');

const PROFILES = {'1g.5gb': [1, 1, 4864], '2g.10gb': [2, 2, 9856], '3g.20gb': [3, 4, 19968], '4g.20gb': [4, 4, 19968], '7g.40gb': [7, 8, 40192]};
const LAYOUT = ['3g.20gb@0', '2g.10gb@4', '1g.5gb@6'];  // three slices of each GPU

// `dist`: the built page; `rate`: events a second; `factor`: seconds of the journal in a second of the clock; `gzip`: packs
// what it answers.
function fakeDaemon({dist, gpus, queued, rate, factor = 1, gzip = false}) {
  const began = Date.now() / 1000, now = () => began + (Date.now() / 1000 - began) * factor;
  const models = {'a100-40gb': {compute_slices: 7, memory_slices: 8, memory_mib: 40960,
                                profiles: Object.fromEntries(Object.entries(PROFILES).map(([n, [c, m, mib]]) => [n, {compute_slices: c, memory_slices: m, memory_mib: mib}]))}};
  const lines = [JSON.stringify({smartmig_journal: 1, config: [['policy', 'best'], ['began_at', String(began)]], initial: [[gpus, LAYOUT]]})];
  const jobs = new Map(), running = new Map(), streams = new Set(), changed = [];
  let last = 0, version = 1, number = 0;
  const add = e => lines.push(JSON.stringify({t: Math.round((now() - began) * 1e6), seq: lines.length, ...e}));
  const job = id => ({id, label: String(id), name: 'job-' + id % 40, user: ['ada', 'bob', 'cy'][id % 3], state: 'queued', suspended: false, reason: '', kind: '',
    submitted_at: now(), started_at: null, ended_at: null, deadline_at: id % 2 ? now() + 600 : null, expected_finish_at: null, late_s: 0, gpu: null, slice: null,
    mem_mib: 4000, peak_mib: null, joules_j: null, cost: null, priority: 0, attempt: 0});
  const submit = () => {
    const id = ++last;
    jobs.set(id, {...job(id), version: ++version, number: number++});
    add({ev: 'submitted', job: jobs.get(id).number, name: String(id), deadline: null, kind: null, work: [1e6], mem: null, restart: null});
    return id;
  };
  for (let i = 0; i < queued; ++i) submit();
  lines.splice(1 + Math.max(0, 512));  // a daemon's journal holds the jobs that its policy sees
  const start = (id, gpu, slice) => {
    const j = jobs.get(id);
    Object.assign(j, {state: 'running', started_at: now(), gpu, slice, version: ++version, joules_j: 0, attempt: 1});
    add({ev: 'started', job: j.number, gpu, slice});
    running.set(gpu + slice, id);
  };
  const finish = (gpu, slice) => {
    const id = running.get(gpu + slice), j = jobs.get(id);
    add({ev: 'finished', job: j.number});
    jobs.delete(id);
    changed.push([++version, id]);
    if (changed.length > 20000) changed.splice(0, 5000);
    running.delete(gpu + slice);
  };
  let next = 1, turn = 0;
  for (let g = 0; g < Math.min(gpus, queued); ++g) for (const s of LAYOUT) if (jobs.has(next)) start(next++, g, s);
  const step = () => {  // three events: one ends, one comes, one starts
    const g = turn++ % gpus, s = LAYOUT[Math.floor(turn / gpus) % 3];
    if (running.has(g + s)) finish(g, s);
    submit();
    while (!jobs.has(next) || jobs.get(next).state !== 'queued') ++next;
    start(next++, g, s);
  };
  let owed = 0;
  const timer = setInterval(() => {
    owed += rate / 3 * 0.02;
    for (; owed >= 1; --owed) step();
    for (const send of streams) send();
  }, 20);

  const shortJob = ({version: _v, number: _n, ...j}) => j;
  const answers = {
    '/v1/world': () => ({kind: 'live', version: 'x', title: gpus + 'xa100-40gb', policy: 'best', models, gpus: Array(gpus).fill('a100-40gb'), signed_in: false, operator: false,
                         user: '', began_at: began, journal_run: 1, journal_position: lines.length, now_at: now()}),
    '/v1/status': () => ({policy: 'best', paused: false, watts_w: 250 * gpus, power_cap_w: null, board_cap_w: null, queue: {queued: jobs.size - running.size, running: running.size}, now_at: now(),
                          energy: {idle_j: 1, attributed_j: 1, unattributed_j: 0}, shadow: null, prices: null, decisions: {count: 1, p50_ms: 1, p99_ms: 1, refused: 0, fallbacks: 0}, quarantined: [], et: null,
                          shortage: '', disk: 'ok', uptime_s: 1, emulated: true, journal_position: lines.length}),
    '/v1/gpus': () => ({gpus: Array.from({length: gpus}, (_, index) => ({index, uuid: '', product: '', model: 'a100-40gb', watts_w: 250, energy_j: 1, state: 'ok', words: '', layout: '', target: '', memory_slices: 8,
      slices: LAYOUT.map(name => ({name, profile: name.split('@')[0], start: Number(name.split('@')[1]), compute_slices: 1, memory_slices: 1, job: running.get(index + name) ?? null, state: 'ok', words: '', memory_mib: 4864,
                                   used_mib: 1000, going: false, watts_w: 30}))}))}),
    '/v1/jobs': () => ({jobs: [], more: false}),
    '/v1/futures': () => ({now_at: now(), policy: 'best', futures: 0, outcome: null, layouts: [], power: [], idle_w: 60 * gpus, jobs: [],
      stays: [...running].slice(0, 2000).map(([k, id]) => ({id, gpu: jobs.get(id).gpu, slice: jobs.get(id).slice, begin_at: now(), end_at: now() + 30, finished: true}))}),
    '/v1/usage': () => ({by: 'kind', rows: [], total: {key: '', jobs: 0, done: 0, energy_j: 0, slice_s: 0, late_s: 0, cost: null}}),
    '/v1/power': () => ({step_s: 60, now_at: now(), ahead: [], points: Array.from({length: 1440}, (_, i) => ({at: Math.floor(began / 60) * 60 - 60 * (1440 - i), watts_w: 250 * gpus, joules_j: 15000 * gpus, energy_per_kwh: null}))}),
    '/v1/jobs/reasons': () => ({reasons: []}),
  };
  const changes = since => {
    const whole = since === 0;
    const list = [...jobs.values()].filter(j => whole || j.version > since || j.state === 'running');
    return {version, whole, waiting: jobs.size - running.size, jobs: list.map(shortJob), gone: whole ? [] : changed.filter(c => c[0] > since).map(c => c[1])};
  };
  const server = http.createServer((request, reply) => {
    const answer = body => {
      if (gzip) reply.setHeader('Content-Encoding', 'gzip');
      reply.end(gzip ? zlib.gzipSync(body, {level: 3}) : body);
    };
    const url = new URL(request.url, 'http://x');
    if (url.pathname === '/' || url.pathname.startsWith('/page/')) {
      const file = url.pathname === '/' ? 'index.html' : path.basename(url.pathname);
      reply.setHeader('Content-Type', {html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml'}[file.split('.').pop()]);
      return answer(fs.readFileSync(path.join(dist, file)));
    }
    if (url.pathname === '/v1/events') {
      let at = Number(request.headers['last-event-id'] || 0);
      reply.setHeader('Content-Type', 'text/event-stream');
      const send = () => {
        let text = '';
        for (; at < lines.length; ++at) text += `id: ${at + 1}\nevent: x\ndata: ${lines[at]}\n\n`;
        if (text) reply.write(text);
      };
      streams.add(send);
      request.on('close', () => streams.delete(send));
      return send();
    }
    reply.setHeader('Content-Type', 'application/json');
    const made = url.pathname === '/v1/jobs/changes' ? changes(Number(url.searchParams.get('since') || 0)) : answers[url.pathname]?.();
    reply.statusCode = made ? 200 : 404;
    answer(JSON.stringify(made ?? {error: {code: 'not_found', message: 'no'}}));
  });
  return new Promise(done => server.listen(0, '127.0.0.1', () => done({
    url: `http://127.0.0.1:${server.address().port}/`,
    events: () => lines.length,
    close: () => { clearInterval(timer); server.closeAllConnections?.(); server.close(); },
  })));
}
module.exports = {fakeDaemon};
