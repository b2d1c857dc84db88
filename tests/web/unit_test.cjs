// The page's parts without a browser: unit_test.cjs FOLDER, with its sources as CommonJS (tests/web/run.sh).
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const folder = path.resolve(process.argv[2]);
const load = name => require(path.join(folder, name));

const listeners = [];
global.location = {hash: '', origin: 'http://x', pathname: '/'};
global.history = {replaceState: (_a, _b, hash) => { location.hash = hash; }};
global.window = global;
global.addEventListener = (name, act) => listeners.push([name, act]);
global.sessionStorage = {getItem: () => null, setItem() {}, removeItem() {}};

const {History} = load('src/history.js'), {View} = load('src/view.js'), {shellWords} = load('src/shell_words.js');
const {lastOfLines, pieces} = load('src/ansi.js'), {World} = load('src/world.js'), {coloursOf, hashOf} = load('plain/colours.js');
const {inkOn, KINDS} = load('plain/draw.js'), words = load('plain/words.js');

const MODEL = {compute_slices: 7, memory_slices: 8, memory_mib: 40960, profiles: {'1g.5gb': {memory_slices: 1}, '3g.20gb': {memory_slices: 4}, '7g.40gb': {memory_slices: 8}}};
function journal(...events) {
  const h = new History([MODEL, MODEL]);
  h.apply(JSON.stringify({smartmig_journal: 1, config: [['began_at', '1000']], initial: [[1, ['7g.40gb@0']], [1, ['3g.20gb@0', '3g.20gb@4']]]}));
  for (const e of events) h.apply(JSON.stringify(e.note ? e : {...e, t: Math.round(e.t * 1e6)}));
  return h;
}
const submitted = (t, job, name = String(job)) => ({t, ev: 'submitted', job, name, deadline: null, kind: null, mem: null});
const started = (t, job, gpu, slice) => ({t, ev: 'started', job, gpu, slice});
// A world of a journal, with the jobs that the daemon would have told of.
class TestWorld extends World {
  constructor(h, live, jobs = [], now = h.end) {
    super({gpus: ['a100-40gb', 'a100-40gb'], models: {'a100-40gb': MODEL}});
    Object.assign(this, {history: h, isLive: live, at: now});
    for (const job of jobs) { this.jobs.set(job.id, job); this.byLabel.set(job.label, job); }
  }
  get live() { return this.isLive; }
  now() { return this.at; }
  async start() {}
}
const job = (id, more = {}) => ({id, label: String(id), name: '', user: '', state: 'done', kind: '', submitted_at: 1000, started_at: 1000, ended_at: null, deadline_at: null, late_s: 0, gpu: null, slice: null, ...more});

const tests = {
  'numbers have units, and what is not known is n/a'() {
    assert.equal(words.num(1234567), '1\u202f234\u202f567');
    assert.equal(words.num(-0.25), '\u22120.25');
    assert.equal(words.energy(7.2e6), '2 kWh');
    assert.equal(words.energy(null), 'n/a');
    assert.equal(words.span(90), '90 s');
    assert.equal(words.span(300), '5.0 min');
    assert.equal(words.span(7200), '2.0 h');
    assert.equal(words.dayTime(86400 + 3661), 'day 2 01:01:01');
  },
  'a command is split as a shell would'() {
    for (const [line, wanted] of [
      ['python3 train.py --lr 0.1', ['python3', 'train.py', '--lr', '0.1']],
      ['a "b c" d', ['a', 'b c', 'd']], ["sh -c 'echo \"x y\"; sleep 2'", ['sh', '-c', 'echo "x y"; sleep 2']],
      ['--name="my run"', ['--name=my run']], ['"a"b\'c\'', ['abc']], ["''", ['']], ['a\\ b', ['a b']],
      ['"a\\"b" "c\\d"', ['a"b', 'c\\d']], ["it\\'s", ["it's"]], ['  a\tb  ', ['a', 'b']],
    ]) assert.deepEqual(shellWords(line), {words: wanted, error: ''}, line);
    for (const line of ['', '  ', "a 'b", 'a "b', 'a \\', 'a | b', 'a > b', 'a; b', 'echo $HOME', 'echo "$HOME"', 'echo `id`'])
      assert.notEqual(shellWords(line).error, '', line);
    assert.deepEqual(shellWords("'a | b' '$x'").words, ['a | b', '$x']);
  },
  'a log is read as a terminal would'() {
    assert.deepEqual(pieces('a \x1b[1;31mred\x1b[0m b'), [{text: 'a ', classes: ''}, {text: 'red', classes: 'bold ansi-red'}, {text: ' b', classes: ''}]);
    assert.deepEqual(pieces('\x1b[38;5;196mx\x1b[2Ky\x1b]0;title\x07z').map(p => p.text).join(''), 'xyz');
    assert.equal(lastOfLines('10 %\r50 %\r100 %\nnext\r\nlast\r'), '100 %\nnext\nlast');
    assert.deepEqual(pieces('<img src=x>'), [{text: '<img src=x>', classes: ''}]);
  },
  'history: who is where, when'() {
    const h = journal(submitted(1, 0, '7'), started(2, 0, 1, '3g.20gb@0'), {t: 5, ev: 'stopped', job: 0}, started(8, 0, 0, '7g.40gb@0'), {t: 12, ev: 'finished', job: 0});
    assert.equal(h.stayOf('7', 1001), null);
    assert.deepEqual([1003, 1006, 1009, 1100].map(t => [h.stayOf('7', t).gpu, h.stayOf('7', t).slice]), [[1, '3g.20gb@0'], [1, '3g.20gb@0'], [0, '7g.40gb@0'], [0, '7g.40gb@0']]);
    assert.equal(h.stayAt(1, 0, 1006), null);
    assert.equal(h.jobs.get('7').how, 'done');
    assert.equal(h.events, 5);
    assert.equal(h.busiest(), 1002);
  },
  'history: how a job ended, told before or after the event'() {
    const note = (at, id, state) => ({at, note: 'job_ended', job: id, state, exit_code: 1, joules: 1});
    const before = journal(submitted(1, 0, '7'), started(2, 0, 0, '7g.40gb@0'), note(1005, 7, 'failed'), {t: 5, ev: 'withdrawn', job: 0});
    const after = journal(submitted(1, 0, '7'), started(2, 0, 0, '7g.40gb@0'), {t: 5, ev: 'withdrawn', job: 0}, note(1005, 7, 'timed_out'));
    const waiting = journal(submitted(1, 0, '7'), {t: 5, ev: 'withdrawn', job: 0}, note(1005, 7, 'cancelled'));
    assert.equal(before.stayOf('7', 1010).how, 'failed');
    assert.equal(after.stayOf('7', 1010).how, 'timed_out');
    assert.deepEqual([waiting.jobs.get('7').how, waiting.jobs.get('7').finish], ['cancelled', 1005]);
    assert.equal(new TestWorld(before, false).outcome('7', 'failed', 1005), 'failed');
    assert.equal(new TestWorld(before, false).outcome('7', 'stopped', 1005), 'stopped');
    assert.equal(new TestWorld(before, false).outcome('7', 'finished', 1005), '');
  },
  'history: a page left open forgets, and stays right'() {
    const h = new History([MODEL, MODEL], 100);
    h.apply(JSON.stringify({smartmig_journal: 1, config: [['began_at', '0']], initial: [[2, ['7g.40gb@0']]]}));
    for (let i = 0; i < 1000; ++i)
      for (const e of [submitted(2 * i, i), started(2 * i, i, i % 2, '7g.40gb@0'), {t: 2 * i + 1, ev: 'finished', job: i}]) h.apply(JSON.stringify({...e, t: e.t * 1e6}));
    assert.ok(h.stays() <= 101 && h.jobs.size <= 102, `${h.stays()} stays, ${h.jobs.size} jobs`);
    assert.equal(h.stayOf('999', 1999).gpu, 1);
    assert.equal(h.stayOf('5', 1999), null);
  },
  'where: of the instant, not the highest GPU that was ever visited'() {
    const h = journal(submitted(1, 0, '7'), started(2, 0, 1, '3g.20gb@0'), {t: 5, ev: 'stopped', job: 0}, started(8, 0, 0, '7g.40gb@0'), submitted(9, 1, '8'));
    const world = new TestWorld(h, false, [job(7), job(8, {submitted_at: 1009})]);
    const seven = world.jobs.get(7);
    assert.equal(world.placeAt(seven, 1009, false).gpu, 0);
    assert.equal(world.placeAt(seven, 1003, false).gpu, 1);
    assert.deepEqual([1003, 1006, 1009].map(t => world.stateAt(seven, t, false)), ['running', 'queued', 'running']);
    assert.equal(world.stateAt(world.jobs.get(8), 1009, false), 'queued');
    assert.deepEqual(new TestWorld(h, true, [job(7, {gpu: 0, slice: '7g.40gb@0', state: 'running'})]).placeAt(job(7, {gpu: 1, slice: 'x@0'}), 1009, true), {gpu: 1, slice: 'x@0'});
  },
  'late is past the deadline, not expected to be'() {
    const world = new TestWorld(journal(), true);
    assert.equal(world.lateAt(job(1, {deadline_at: 1100, late_s: 500}), 1050), 0);
    assert.equal(world.lateAt(job(1, {deadline_at: 1100}), 1160), 60);
    assert.equal(world.lateAt(job(1, {deadline_at: 1100, ended_at: 1130}), 1160), 30);
  },
  'view: opens fitted, zooms at the pointer, reads sense only'() {
    const h = journal(submitted(1, 0, '7'), started(100, 0, 0, '7g.40gb@0'), {t: 400, ev: 'finished', job: 0});
    const open = (hash = '') => { location.hash = hash; return new View(new TestWorld(h, false)); };
    const view = open();
    assert.ok(view.t0 < 1000 && view.t0 > 990 && view.t1 > 1400 && view.t1 < 1410, `${view.t0} to ${view.t1}`);
    assert.equal(view.instant(), 1100);
    const at = 1300, before = (at - view.t0) / (view.t1 - view.t0);
    view.zoom(0.5, at);
    assert.ok(Math.abs((at - view.t0) / (view.t1 - view.t0) - before) < 1e-9);
    assert.equal(view.instant(), 1100);
    const edges = [view.t0, view.t1];
    view.point(1350);
    assert.deepEqual([view.t0, view.t1, view.instant()].map(Math.round), [...edges, 1350].map(Math.round));
    view.fit();
    assert.ok(view.t0 < 1000 && view.t1 > 1400);
    const good = open('#t=1200&past=50&future=60&gpu=1&job=7');
    assert.deepEqual([good.at, good.past, good.future, good.gpu, good.job], [1200, 50, 60, 1, '7']);
    const bad = open('#t=1e300&past=-5&future=nonsense&gpu=77&job=%3Cimg%3E');
    assert.deepEqual([bad.at, bad.gpu, bad.job], [1100, null, null]);
    assert.ok(bad.past + bad.future > 2 && Number.isFinite(bad.t0));
    location.hash = '#t=1250&past=10&future=10';
    listeners[listeners.length - 1][1]();
    assert.deepEqual([bad.at, bad.past], [1250, 10]);
  },
  'view: a living world is fitted to its future once'() {
    location.hash = '';
    const world = new TestWorld(journal(submitted(1, 0, '7')), true, [], 1060), view = new View(world);
    assert.ok(view.past >= 60 && view.past < 62);
    world.futures = {stays: [{end_at: 1360}], jobs: []};
    view.fitFuture();
    assert.ok(view.future > 300 && view.future < 320, String(view.future));
    world.futures = {stays: [{end_at: 1460}], jobs: []};
    view.fitFuture();
    assert.ok(view.future < 320);
  },
  // The same values as in src/report/html_report_test.cc.
  'a name has the same colour here and in reports, in any order'() {
    const of = list => { const map = coloursOf(list); return list.map(name => map.get(name)); }, eight = Array.from({length: 8}, (_, i) => 'kind ' + i);
    assert.deepEqual(of(['resnet50', 'bert-base', 'gpt2-small']), [1, 4, 6]);
    assert.deepEqual(of(['gpt2-small', 'resnet50', 'bert-base', 'resnet50']), [6, 1, 4, 1]);
    assert.deepEqual(of(eight), [3, 0, 1, 6, 7, 4, 5, 2]);
    assert.deepEqual(of([...eight, 'größer']), [3, 0, 1, 6, 7, 4, 5, 2, 0]);
    assert.equal(of(['größer'])[0], hashOf('größer') % KINDS);
  },
  'colours are apart for the colour-blind, and words on them can be read'() {
    const palette = JSON.parse(fs.readFileSync(path.join(__dirname, '../../data/palette.json'), 'utf8'));
    for (const scheme of ['light', 'dark']) {
      const of = palette[scheme], kinds = Array.from({length: KINDS}, (_, i) => of['k' + i]);
      for (const [i, fill] of kinds.entries()) {
        assert.ok(contrast(fill, of.surface) >= 2.8, `${scheme} ${fill} on the surface: ${contrast(fill, of.surface)}`);
        assert.ok(contrast(fill, inkOn(fill)) >= 4.5, `${scheme}: words on ${fill}`);
        for (const other of kinds.slice(0, i))
          for (const eyes of Object.keys(EYES)) {
            const apart = difference(seen(fill, EYES[eyes]), seen(other, EYES[eyes]));
            assert.ok(apart >= 14, `${scheme}, ${eyes}: ${fill} and ${other} differ by ${apart.toFixed(1)} (CIEDE2000)`);
          }
      }
    }
  },
};

// ---- colours: Machado 2009 for full dichromacy, CIEDE2000
const EYES = {
  all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
};
function linear(hex) {
  const full = hex.length === 4 ? hex.replace(/[^#]/g, '$&$&') : hex;
  return [1, 3, 5].map(i => parseInt(full.slice(i, i + 2), 16) / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
}
function contrast(a, b) {
  const [x, y] = [a, b].map(c => { const [r, g, l] = linear(c); return 0.2126 * r + 0.7152 * g + 0.0722 * l + 0.05; });
  return Math.max(x, y) / Math.min(x, y);
}
function seen(hex, eyes) {
  const rgb = linear(hex), [r, g, b] = eyes.map(row => Math.min(1, Math.max(0, row.reduce((sum, v, i) => sum + v * rgb[i], 0))));
  const f = t => t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116;
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047), y = f(0.2126 * r + 0.7152 * g + 0.0722 * b), z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
function difference([l1, a1, b1], [l2, a2, b2]) {
  const seven = 25 ** 7, mean7 = ((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2) ** 7, stretch = 1.5 - 0.5 * Math.sqrt(mean7 / (mean7 + seven));
  const c1 = Math.hypot(a1 * stretch, b1), c2 = Math.hypot(a2 * stretch, b2), turn = 2 * Math.PI;
  const h1 = (Math.atan2(b1, a1 * stretch) + turn) % turn, h2 = (Math.atan2(b2, a2 * stretch) + turn) % turn;
  let dh = h2 - h1;
  if (dh > Math.PI) dh -= turn;
  if (dh < -Math.PI) dh += turn;
  const l = (l1 + l2) / 2, c = (c1 + c2) / 2, h = Math.abs(h1 - h2) <= Math.PI ? (h1 + h2) / 2 : (h1 + h2) / 2 + Math.PI, dH = 2 * Math.sqrt(c1 * c2) * Math.sin(dh / 2);
  const t = 1 - 0.17 * Math.cos(h - Math.PI / 6) + 0.24 * Math.cos(2 * h) + 0.32 * Math.cos(3 * h + Math.PI / 30) - 0.2 * Math.cos(4 * h - 63 * Math.PI / 180);
  const sl = 1 + 0.015 * (l - 50) ** 2 / Math.sqrt(20 + (l - 50) ** 2), sc = 1 + 0.045 * c, sh = 1 + 0.015 * c * t;
  const bend = -Math.sin(Math.PI / 3 * Math.exp(-(((h * 180 / Math.PI - 275) / 25) ** 2))) * 2 * Math.sqrt(c ** 7 / (c ** 7 + seven));
  return Math.sqrt(((l2 - l1) / sl) ** 2 + ((c2 - c1) / sc) ** 2 + (dH / sh) ** 2 + bend * (c2 - c1) / sc * dH / sh);
}

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    test();
    console.log('ok ' + name);
  } catch (error) {
    ++failed;
    console.log(`FAILED ${name}: ${error.stack}`);
  }
}
console.log(`web units: ${Object.keys(tests).length} tests, ${failed} failed`);
process.exit(failed ? 1 : 0);
