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

// Golden pictures: what a canvas or a page shows, 96 columns wide, against tests/web/golden/NAME.png. So few pixels that fonts
// hardly count, enough to see a band, a bar or a chart that is missing. UPDATE=1 writes the picture.
async function golden(page, name, target = page) {
  const file = path.join(__dirname, 'golden', name + '.png'), update = process.env.UPDATE === '1';
  const shot = (await target.screenshot()).toString('base64'), kept = !update && fs.existsSync(file) ? fs.readFileSync(file).toString('base64') : null;
  check(update || kept !== null, `tests/web/golden/${name}.png is missing: UPDATE=1 tests/web/run.sh build/release makes it`);
  const blank = await page.context().newPage();
  const found = await blank.evaluate(async ([shot, kept]) => {
    const load = async data => createImageBitmap(await (await fetch('data:image/png;base64,' + data)).blob());
    const small = async (data, width, height) => {
      const picture = await load(data), canvas = document.createElement('canvas');
      canvas.width = width ?? 96;
      canvas.height = height ?? Math.max(8, Math.round(96 * picture.height / picture.width));
      const g = canvas.getContext('2d');
      g.imageSmoothingQuality = 'high';
      g.drawImage(picture, 0, 0, canvas.width, canvas.height);
      return {canvas, pixels: g.getImageData(0, 0, canvas.width, canvas.height)};
    };
    const now = await small(shot), png = now.canvas.toDataURL('image/png').split(',')[1];
    if (kept === null) return {png, same: true};
    const then = await small(kept, (await load(kept)).width, (await load(kept)).height);
    if (then.pixels.width !== now.pixels.width || Math.abs(then.pixels.height - now.pixels.height) > 2)
      return {png, same: false, words: `${now.pixels.width} x ${now.pixels.height}, not ${then.pixels.width} x ${then.pixels.height}`};
    let sum = 0, far = 0, count = 0;
    for (let y = 0; y < Math.min(now.pixels.height, then.pixels.height); ++y)
      for (let x = 0; x < now.pixels.width; ++x, ++count) {
        const at = 4 * (y * now.pixels.width + x), apart = [0, 1, 2].map(k => Math.abs(now.pixels.data[at + k] - then.pixels.data[at + k]));
        sum += (apart[0] + apart[1] + apart[2]) / 3;
        if (Math.max(...apart) > 90) ++far;
      }
    return {png, same: sum / count < 5 && far / count < 0.02, words: `mean difference ${(sum / count).toFixed(2)} of 255, ${(100 * far / count).toFixed(2)} % of the pixels differ by more than 90`};
  }, [shot, kept]);
  await blank.close();
  if (update) {
    fs.mkdirSync(path.dirname(file), {recursive: true});
    fs.writeFileSync(file, Buffer.from(found.png, 'base64'));
  } else if (!found.same) {
    const seen = path.join(os.tmpdir(), `smartmig-golden-${name}.png`);
    fs.writeFileSync(seen, Buffer.from(shot, 'base64'));
    check(false, `the picture ${name} has changed (${found.words}); it is in ${seen}`);
  }
}

async function endAll() {
  const all = [...children];
  for (const child of all) child.kill('SIGTERM');
  for (const child of all) await until(() => child.exitCode !== null || child.signalCode !== null, 'a server ends');
}

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
      await endAll();  // what it left would fail the next
    }
  }
  await opened.close();
  await endAll();
  fs.rmSync(scratch, {recursive: true, force: true});
  console.log(`web: ${checks} checks, ${failed} tests failed, ${((Date.now() - began) / 1000).toFixed(1)} s`);
  process.exit(failed ? 1 : 0);
}

module.exports = {golden, build, program, scratch, TOKEN, OTHER, check, equal, until, sleep, run, serve, daemon, Journal, randomFrom, tab, drawn, main};
