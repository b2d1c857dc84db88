// The page against a real daemon with emulated GPUs, and against a recorded run: page_test.cjs BUILD [NAME].
// With SCREENSHOTS=DIR it leaves pictures there, light and dark.
const fs = require('fs');
const net = require('net');
const path = require('path');
const {spawnSync} = require('child_process');
const {TOKEN, OTHER, golden, check, equal, until, sleep, run, serve, daemon, Journal, randomFrom, tab, drawn, main, scratch} = require('./harness.cjs');

const seed = Number(process.env.SEED || Date.now() % 1e9);
console.log(`seed ${seed}`);
let shared = null;
// One daemon for the tests that do not kill it: two GPUs, three jobs of a whole GPU, so that one waits.
async function live(browser) {
  if (shared && shared.d.child.exitCode === null && shared.d.child.signalCode === null) return shared;
  const d = await daemon();
  const whole = {min_slices: 7, estimate_s: 600};
  const first = await d.submit({...whole, command: ['sh', '-c', 'echo hello from one; sleep 500'], name: 'train-one', deadline_s: 900});
  await d.submit({...whole, command: ['sh', '-c', 'sleep 500'], name: 'train-two'});
  const waits = await d.submit({...whole, command: ['sleep', '500'], name: 'third <img src=x onerror="window.pwned=1">', deadline_s: 100});
  await until(async () => (await d.ask('GET', '/v1/status')).json.queue.running === 2, 'two jobs run', 40);
  return shared = {d, first, waits, context: await browser.newContext({viewport: {width: 1440, height: 900}})};
}
async function signIn(page, token = TOKEN) {
  await page.click('#sign-in');
  await page.fill('#token', token);
  await page.click('#sign-in-dialog button.main');
}
const freePort = () => new Promise(done => {
  const server = net.createServer().listen(0, '127.0.0.1', () => {
    const {port} = server.address();
    server.close(() => done(port));
  });
});
const refusals = ['401', '403', '404', '409'];

async function axe(page, words) {
  await page.evaluate(fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const found = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
  const bad = found.violations.filter(v => v.impact === 'serious' || v.impact === 'critical');
  check(bad.length === 0, `${words}: ${JSON.stringify(bad.map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html)]))}`);
}

async function sameAsJournal(page, journal, count) {
  for (const t of journal.instants(randomFrom(seed), count)) {
    await page.evaluate(at => window.smartmig.view.goTo(at), t);
    const wanted = journal.at(t);
    let got = [];
    for (let tries = 0; tries < 40; ++tries) {
      got = await drawn(page);
      if (JSON.stringify(got) === JSON.stringify(wanted)) break;
      await sleep(50);
    }
    equal(got, wanted, `what is drawn at ${t} (seed ${seed})`);
  }
}

const tests = {
  'reads without a token, and nothing more': async browser => {
    const {d, first, context} = await live(browser);
    const page = await tab(context, d.url, refusals);
    equal(await page.textContent('#who'), 'read only', 'who');
    await until(async () => (await drawn(page)).length === 2, 'two jobs on slices');
    for (const [method, route, body] of [['POST', '/v1/jobs', {command: ['true']}], ['DELETE', `/v1/jobs/${first}`], ['POST', '/v1/gpus/0/drain'], ['POST', '/v1/queue/pause']])
      equal((await d.ask(method, route, body, '')).status, 401, `${method} ${route} of a stranger`);
    equal((await d.ask('GET', `/v1/jobs/${first}/log`, undefined, '')).status, 403, 'a log');
    const all = await d.ask('GET', '/v1/jobs/changes', undefined, '');
    check(!all.text.includes('hello from') && !all.text.includes('"command"'), 'a stranger sees no command');
    equal((await d.ask('GET', '/v1/status', undefined, 'wrong-token-0123456789')).status, 401, 'a wrong token is not a stranger');
    await page.click(`#queue .row[data-id="${first}"]`);
    await page.waitForSelector('#job:not([hidden])');
    check((await page.textContent('#job-actions')).startsWith('Read only'), 'no actions');
    await until(async () => (await page.textContent('#log-words')).includes('n/a'), 'the log is not shown');
    const front = await d.ask('GET', '/', undefined, '');
    const script = await d.ask('GET', '/page/app.js', undefined, '');
    equal([script.headers.get('content-encoding'), (await fetch(d.url + 'page/app.js', {headers: {'If-None-Match': script.headers.get('etag')}})).status], ['gzip', 304], 'packed, and not sent again');
    const policy = front.headers.get('content-security-policy');
    check(policy.includes("script-src 'self'") && !policy.includes('unsafe'), policy);
    equal(page.problems, [], 'no error, no foreign request');
    await page.close();
  },
  'a bad token is refused, a good one shows the log': async browser => {
    const {d, first, context} = await live(browser);
    const page = await tab(context, d.url, refusals);
    await signIn(page, 'not-a-token-of-this-one');
    await until(async () => (await page.textContent('#sign-in-words')).includes('does not know'), 'the refusal');
    await page.fill('#token', TOKEN);
    await page.click('#sign-in-dialog button.main');
    await until(async () => (await page.textContent('#who')).includes('operator'), 'signed in');
    await page.click(`#queue .row[data-id="${first}"]`);
    await until(async () => (await page.textContent('#log')).includes('hello from one'), 'the log');
    if (process.getuid() === 0) {  // another user sees the job, not its log
      const other = await browser.newContext(), theirs = await tab(other, d.url, refusals);
      await signIn(theirs, OTHER);
      await until(async () => (await theirs.textContent('#who')) === 'nobody', 'another user');
      await theirs.click(`#queue .row[data-id="${first}"]`);
      await until(async () => (await theirs.textContent('#log-words')).includes('owner'), 'their log is refused');
      equal((await d.ask('DELETE', `/v1/jobs/${first}`, undefined, OTHER)).status, 403, 'cancelling another’s job');
      await other.close();
    }
    equal(page.problems, [], 'no error');
    await page.close();
  },
  'names are text': async browser => {
    const {d, waits, context} = await live(browser);
    const page = await tab(context, d.url, refusals);
    await until(async () => (await page.textContent(`#queue .row[data-id="${waits}"] .c-name`)).includes('<img src=x'), 'the name as it is');
    await page.click(`#queue .row[data-id="${waits}"]`);
    await page.click('#tab-decisions');
    await sleep(300);
    equal(await page.evaluate(() => [typeof window.pwned, document.querySelectorAll('img').length]), ['undefined', 0], 'nothing was run');
    await page.close();
  },
  'why: the slices in the way light up': async browser => {
    const {d, waits, context} = await live(browser);
    const page = await tab(context, d.url, refusals);
    await page.click(`#queue .row[data-id="${waits}"]`);
    await until(async () => await page.$('#why-code'), 'why', 30);
    const why = (await d.ask('GET', `/v1/jobs/${waits}/why`)).json;
    equal(await page.textContent('#why-code'), why.code, 'the code');
    equal(await page.textContent(`#queue .row[data-id="${waits}"] .c-why`), why.code, 'the code in the table');
    await until(async () => (await page.$$('#layout .slice[data-blocks]')).length === why.blocked_by.length, 'slices in the way');
    check(why.blocked_by.length === 2, 'both GPUs are');
    check((await page.$$('#why tbody tr')).length === why.alternatives.length, 'the alternatives');
    await page.close();
  },
  'future lanes are those of eta': async browser => {
    const {d, waits, context} = await live(browser);
    const page = await tab(context, d.url, refusals);
    await until(async () => await page.$(`#future-list li[data-id="${waits}"]`), 'a future', 30);
    const eta = JSON.parse(run('eta', String(waits), '--json'));
    const one = await page.$eval(`#future-list li[data-id="${waits}"]`, n => ({...n.dataset}));
    check(Math.abs(Number(one.begin) - eta.expected_start_at) < 5, `start ${one.begin}, eta ${eta.expected_start_at}`);
    check(Math.abs(Number(one.end) - eta.expected_finish_at) < 5, `end ${one.end}, eta ${eta.expected_finish_at}`);
    check(Math.abs(Number(one.finishP90) - eta.finish_at.p90) < 60, `p90 ${one.finishP90}, eta ${eta.finish_at.p90}`);
    await page.close();
  },
  'what if: differences, and nothing is touched': async browser => {
    const {d, context} = await live(browser);
    const page = await tab(context, d.url, refusals);
    const before = (await d.ask('GET', '/v1/status')).json.queue;
    await page.click('#tab-whatif');
    await page.fill('#whatif [name=add_gpus]', '1xa100-40gb');
    await page.click('#whatif button.main');
    await until(async () => await page.$('#whatif-table'), 'an answer', 30);
    const rows = await page.$$eval('#whatif-table tbody tr', list => list.map(r => [...r.children].map(c => c.textContent)));
    const ends = rows.find(r => r[0] === 'last job ends in');
    check(ends[3].startsWith('−'), `another GPU ends it earlier: ${ends}`);
    check(await page.$('#axis[data-whatif]'), 'the axis shows it');
    await page.fill('#whatif [name=add_gpus]', '');
    await page.fill('#whatif [name=policy]', 'no-such-policy');
    await page.click('#whatif button.main');
    await until(async () => (await page.textContent('#whatif-out')).includes('no-such-policy'), 'a refusal in words');
    await page.click('text=Back to what is');
    check(!await page.$('#axis[data-whatif]'), 'back');
    equal((await d.ask('GET', '/v1/status')).json.queue, before, 'the queue');
    await page.close();
  },
  'what if: a policy and a cap are applied by the operator, and by nobody else': async browser => {
    const {d, context} = await live(browser);
    const page = await tab(context, d.url, refusals);
    const before = (await d.ask('GET', '/v1/status')).json;
    const ask = async () => {
      await page.click('#tab-whatif');
      await page.fill('#whatif [name=policy]', 'static+cedf');
      await page.fill('#whatif [name=power_cap_w]', '700');
      await page.click('#whatif button.main');
      await until(async () => (await page.textContent('#whatif-out')).includes('static+cedf'), 'an answer', 30);
    };
    await ask();
    check(!await page.$('#apply') && (await page.textContent('#whatif-notes')).includes('Sign in'), 'a stranger is told to sign in');
    equal((await d.ask('POST', '/v1/settings', {power_cap_w: 700}, '')).status, 401, 'a stranger');
    if (process.getuid() === 0) {
      equal((await d.ask('POST', '/v1/settings', {power_cap_w: 700}, OTHER)).status, 403, 'another user');
      await signIn(page, OTHER);
      await until(async () => (await page.textContent('#who')) === 'nobody', 'another user');
      await ask();
      check(!await page.$('#apply') && (await page.textContent('#whatif-notes')).includes('operator'), 'it is the operator’s');
      await page.click('#sign-in');
    }
    equal((await d.ask('GET', '/v1/status')).json.policy, before.policy, 'nothing was touched');
    await signIn(page);
    await until(async () => (await page.textContent('#who')).includes('operator'), 'signed in');
    await ask();
    await page.click('#apply');
    await until(async () => (await d.ask('GET', '/v1/status')).json.power_cap_w === 700, 'applied');
    check((await d.ask('GET', '/v1/status')).json.policy.includes('static+cedf'), 'and decides');
    await until(async () => (await page.textContent('#world')).includes('static+cedf'), 'the page shows it');
    await until(async () => (await page.textContent('#chips')).includes('of 700 W'), 'the cap, too');
    equal((await d.ask('POST', '/v1/settings', {policy: 'best', power_cap_w: 0})).status, 200, 'back');
    await until(async () => (await d.ask('GET', '/v1/status')).json.policy === before.policy, 'as it was');
    await page.fill('#whatif [name=policy]', '');
    await page.fill('#whatif [name=power_cap_w]', '');
    await page.fill('#whatif [name=energy_per_kwh]', '0.5');
    await page.click('#whatif button.main');
    await until(async () => (await page.textContent('#whatif-out')).includes('Prices cannot be applied'), 'what cannot be applied is said');
    equal(page.problems, [], 'no error');
    await page.close();
  },
  'the operator drains, another tab sees it': async browser => {
    const {d, context} = await live(browser);
    const page = await tab(context, d.url, refusals), second = await tab(context, d.url, refusals);
    await signIn(page);
    await page.waitForSelector('#operator:not([hidden])');
    await page.selectOption('#drain-gpu', '1');
    await page.click('#drain');
    await until(async () => (await second.textContent('#layout .gpu[data-gpu="1"] .gpu-model')).includes('drained'), 'drained in the other tab');
    check(await second.$('#operator[hidden]') !== null, 'which may not');
    await page.click('#drain');
    await until(async () => !(await second.textContent('#layout .gpu[data-gpu="1"] .gpu-model')).includes('drained'), 'resumed');
    equal([...page.problems, ...second.problems], [], 'no error');
    await page.close();
    await second.close();
  },
  'a command is submitted as a shell would split it': async browser => {
    const {d, context} = await live(browser), page = await tab(context, d.url, refusals);
    await signIn(page);
    await until(async () => (await page.textContent('#who')).includes('operator'), 'signed in');
    await page.click('#open-submit');
    await page.fill('#submit-form [name=command]', 'echo $HOME | wc');
    await page.click('#submit-form button.main');
    await until(async () => (await page.textContent('#submit-trouble')).includes('needs a shell'), 'what needs a shell is refused');
    await page.fill('#submit-form [name=command]', `sh -c 'echo "two words"; sleep 1' --name="my run"`);
    equal(await page.textContent('#submit-words'), '[sh] [-c] [echo "two words"; sleep 1] [--name=my run]', 'as it will be run');
    await page.fill('#submit-form [name=directory]', '/tmp');
    await page.fill('#submit-form [name=name]', 'quoted');
    await page.fill('#submit-form [name=estimate]', '1');
    await page.click('#submit-form button.main');
    const job = await until(async () => (await d.ask('GET', '/v1/jobs?state=active')).json.jobs.find(j => j.name === 'quoted'), 'it is in the queue');
    equal((await d.ask('GET', `/v1/jobs/${job.id}`)).json.command, ['sh', '-c', 'echo "two words"; sleep 1', '--name=my run'], 'the command');
    // Cancel asks; Escape closes the panel.
    await page.click(`#queue .row[data-id="${job.id}"]`);
    await page.click('#cancel');
    check((await d.ask('GET', `/v1/jobs/${job.id}`)).json.state === 'queued', 'not before yes');
    await page.click('#keep');
    await page.click('#cancel');
    await page.click('#cancel-yes');
    await until(async () => (await d.ask('GET', `/v1/jobs/${job.id}`)).json.state === 'cancelled', 'cancelled');
    await page.keyboard.press('Escape');
    await until(() => page.isHidden('#job'), 'Escape closes it');
    await page.close();
  },
  'the window: fitted, zoomed at the pointer, picked by keys, kept in the address': async browser => {
    const {d, context} = await live(browser), page = await tab(context, d.url, refusals);
    const look = () => page.evaluate(() => { const v = window.smartmig.view; return {t0: v.t0, t1: v.t1, at: v.instant(), job: v.job, begin: window.smartmig.world.history.begin, now: window.smartmig.world.now()}; });
    await until(async () => (await look()).t1 - (await look()).now > 100, 'its future is fitted', 30);
    const open = await look();
    check(Math.abs(open.begin - open.t0) < 0.1 * (open.t1 - open.t0) && open.t0 < open.begin + 2, `it opens fitted: ${JSON.stringify(open)}`);
    await page.click('#fit');
    await page.evaluate(() => window.smartmig.view.point(window.smartmig.world.now() - 2));
    const box = await page.locator('#axis canvas').boundingBox(), x = box.x + 0.7 * box.width;
    const painted = () => page.evaluate(() => { const {view, lanes} = window.smartmig; return Math.abs(lanes.paint.t0 - view.t0) + Math.abs(lanes.paint.t1 - view.t1) < 0.01 * (view.t1 - view.t0); });
    const under = async () => { await until(painted, 'the window is painted'); return page.evaluate(x => window.smartmig.lanes.paint.time(x), 0.7 * box.width); };
    const before = await under();
    await page.mouse.move(x, box.y + 20);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -300);
    await page.keyboard.up('Control');
    await sleep(400);
    check(Math.abs(await under() - before) < 0.03 * ((await look()).t1 - (await look()).t0), `the time under the pointer stays: ${before}, ${await under()}`);
    await page.mouse.down();
    await page.mouse.move(x + 60, box.y + 20, {steps: 5});
    await page.mouse.up();
    await sleep(500);
    check(Math.abs(Number(new URLSearchParams((await page.evaluate(() => location.hash)).slice(1)).get('t')) - (await look()).at) < 0.01, 'the address follows at the end of a drag');
    await page.evaluate(() => { location.hash = '#past=33&future=44&gpu=1'; });
    await until(async () => Math.abs((await look()).t1 - (await look()).t0 - 77) < 0.5, 'a pasted link is obeyed');
    await page.evaluate(() => { location.hash = '#past=oops&future=-1e99&t=abc&gpu=99&job=<b>'; });
    await sleep(300);
    const kept = await look();
    check(Math.abs(kept.t1 - kept.t0 - 77) < 0.5 && kept.job === null, `nonsense is ignored: ${JSON.stringify(kept)}`);
    await page.focus('#axis canvas');
    await page.keyboard.press('0');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await until(async () => (await look()).job !== null, 'a bar is picked by keys');
    await until(() => page.isVisible('#job'), 'its panel opens');
    const panel = await page.locator('#job').boundingBox();
    check(panel.y + 200 < 900, `beside the axis, not below the fold: ${JSON.stringify(panel)}`);
    equal(page.problems, [], 'no error');
    await page.close();
  },
  'one job on a page of its own': async browser => {
    const {d, first, waits, context} = await live(browser), page = await tab(context, `${d.url}job/${waits}`, refusals);
    await until(async () => (await page.textContent('#headline')).startsWith('starts '), 'when it starts', 30);
    check((await page.title()).startsWith(`${waits}: starts `), 'in the title');
    check((await page.textContent('#headline')).includes('before your deadline'), 'against its deadline');
    await until(async () => (await page.textContent('#chain')).includes('busy') || (await page.$$('#chain li')).length > 1, 'what it waits for', 30);
    check((await page.textContent('#steps')).includes('first seen'), 'the first estimate');
    await axe(page, 'a job');
    check((await page.textContent('#log-found')).includes('sign in'), 'no log for a stranger');
    await page.evaluate(token => sessionStorage.setItem('smartmig-token', token), TOKEN);
    await page.goto(`${d.url}job/${first}`);
    await until(async () => (await page.textContent('#log').catch(() => '')).includes('hello from one'), 'its log', 20);
    check((await page.textContent('#headline')).startsWith('running since'), 'it runs');
    await page.fill('#log-search', 'nothing like this');
    equal(await page.textContent('#log'), '', 'searched');
    await page.fill('#log-search', 'HELLO');
    equal([await page.textContent('#log'), await page.textContent('#log-found')], ['hello from one', '1 of 2 lines'], 'found');
    equal(page.problems, [], 'no error');
    await page.close();
  },
  'accessible, light and dark, wide and on a phone': async browser => {
    const {d, waits} = await live(browser);
    for (const colorScheme of ['light', 'dark']) {
      const context = await browser.newContext({viewport: {width: 1440, height: 900}, colorScheme}), page = await tab(context, d.url, refusals);
      await page.click(`#queue .row[data-id="${waits}"]`);
      await until(async () => await page.$('#why-code'), 'why', 30);
      for (const panel of ['queue', 'energy', 'decisions', 'whatif']) {
        await page.click('#tab-' + panel);
        if (colorScheme === 'light' || panel === 'queue') await axe(page, `${panel}, ${colorScheme}`);
      }
      await context.close();
    }
    const phone = await browser.newContext({viewport: {width: 390, height: 800}}), page = await tab(phone, d.url, refusals);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(wide <= 392, `on a phone the page is ${wide} px wide`);
    await phone.close();
  },
  'live within a second; instants equal the journal; restart without loss': async browser => {
    if (shared) await shared.d.stop();
    shared = null;
    const d = await daemon({gpus: '2xa100-40gb'}), context = await browser.newContext();
    const page = await tab(context, d.url, [...refusals, 'ERR_CONNECTION', 'ERR_EMPTY', 'Failed to load', 'ERR_INCOMPLETE']);
    let best = Infinity;
    for (let i = 0; i < 3 && best > 1000; ++i) {  // a busy machine may be late itself: the best of three
      const id = await d.submit({command: ['sleep', '600'], estimate_s: 600, deadline_s: 1});
      await page.waitForSelector(`#layout .slice[data-job="${id}"]`, {timeout: 20000});
      const seen = Date.now();
      const started = new Journal((await d.ask('GET', '/v1/journal')).text).stays.find(s => s.job === String(id)).begin;
      best = Math.min(best, seen - 1000 * started);
    }
    check(best < 1000, `the event was on the page after ${Math.round(best)} ms`);
    for (let i = 0; i < 12; ++i) await d.submit({command: ['sleep', String(0.2 + (i % 4) * 0.3)], estimate_s: 1, min_slices: 1 + i % 3, deadline_s: 1});
    await until(async () => (await d.ask('GET', '/v1/status')).json.queue.done === 12, 'all end', 60);
    await d.stop();
    await until(async () => (await page.textContent('#chips')).includes('not connected'), 'the page says so');
    const again = await daemon({gpus: '2xa100-40gb', port: d.port, state: d.state});
    await until(async () => (await page.textContent('#chips')).startsWith('live'), 'connected again', 30);
    const late = await again.submit({command: ['sleep', '600'], estimate_s: 600, deadline_s: 1});
    await page.waitForSelector(`#layout .slice[data-job="${late}"]`, {timeout: 20000});
    const journal = new Journal((await again.ask('GET', '/v1/journal')).text);
    await until(async () => await page.evaluate(() => window.smartmig.world.history.stays()) === journal.stays.length, 'every stay is there');
    journal.stays.forEach(s => { if (s.end === Infinity) s.end = 1e12; });
    await sleep(600);  // half a second before now counts as now
    await sameAsJournal(page, journal, 12);
    await page.click('#to-now');
    equal(page.problems, [], 'no error');
    // The same journal, with both runs of the daemon, as a recorded world.
    const file = path.join(scratch, 'day.jsonl');
    fs.writeFileSync(file, (await again.ask('GET', '/v1/journal')).text);
    const recorded = await serve(['view', file, '--port', '0']), past = await tab(context, recorded.url);
    await sameAsJournal(past, journal, 6);
    equal(past.problems, [], 'no error');
    recorded.child.kill('SIGTERM');
    // The slider, the filter, the sorting.
    await page.$eval('#slider', n => { n.value = '0'; n.dispatchEvent(new Event('input', {bubbles: true})); n.dispatchEvent(new Event('change', {bubbles: true})); });
    check(!await page.evaluate(() => window.smartmig.view.following), 'the past');
    await until(async () => (await drawn(page)).length === 0, 'nothing ran at the beginning');
    await page.click('#event-after');
    check(await page.evaluate(() => location.hash.includes('t=')), 'a link to the instant');
    await page.click('#to-now');
    await page.selectOption('#state-filter', 'ended');
    await until(async () => (await page.textContent('#row-count')) === '12 jobs', 'twelve ended');
    await page.fill('#filter', 'nothing-like-this');
    await until(async () => (await page.textContent('#row-count')) === '0 jobs', 'none');
    await page.fill('#filter', '');
    await page.click('#queue .head .c-joules button');
    await page.click('#queue .head .c-joules button');
    const joules = await page.evaluate(() => [...document.querySelectorAll('#queue .rows .row:not([hidden])')].map(r => window.smartmig.world.jobs.get(Number(r.dataset.id)).energy_j));
    check(joules.every((j, i) => i === 0 || j <= joules[i - 1]), `sorted: ${joules}`);
    await context.close();
    await again.stop();
  },
  'held, timed and dependent jobs stand where they are expected, or nowhere': async browser => {
    const d = await daemon({gpus: '1xa100-40gb'}), context = await browser.newContext({viewport: {width: 1440, height: 900}});
    const page = await tab(context, d.url, refusals), now = Date.now() / 1000;
    const held = await d.submit({command: ['sleep', '9'], estimate_s: 9, hold: true, name: 'held'});
    const timed = await d.submit({command: ['sleep', '9'], estimate_s: 9, begin_s: 300, name: 'timed'});
    const after = await d.submit({command: ['sleep', '9'], estimate_s: 9, dependencies: [`afterok:${timed}`], name: 'after'});
    const row = id => page.$eval(`#future-list li[data-id="${id}"]`, n => ({...n.dataset}));
    await until(async () => await page.$(`#future-list li[data-id="${timed}"]`) && await page.$(`#future-list li[data-id="${after}"]`), 'both have a future', 30);
    await until(async () => (await row(timed)).held === '1' && (await row(after)).held === '1', 'both are marked as held');
    const [first, second] = [await row(timed), await row(after)];
    check(Number(first.begin) >= now + 290, `timed: ${JSON.stringify(first)}`);
    check(Number(second.begin) >= Number(first.end) - 1, `after it: ${JSON.stringify(second)}`);
    check(!await page.$(`#future-list li[data-id="${held}"]`), 'a held one has no start');
    await until(async () => (await page.textContent(`#queue .row[data-id="${held}"] .c-start`)) === 'when released', 'and says so');
    await page.click('#fit');
    await until(() => page.evaluate(id => window.smartmig.lanes.hits.find(h => h.label === String(id))?.held, timed), 'its bar is marked');
    await context.close();
    await d.stop();
  },
  'late is one thing, a bad end is marked, a running job is one bar': async browser => {
    const d = await daemon({gpus: '1xa100-40gb'}), context = await browser.newContext({viewport: {width: 1440, height: 900}});
    const page = await tab(context, d.url, refusals), chips = () => page.textContent('#chips');
    const fails = await d.submit({command: ['sh', '-c', 'sleep 1; exit 3'], estimate_s: 2, name: 'fails'});
    const stopped = await d.submit({command: ['sleep', '300'], estimate_s: 300, time_limit_s: 2, name: 'too-long'});
    const done = await d.submit({command: ['sleep', '1'], estimate_s: 2, name: 'works'});
    await until(async () => { const q = (await d.ask('GET', '/v1/status')).json.queue; return q.failed === 1 && q.timed_out === 1 && q.done === 1; }, 'three have ended', 60);
    const how = id => page.$eval(`#past-list li[data-job="${id}"]`, n => n.dataset.how ?? '');
    await until(async () => await how(fails) === 'failed' && await how(stopped) === 'failed', 'bad ends are marked');
    equal(await how(done), '', 'a good end is not');
    check((await page.evaluate(id => window.smartmig.lanes.hits.find(h => h.label === String(id)), fails)).how === 'failed', 'on the axis, too');
    const coloured = await d.submit({command: ['printf', 'a \\033[31mred\\033[0m b\\n10 %%\\r100 %%\\n<b>x</b>\\n'], estimate_s: 1, name: 'coloured'});
    await until(async () => (await d.ask('GET', `/v1/jobs/${coloured}`)).json.state === 'done', 'a coloured log', 30);
    await signIn(page);
    await until(async () => (await page.textContent('#who')).includes('operator'), 'signed in');
    await page.evaluate(id => window.smartmig.view.choose(String(id)), coloured);
    await until(async () => (await page.textContent('#log')) === 'a red b\n100 %\n<b>x</b>\n', 'a log as a terminal shows it', 20);
    equal(await page.textContent('#log .ansi-red'), 'red', 'in red');
    await page.evaluate(() => window.smartmig.view.choose(null));
    const late = await d.submit({command: ['tail', '-f', '/dev/null'], estimate_s: 6000, min_slices: 7, deadline_s: 90, name: 'will-be-late'});
    await until(async () => (await chips()).includes('0 late') && (await chips()).includes('1 expected late'), 'expected late is not late', 30);
    check((await page.textContent(`#queue .row[data-id="${late}"] .c-late`)).startsWith('≈'), 'in the table, too');
    await page.selectOption('#state-filter', 'late');
    equal(await page.textContent('#row-count'), '0 jobs', 'none is past its deadline');
    await page.selectOption('#state-filter', 'will-be-late');
    await until(async () => (await page.textContent('#row-count')) === '1 jobs', 'one is expected to be');
    await until(() => page.evaluate(id => { const all = window.smartmig.lanes.hits.filter(h => h.label === String(id)); return all.length === 1 && all[0].until > all[0].end + 60; }, late), 'one bar from its past into its future');
    // At a past instant a second line says where now is, and the whole page is of that instant.
    await page.evaluate(() => { const p = window.smartmig.lanes.paint, text = p.text.bind(p); window.said = new Set(); p.text = (words, ...rest) => { window.said.add(words); text(words, ...rest); }; });
    await page.selectOption('#state-filter', 'active');
    await page.evaluate(() => window.smartmig.view.point(window.smartmig.world.now() - 0.9 * (window.smartmig.world.now() - window.smartmig.world.history.begin)));
    await until(() => page.evaluate(() => window.said.has('now')), 'a line for now');
    await until(async () => (await chips()).includes('not now'), 'the header says that it is not now');
    await until(async () => !await page.$(`#queue .row[data-id="${late}"]:not([hidden])`), 'what was submitted later is not in the queue');
    equal(page.problems, [], 'no error');
    await context.close();
    await d.stop();
  },
  'a what-if is about the state it was asked of': async browser => {
    const d = await daemon({gpus: '1xa100-40gb'}), context = await browser.newContext({viewport: {width: 1440, height: 900}});
    const page = await tab(context, d.url, refusals);
    await d.submit({command: ['sleep', '300'], estimate_s: 300, min_slices: 7});
    await until(async () => (await d.ask('GET', '/v1/status')).json.queue.running === 1, 'it runs', 30);
    await sleep(1500);
    await page.click('#tab-whatif');
    await page.fill('#whatif [name=add_gpus]', '1xa100-40gb');
    await page.click('#whatif button.main');
    await until(async () => await page.$('#whatif-table'), 'an answer', 30);
    check((await page.textContent('#whatif-age')).startsWith('Asked') && await page.isHidden('#whatif-again'), 'fresh');
    await d.submit({command: ['sleep', '300'], estimate_s: 300, min_slices: 7});
    await until(async () => (await page.textContent('#whatif-age')).includes('changed the queue') && await page.isVisible('#whatif-again'), 'it says that it is old', 20);
    check(await page.$('#axis[data-old]'), 'on the axis, too');
    await sleep(1000);
    await page.click('#whatif-again');
    await until(async () => await page.$('#whatif-table') && !(await page.textContent('#whatif-age')).includes('changed'), 'asked again', 20);
    await page.fill('#whatif [name=policy]', 'no-such-policy');
    await page.click('#whatif button.main');
    await until(async () => (await page.textContent('#whatif-out')).includes('no-such-policy'), 'refused');
    check(!await page.$('#axis[data-whatif]') && !await page.$('#whatif-table'), 'the answer before is gone');
    await context.close();
    await d.stop();
  },
  'without the daemon the clock stands': async browser => {
    const d = await daemon({gpus: '1xa100-40gb'}), context = await browser.newContext({viewport: {width: 1440, height: 900}});
    const page = await tab(context, d.url, [...refusals, 'ERR_CONNECTION', 'ERR_EMPTY', 'Failed to load', 'ERR_INCOMPLETE']);
    const id = await d.submit({command: ['sleep', '300'], estimate_s: 300});
    await page.waitForSelector(`#layout .slice[data-job="${id}"]`, {timeout: 20000});
    d.child.kill('SIGKILL');
    await until(async () => (await page.textContent('#chips')).includes('not connected since'), 'since when', 20);
    const look = () => page.evaluate(id => ({now: window.smartmig.world.now(), end: window.smartmig.lanes.hits.find(h => h.label === String(id))?.end, clock: document.getElementById('clock').textContent}), id);
    await sleep(500);
    const before = await look();
    await sleep(2500);
    equal(await look(), before, 'neither the clock nor the bar goes on');
    check(await page.$('body[data-lost]'), 'and it is dim');
    await context.close();
  },
  'a name has one colour, whatever was drawn first, in reports, too': async browser => {
    const names = ['resnet50', 'bert-base', 'gpt2-small', 'vit-16'], d = await daemon({gpus: '1xa100-40gb'});
    const ids = [];
    for (const name of names) ids.push(await d.submit({command: ['sleep', '300'], estimate_s: 300, max_slices: 1, mem_mib: 3000, name}));
    await until(async () => (await d.ask('GET', '/v1/status')).json.queue.running === 4, 'they run', 60);
    const colours = async hash => {
      const context = await browser.newContext({viewport: {width: 1440, height: 900}}), page = await tab(context, d.url + hash, refusals);
      await until(async () => (await drawn(page)).length === 4, 'four slices', 20);
      await sleep(1200);
      const found = await page.evaluate(list => list.map(id => document.querySelector(`#layout .slice[data-job="${id}"]`).dataset.colour), ids);
      await context.close();
      return found;
    };
    const first = await colours(''), second = await colours(`#job=${ids[3]}&past=5&future=5`);
    equal(second, first, 'two tabs');
    equal(new Set(first).size, 4, 'no two names share one');
    await d.stop();
    const out = path.join(scratch, 'coloured');
    run('sim', '-w', 'paper:10x,seed=5,hours=8-10', '--gpus', '2xa100-40gb', '--policy', 'static+cedf', '--report', '-o', out);
    const report = JSON.parse(fs.readFileSync(path.join(out, 'report.html'), 'utf8').match(/id="data">(.*?)<\/script>/s)[1]);
    const world = await serve(['view', out, '--port', '0']), context = await browser.newContext(), page = await tab(context, world.url);
    const legend = await page.evaluate(() => window.smartmig.colours.legend());
    equal(legend.map(l => [l.name, l.colour]).sort(), report.kinds.slice().sort(), 'the page and the report');
    await context.close();
    world.child.kill('SIGTERM');
  },
  'energy today against a price curve, watts from before, over TLS with a token': async browser => {
    const state = fs.mkdtempSync(path.join(scratch, 'tls-')), file = name => path.join(state, name), made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2',
      '-keyout', file('key.pem'), '-out', file('cert.pem'), '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'], {encoding: 'utf8'});
    check(made.status === 0, `openssl: ${made.stderr}`);
    const port = await freePort(), url = `https://127.0.0.1:${port}/`;
    fs.writeFileSync(file('token'), TOKEN + '\n', {mode: 0o600});
    // What an earlier daemon kept: ten minutes of 300 W until now.
    const last = Math.floor(Date.now() / 60000);
    fs.writeFileSync(file('serve.toml'), `[tcp]\nlisten = "127.0.0.1:${port}"\ntoken_file = "${file('token')}"\ncertificate = "${file('cert.pem')}"\nkey = "${file('key.pem')}"\n` +
      '[prices]\nenergy_by_hour = "0:0.2 12:0.2 18:0.4"\n');
    const first = await daemon({gpus: '1xa100-40gb', state});
    await first.submit({command: ['sleep', '1'], estimate_s: 1, deadline_s: 1});
    await until(async () => (await first.ask('GET', '/v1/status')).json.queue.done === 1, 'a job ends', 60);
    await first.stop();
    const stored = spawnSync('sqlite3', ['-version']).status === 0 && spawnSync('sqlite3', [file('queue.db'), `INSERT OR REPLACE INTO named VALUES('power','${Array.from({length: 10}, (_, i) => `${last - 10 + i}:18000:60.0`).join(' ')}')`]).status === 0;
    const d = await daemon({gpus: '1xa100-40gb', state, more: ['--config', file('serve.toml')]});
    const context = await browser.newContext({viewport: {width: 1280, height: 900}, ignoreHTTPSErrors: true}), page = await context.newPage(), problems = [];
    page.on('pageerror', error => problems.push(error.message));
    page.on('request', request => { if (!request.url().startsWith(url)) problems.push(request.url()); });
    await page.goto(url);
    await until(async () => await page.$('.gate #token'), 'reading needs a token here');
    check(!await page.$('body[data-ready]') && !(await page.textContent('body')).includes('a100'), 'nothing is shown before');
    await page.fill('#token', 'wrong-token-0123456789');
    await page.click('.gate button');
    await until(async () => (await page.textContent('#sign-in-words')).includes('does not know'), 'a wrong token');
    await page.fill('#token', TOKEN);
    await page.click('.gate button');
    await page.waitForSelector('body[data-ready]', {timeout: 30000});
    await until(async () => (await page.textContent('#chips')).startsWith('live'), 'live over TLS');
    let plain = 0;
    try { plain = (await fetch(`http://127.0.0.1:${port}/`)).status; } catch { /* as it should be */ }
    check(plain !== 200, 'no page without TLS');
    await page.click('#tab-energy');
    await until(async () => await page.$('#price-hours li'), 'the price curve');
    equal(await page.$$eval('#price-hours li', list => [list.length, list[0].title, list[20].title]), [24, 'from 0:00: 0.200 a kWh', 'from 20:00: 0.400 a kWh'], 'by the hour');
    const card = async title => page.$$eval('#energy-cards .card', (list, t) => { const c = list.find(x => x.children[0].textContent === t); return c ? [c.children[1].textContent, c.children[2].textContent] : null; }, title);
    if (stored) {
      await until(async () => (await page.evaluate(() => window.smartmig.world.power.filter(p => p.queued === null && Math.round(p.watts) === 300).length)) === 10, 'watts from before the page and the daemon');
      const kept = (await d.ask('GET', '/v1/power')).json.points, midnight = new Date().setHours(0, 0, 0, 0) / 1000;
      const joules = kept.filter(p => p.at >= midnight).reduce((sum, p) => sum + p.energy_j, 0);
      await until(async () => (await page.evaluate(() => window.smartmig.world.today?.joules ?? 0)) >= Math.min(180000, joules) * 0.99, 'energy of today');
      check(kept.filter(p => p.energy_j === 18000).every(p => p.energy_per_kwh === (new Date(p.at * 1000).getHours() >= 18 ? 0.4 : 0.2)), 'the price of its hour');
      check((await card('Energy cost today'))[0] !== 'n/a', 'in money');
    }
    equal((await card('ET'))[1], 'no job has ended yet', 'a daemon that has just started knows no ET');
    await d.submit({command: ['sleep', '1'], estimate_s: 1, deadline_s: 1});
    await until(async () => (await card('ET'))[1].includes('bound n/a'), 'ET of the job that ended, its bound not known', 60);
    check((await card('ET'))[0] !== 'n/a', 'a number');
    await axe(page, 'energy');
    if (process.env.SCREENSHOTS) await page.screenshot({path: path.join(process.env.SCREENSHOTS, 'energy.png'), fullPage: true});
    equal(problems, [], 'no error, nothing from elsewhere');
    await context.close();
    await d.stop();
  },
  'the power landscape: measured left of now, expected right of it, divided among what runs': async browser => {
    const state = fs.mkdtempSync(path.join(scratch, 'power-'));
    fs.writeFileSync(path.join(state, 'serve.toml'), '[prices]\nenergy_by_hour = "0:0.2 6:0.4 12:0.2 18:0.4"\n[power]\nfleet_cap_w = 500\n');
    const d = await daemon({gpus: '2xa100-40gb', state, more: ['--config', path.join(state, 'serve.toml')]});
    for (const [name, slices] of [['wide', 4], ['narrow', 1], ['wide', 4], ['narrow', 2], ['wide', 7], ['narrow', 1]])
      await d.submit({command: ['sleep', '600'], estimate_s: 600, min_slices: slices, max_slices: slices, name, deadline_s: 60});
    const context = await browser.newContext({viewport: {width: 1440, height: 900}}), page = await tab(context, d.url, refusals);
    await until(() => page.evaluate(() => window.smartmig.world.power.length > 3 && window.smartmig.world.futures?.stays.some(s => s.begin_at > window.smartmig.world.now() + 60)), 'watts and a future', 40);
    await until(() => page.evaluate(() => window.smartmig.world.pricesAhead.length > 3), 'prices to come', 40);
    const at = t => page.evaluate(t => window.smartmig.landscape.at(t), t), now = await page.evaluate(() => window.smartmig.world.now());
    const sum = draw => draw.idle + draw.parts.reduce((all, p) => all + p.watts, 0);
    const past = await at(now - 1), soon = await at(now + 120), later = await at(now + 1e6);
    check(past && !past.expected && Math.abs(sum(past) - past.watts) < 1e-6 && past.parts.length === 2, `measured: ${JSON.stringify(past)}`);
    check(soon && soon.expected && Math.abs(sum(soon) - soon.watts) < 1e-6 && soon.parts.some(p => p.name === 'wide'), `expected: ${JSON.stringify(soon)}`);
    check(later && later.parts.length === 0 && later.watts === later.idle, `at the end nothing but idle boards: ${JSON.stringify(later)}`);
    const futures = (await d.ask('GET', '/v1/futures?count=20')).json, expected = futures.power.filter(p => p.at <= now + 120).pop().watts_w;
    check(Math.abs(soon.watts - expected) < 1, `as the daemon expects: ${soon.watts}, ${expected}`);
    const wide = soon.parts.find(p => p.name === 'wide'), slices = name => futures.stays.filter(s => s.begin_at <= now + 120 && s.end_at > now + 120 && (s.id % 2 === 1) === (name === 'wide')).reduce((n, s) => n + Number(s.slice[0]), 0);
    check(Math.abs(wide.watts / (soon.watts - soon.idle) - slices('wide') / (slices('wide') + slices('narrow'))) < 1e-6, 'by slices');
    const hour = new Date((now + 3600 * 9) * 1000).getHours();
    equal((await at(now + 3600 * 9))?.price ?? await page.evaluate(t => window.smartmig.landscape.price(t), now + 3600 * 9), hour >= 6 && hour < 12 || hour >= 18 ? 0.4 : 0.2, 'the price of an hour to come');
    const seen = await page.evaluate(() => {
      const canvas = document.querySelector('#landscape canvas'), {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height), colours = new Set();
      for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) colours.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
      return colours.size;
    });
    check(seen > 6, `it is drawn: ${seen} colours`);
    await page.selectOption('#landscape-by', 'user');
    await until(async () => (await page.$$('#landscape-key li')).length >= 1, 'the users');
    equal((await at(now - 1)).parts.length, 1, 'of one user');
    const box = await page.locator('#landscape canvas').boundingBox();
    await page.mouse.move(box.x + 0.8 * box.width, box.y + 60);
    await until(async () => (await page.textContent('#landscape .tip')).includes('expected'), 'what the pointer shows');
    await axe(page, 'the power landscape');
    if (process.env.SCREENSHOTS) await page.screenshot({path: path.join(process.env.SCREENSHOTS, 'landscape.png')});
    equal(page.problems, [], 'no error');
    await context.close();
    await d.stop();
  },
  'a recorded run': async browser => {
    const out = path.join(scratch, 'run');
    run('sim', '-w', 'paper:10x,seed=5', '--gpus', '4xa100-40gb', '--policy', 'best', '-o', out);
    const world = await serve(['view', out, '--port', '0']);
    const context = await browser.newContext({viewport: {width: 1440, height: 900}}), page = await tab(context, world.url);
    check(await page.isHidden('#sign-in'), 'nothing to sign in to');
    const journal = new Journal(fs.readFileSync(path.join(out, 'journal.jsonl'), 'utf8'));
    await sameAsJournal(page, journal, 25);
    await page.selectOption('#state-filter', 'running');
    for (const t of journal.instants(randomFrom(seed + 1), 6)) {
      await page.evaluate(at => window.smartmig.view.goTo(at), t);
      const wanted = journal.stays.filter(s => s.begin <= t && t < s.end).map(s => `${s.job}: GPU ${s.gpu} ${s.slice}`).sort();
      const where = () => page.$$eval('#queue .rows .row:not([hidden])', rows => rows.map(r => `${r.dataset.job}: ${r.querySelector('.c-where').textContent}`).sort());
      await until(async () => (await page.textContent('#row-count')) === `${wanted.length} jobs` && JSON.stringify(await where()) === JSON.stringify(wanted), `where each runs at ${t}: ${JSON.stringify(wanted)}`);
    }
    await page.selectOption('#state-filter', 'active');
    check((await page.textContent('#panel-energy')).includes('bound n/a'), 'no bound was proved');
    await page.evaluate(() => window.smartmig.view.goTo(window.smartmig.world.history.begin + 60));  // at the end it would begin anew
    await page.click('#play');
    const from = await page.evaluate(() => window.smartmig.view.instant());
    await sleep(600);
    check(await page.evaluate(() => window.smartmig.view.instant()) > from, 'it plays');
    await page.click('#play');
    await page.click('#tab-energy');
    await axe(page, 'a recorded run');
    const link = await page.evaluate(() => window.smartmig.view.link());
    const linked = await tab(context, link);
    check(Math.abs(await linked.evaluate(() => window.smartmig.view.instant()) - await page.evaluate(() => window.smartmig.view.instant())) < 0.01, 'a link leads to the instant');
    equal([...page.problems, ...linked.problems], [], 'no error, no foreign request');
    await context.close();
    world.child.kill('SIGTERM');
  },
  'golden pictures of a recorded run': async browser => {
    const out = path.join(scratch, 'pictured');
    run('sim', '-w', 'paper:10x,seed=5', '--gpus', '4xa100-40gb', '--policy', 'best', '-o', out);
    const world = await serve(['view', out, '--port', '0']);
    for (const [name, options] of [['light', {colorScheme: 'light'}], ['dark', {colorScheme: 'dark'}], ['phone', {viewport: {width: 390, height: 800}}]]) {
      const context = await browser.newContext({viewport: {width: 1440, height: 900}, ...options});
      const page = await tab(context, world.url + '#t=36000&past=3600&future=1800');
      await page.waitForSelector('#queue .rows .row');
      await sleep(1200);
      if (process.env.SCREENSHOTS) await page.screenshot({path: path.join(process.env.SCREENSHOTS, `recorded-${name}.png`)});
      await golden(page, `page-${name}`);
      equal(page.problems, [], 'no error');
      await context.close();
    }
    world.child.kill('SIGTERM');
  },
  'a day that plays': async browser => {
    const out = path.join(scratch, 'played'), file = path.join(scratch, 'day.html');
    run('sim', '-w', 'paper:10x,seed=5,hours=8-12', '--gpus', '2xa100-40gb', '--policy', 'best', '-o', out);
    run('export', '--html', file, out, '--policy', 'static+cedf');
    const journal = new Journal(fs.readFileSync(path.join(out, 'journal.jsonl'), 'utf8'));
    for (const [colorScheme, width] of [['light', 1440], ['dark', 390]]) {
      const context = await browser.newContext({viewport: {width, height: 900}, colorScheme}), page = await context.newPage(), problems = [];
      page.on('pageerror', error => problems.push(error.message));
      page.on('request', request => { if (!request.url().startsWith('file:')) problems.push(request.url()); });
      await page.goto(`file://${file}#t=9000`);
      const at = () => page.evaluate(() => window.replay.at()), clock = () => page.textContent('#clock');
      equal([await at(), await clock(), await page.getAttribute('#play', 'aria-pressed')], [9000, '02:30', 'false'], 'the address leads to an instant, at rest');
      for (const t of journal.instants(randomFrom(seed), 8)) {
        await page.evaluate(t => window.replay.seek(t), t);
        equal((await page.evaluate(() => window.replay.counts()))[0].running, journal.at(t).length, `jobs that run at ${t}`);
      }
      const still = async () => page.evaluate(() => [...document.querySelectorAll('canvas')].map(c => c.toDataURL()).join());
      await page.evaluate(() => window.replay.seek(6000));
      const first = await still();
      await page.evaluate(() => { window.replay.seek(9000); window.replay.seek(6000); });
      equal(await still() === first, true, 'a picture is a function of the instant');
      await page.click('#part');
      check(Math.abs(await at() - await page.evaluate(() => window.replay.part)) < 1e-6, 'where the two part');
      await page.keyboard.press('End');
      const ends = await page.evaluate(() => [window.replay.counts(), window.replay.days.map(d => d.jobs.length)]);
      check(ends[0].every((c, i) => c.done === ends[1][i] && c.waiting === 0 && c.running === 0), `all are done at the end: ${JSON.stringify(ends)}`);
      await page.keyboard.press('Home');
      await page.keyboard.press('PageDown');
      check(await at() > 0, 'to the next reshape');
      await page.focus('#score');
      await page.keyboard.press(' ');
      const from = await at();
      await sleep(500);
      check(await at() > from, 'it plays');
      await page.keyboard.press(' ');
      await axe(page, `a day, ${colorScheme}`);
      check(await page.evaluate(() => document.documentElement.scrollWidth) <= width + 2, 'it fits');
      equal(problems, [], 'no error, nothing from elsewhere');
      await page.evaluate(() => window.replay.seek(34000));
      await page.mouse.move(2, 2);
      if (process.env.SCREENSHOTS) await page.screenshot({path: path.join(process.env.SCREENSHOTS, `day-${colorScheme}.png`), fullPage: true});
      await golden(page, `day-${colorScheme}`);
      await context.close();
    }
  },
  'reports draw as the page does, without it': async browser => {
    const out = path.join(scratch, 'reported');
    run('sim', '-w', 'paper:10x,seed=5,hours=8-10', '--gpus', '2xa100-40gb', '--policy', 'static+cedf', '--report', '-o', out);
    run('demo', '--out', path.join(scratch, 'demo'));
    for (const colorScheme of ['light', 'dark'])
      for (const file of [path.join(out, 'report.html'), path.join(scratch, 'demo/compare.html')]) {
        const context = await browser.newContext({viewport: {width: 1280, height: 900}, colorScheme}), page = await context.newPage(), problems = [];
        page.on('pageerror', error => problems.push(error.message));
        page.on('request', request => { if (!request.url().startsWith('file:')) problems.push(request.url()); });
        await page.goto('file://' + file);
        await until(() => page.evaluate(() => [...document.querySelectorAll('canvas')].every(c => c.clientHeight > 90)), 'it is drawn');
        const seen = await page.evaluate(() => {
          const style = getComputedStyle(document.documentElement), names = ['late', 'slot', 'accent', ...Array.from({length: 8}, (_, i) => `k${i}`)];
          const rgb = names.map(n => { const c = document.createElement('canvas').getContext('2d'); c.fillStyle = style.getPropertyValue('--' + n).trim(); c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data].join(); });
          const counts = rgb.map(() => 0);
          for (const canvas of document.querySelectorAll('canvas')) {
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            for (let i = 0; i < data.length; i += 4) { const at = rgb.indexOf(`${data[i]},${data[i + 1]},${data[i + 2]},${data[i + 3]}`); if (at >= 0) ++counts[at]; }
          }
          return Object.fromEntries(names.map((n, i) => [n, counts[i]]));
        });
        const kinds = Array.from({length: 8}, (_, i) => seen[`k${i}`]).filter(pixels => pixels > 50).length;
        if (file.endsWith('report.html')) check(seen.late > 20 && kinds >= 2 && seen.slot > 200 && seen.accent > 50, `colours of ${file}, ${colorScheme}: ${JSON.stringify(seen)}`);
        else check(kinds === 8, `curves of eight policies in ${file}, ${colorScheme}: ${JSON.stringify(seen)}`);
        if (file.endsWith('report.html')) {
          await page.hover('#chart canvas', {position: {x: 600, y: 20}});
          await until(async () => (await page.textContent('#tip')).includes('waiting'), 'what the pointer shows');
        }
        await axe(page, `${file}, ${colorScheme}`);
        const [saved] = await Promise.all([page.waitForEvent('download'), page.click('button.save:has-text("SVG")')]);
        const svg = fs.readFileSync(await saved.path(), 'utf8');
        check(svg.startsWith('<svg') && svg.includes('--late:') && svg.includes('</svg>'), `a chart as a file: ${svg.slice(0, 200)}`);
        equal(problems, [], 'no error, nothing from elsewhere');
        await page.mouse.move(2, 2);
        if (process.env.SCREENSHOTS) await page.screenshot({path: path.join(process.env.SCREENSHOTS, `${path.basename(file, '.html')}-${colorScheme}.png`), fullPage: true});
        await golden(page, `${path.basename(file, '.html')}-${colorScheme}`);
        await context.close();
      }
  },
};
// The pictures of README.md and docs/dashboard.md: 8 GPUs, a hundred short jobs, a minute and a half.
async function pictures(browser) {
  const out = process.env.SCREENSHOTS, random = randomFrom(7), pick = list => list[Math.floor(random() * list.length)];
  const d = await daemon({gpus: '8xa100-40gb', more: ['--shadow', 'static+cedf']});
  const some = async (count, least, more) => {
    for (let i = 0; i < count; ++i) {
      const length = least + Math.floor(random() * more);
      await d.submit({command: ['sleep', String(length)], estimate_s: length, name: pick(['bert-base', 'resnet50', 'gpt2-small', 'vit-16', 'llama-tune', 'evaluate', 'preprocess']),
                      min_slices: pick([1, 1, 1, 2, 2, 3, 4, 7]), mem_mib: pick([3000, 4000, 8000, 15000]), deadline_s: 60 + Math.floor(random() * 300)});
    }
  };
  await some(70, 8, 60);
  await sleep(50000);
  await some(30, 20, 80);
  await sleep(12000);
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({viewport: {width: 1280, height: 930}, colorScheme}), page = await tab(context, d.url + '#past=70&future=80', refusals);
    await until(async () => (await page.$$('#future-list li')).length > 10, 'a future');
    await sleep(2500);
    await page.screenshot({path: path.join(out, `page-${colorScheme}.png`)});
    await context.close();
  }
  await d.stop();
}
if (process.env.SCREENSHOTS) tests.pictures = pictures;
main(tests);
