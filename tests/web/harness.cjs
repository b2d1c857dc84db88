// A real daemon or a recorded run, a browser, and a second reader of the journal: what the tests of the page stand on.
const {spawn, spawnSync} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const playwright = require('playwright-core');

const build = path.resolve(process.argv[2] || 'build/release');
const program = process.env.SMARTMIG_PROGRAM || path.join(build, 'smartmig');
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'smartmig-web-'));
const TOKEN = 'operator-token-0123456789', OTHER = 'nobodys-token-0123456789';
const children = new Set();
let checks = 0;

class Failed extends Error {}
function check(condition, words) {
  ++checks;
  if (!condition) throw new Failed(words);
}
function equal(got, wanted, words) {
  check(JSON.stringify(got) === JSON.stringify(wanted), `${words}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
}
const sleep = ms => new Promise(done => setTimeout(done, ms));
async function until(condition, words, seconds = 20) {
  const end = Date.now() + 1000 * seconds;
  for (;;) {
    const value = await condition();
    if (value) return value;
    check(Date.now() < end, `after ${seconds} s still not: ${words}`);
    await sleep(25);
  }
}

function run(...args) {
  const done = spawnSync(program, args, {encoding: 'utf8', env: {...process.env, SMARTMIG_SOCKET: path.join(scratch, 'socket')}});
  check(done.status === 0, `smartmig ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
}

// Starts a verb that serves a page and gives its port.
async function serve(args) {
  const child = spawn(program, args, {stdio: ['ignore', 'ignore', 'pipe']});
  children.add(child);
  child.on('exit', () => children.delete(child));
  let said = '';
  child.stderr.on('data', data => said += data);
  const port = await until(() => {
    check(child.exitCode === null, `smartmig ${args.join(' ')} ended: ${said}`);
    return (said.match(/http:\/\/127\.0\.0\.1:(\d+)\//) || [])[1];
  }, `a page of smartmig ${args[0]}: ${said}`, 60);
  return {child, port: Number(port), url: `http://127.0.0.1:${port}/`, said: () => said};
}

// `state`: a folder of an earlier one; `port`: the one it had.
async function daemon({gpus = '2xa100-40gb', port = 0, state = fs.mkdtempSync(path.join(scratch, 'state-')), more = []} = {}) {
  const tokens = path.join(state, 'page-token');
  if (!fs.existsSync(tokens)) fs.writeFileSync(tokens, process.getuid() === 0 ? `${TOKEN}\n${OTHER} nobody\n` : TOKEN + '\n', {mode: 0o600});
  const made = await serve(['serve', '--emulate', gpus, '--state', state, '--socket', path.join(scratch, 'socket'), '--http-port', String(port), ...more]);
  made.state = state;
  made.ask = async (method, route, body, token = TOKEN) => {
    const reply = await fetch(made.url.slice(0, -1) + route, {
      method, headers: {...(token ? {Authorization: 'Bearer ' + token} : {}), ...(body ? {'Content-Type': 'application/json'} : {})}, body: body && JSON.stringify(body)});
    const text = await reply.text();
    let json = null;
    try { json = JSON.parse(text); } catch { /* lines */ }
    return {status: reply.status, text, json, headers: reply.headers};
  };
  made.submit = async spec => {
    const reply = await made.ask('POST', '/v1/jobs', {directory: '/tmp', estimate_s: 20, min_slices: 1, ...spec});
    check(reply.status === 201, `submit: ${reply.text}`);
    return reply.json.ids[0];
  };
  made.stop = async () => {
    made.child.kill('SIGTERM');
    await until(() => made.child.exitCode !== null || made.child.signalCode !== null, 'the daemon ends');
  };
  return made;
}

// The journal read once more, by other code than the page's: who is on which slice at an instant.
class Journal {
  constructor(text) {
    this.stays = [];
    this.begin = Infinity;
    this.end = -Infinity;
    let origin = 0, names = new Map(), open = new Map();
    for (const line of text.split('\n').filter(l => l)) {
      const e = JSON.parse(line);
      if (e.note) continue;
      if (e.smartmig_journal) {
        origin = Number((e.config.find(c => c[0] === 'began_at') || [0, 0])[1]);
        names = new Map();
        this.restarted = [...(this.restarted || []), origin];
        this.carried = open;
        open = new Map();
        continue;
      }
      const t = origin + e.t / 1e6;
      this.begin = Math.min(this.begin, t);
      this.end = Math.max(this.end, t);
      if (e.ev === 'submitted') names.set(e.job, e.name ?? String(e.job));
      const name = names.get(e.job);
      if (e.ev === 'started' || e.ev === 'found_running') {
        const before = this.carried && this.carried.get(name);
        if (before && before.slice === e.slice && before.gpu === e.gpu && e.ev === 'found_running') {
          open.set(name, before);
          this.carried.delete(name);
        } else {
          const stay = {job: name, gpu: e.gpu, slice: e.slice, begin: t, end: Infinity};
          this.stays.push(stay);
          open.set(name, stay);
        }
      } else if (['stopped', 'finished', 'withdrawn'].includes(e.ev)) {
        if (open.has(name)) open.get(name).end = t;
        open.delete(name);
      }
    }
    for (const stay of (this.carried || new Map()).values()) stay.end = Math.min(stay.end, this.restarted[this.restarted.length - 1]);
  }
  at(t) {
    return this.stays.filter(s => s.begin <= t && t < s.end).map(s => `${s.gpu} ${s.slice} ${s.job}`).sort();
  }
  // Clear of any event: the last microsecond belongs to nobody.
  instants(random, count) {
    const out = [];
    const edges = this.stays.flatMap(s => [s.begin, s.end]);
    while (out.length < count) {
      const t = this.begin + random() * (this.end - this.begin);
      if (!edges.some(e => Math.abs(e - t) < 2e-3)) out.push(t);
    }
    return out;
  }
}

function randomFrom(seed) {  // Mulberry32
  return () => {
    seed |= 0;
    seed = seed + 0x6D2B79F5 | 0;
    let t = Math.imul(seed ^ seed >>> 15, 1 | seed);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 4294967296;
  };
}

async function browser() {
  const found = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(f => fs.existsSync(f));
  if (!found) {
    console.log('no chromium on this machine: apt-get install chromium');
    process.exit(77);
  }
  return playwright.chromium.launch({executablePath: found, args: ['--no-sandbox', '--disable-dev-shm-usage']});
}

// A tab whose errors and foreign requests are failures.
async function tab(context, url, allowed = []) {
  const page = await context.newPage();
  page.problems = [];
  page.on('pageerror', error => page.problems.push('script error: ' + error.message));
  page.on('console', message => {
    if (message.type() === 'error' && !allowed.some(a => message.text().includes(a))) page.problems.push('console: ' + message.text());
  });
  page.on('request', request => {
    if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith('data:') && !request.url().startsWith('blob:')) page.problems.push('foreign request: ' + request.url());
  });
  await page.goto(url);
  await page.waitForSelector('body[data-ready]', {timeout: 30000});
  return page;
}
// What the layout panel shows: "GPU slice job", read from the document.
const drawn = page => page.$$eval('#layout .slice[data-job]', nodes => nodes.map(n => `${n.dataset.gpu} ${n.dataset.slice} ${n.dataset.job}`).sort());

async function main(tests) {
  let failed = 0;
  const began = Date.now(), opened = await browser();
  const only = process.argv[3];
  for (const [name, test] of Object.entries(tests)) {
    if (only && !name.includes(only)) continue;
    const from = Date.now();
    try {
      await test(opened);
      console.log(`ok ${name} (${((Date.now() - from) / 1000).toFixed(1)} s)`);
    } catch (error) {
      ++failed;
      console.log(`FAILED ${name}: ${error instanceof Failed ? error.message : error.stack}`);
    }
  }
  await opened.close();
  for (const child of children) child.kill('SIGTERM');
  await sleep(300);
  fs.rmSync(scratch, {recursive: true, force: true});
  console.log(`web: ${checks} checks, ${failed} tests failed, ${((Date.now() - began) / 1000).toFixed(1)} s`);
  process.exit(failed ? 1 : 0);
}

module.exports = {build, program, scratch, TOKEN, OTHER, check, equal, until, sleep, run, serve, daemon, Journal, randomFrom, tab, drawn, main};
