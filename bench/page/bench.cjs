// Measures the page in Debian's Chromium: bench.cjs DIST [frames|sixtyFour|slowLine|firstPaint|memory]. Frames with a long
// queue and many events, following and dragged; a slow line; the first paint of a large fleet; memory over an hour of
// events in a minute. Times are of a machine that others may use: the load stands beside them, and counts (elements,
// shapes drawn, long tasks, processor time) that the load does not change.
const os = require('os');
const playwright = require('playwright-core');
const {fakeDaemon} = require('./fake_daemon.cjs');

const dist = process.argv[2];
const sleep = ms => new Promise(done => setTimeout(done, ms));
const rank = (list, share) => list.length ? [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(share * list.length))] : NaN;
const load = () => `load ${os.loadavg()[0].toFixed(1)} on ${os.cpus().length} cores`;

async function open(browser, url) {
  const page = await browser.newPage({viewport: {width: 1440, height: 900}});
  page.on('pageerror', error => { throw error; });
  await page.addInitScript(() => {
    window.smartmigFrames = [];
    window.longTasks = [];
    new PerformanceObserver(list => { for (const task of list.getEntries()) window.longTasks.push(task.duration); }).observe({type: 'longtask', buffered: true});
  });
  page.client = await page.context().newCDPSession(page);
  await page.client.send('Performance.enable');
  await page.goto(url);
  await page.waitForSelector('body[data-ready]', {timeout: 120000});
  return page;
}
const elements = page => page.evaluate(() => document.querySelectorAll('*').length);
// Seconds of the page's main thread since it was opened: of scripts, of layout and style, of all.
async function spent(client) {
  const {metrics} = await client.send('Performance.getMetrics'), of = name => metrics.find(m => m.name === name).value;
  return {script: of('ScriptDuration'), layout: of('LayoutDuration') + of('RecalcStyleDuration'), all: of('TaskDuration')};
}
async function frames(browser) {
  const daemon = await fakeDaemon({dist, gpus: 8, queued: 10000, rate: 100});
  const page = await open(browser, daemon.url), {client} = page;
  await sleep(4000);
  const from = daemon.events(), before = await spent(client);
  await page.evaluate(() => {
    window.smartmigFrames.length = window.longTasks.length = 0;
    window.gaps = [];
    window.shapes = [];
    let last = performance.now();
    const tick = t => { window.gaps.push(t - last); window.shapes.push(window.smartmig.lanes.paint.calls); last = t; requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
  });
  const seconds = 20, began = Date.now();
  for (let i = 0; i < seconds * 4; ++i) {  // a reader who scrolls the queue meanwhile
    await page.$eval('.table-scroll', (n, top) => { n.scrollTop = top; }, (i % 40) * 4000);
    await sleep(250);
  }
  const took = (Date.now() - began) / 1000, after = await spent(client);
  const {work, gaps, tasks, shapes} = await page.evaluate(() => ({work: window.smartmigFrames, gaps: window.gaps, tasks: window.longTasks, shapes: window.shapes}));
  const rows = await page.textContent('#row-count'), part = name => (100 * (after[name] - before[name]) / took).toFixed(0) + ' %';
  console.log(`frames: 8 GPUs, ${rows}, ${((daemon.events() - from) / took).toFixed(0)} events/s, ${took.toFixed(0)} s while the queue is scrolled (${load()})`);
  console.log(`  script of a frame   p50 ${rank(work, 0.5).toFixed(1)} ms, p95 ${rank(work, 0.95).toFixed(1)} ms, most ${Math.max(...work).toFixed(1)} ms, ${work.length} frames`);
  console.log(`  frame to frame      p50 ${rank(gaps, 0.5).toFixed(1)} ms, p95 ${rank(gaps, 0.95).toFixed(1)} ms, p99 ${rank(gaps, 0.99).toFixed(1)} ms`);
  console.log(`  main thread         ${part('all')} busy: scripts ${part('script')}, style and layout ${part('layout')}; ${tasks.length} tasks above 50 ms, longest ${tasks.length ? Math.max(...tasks).toFixed(0) : 0} ms`);
  console.log(`  counts              ${await elements(page)} elements, ${rank(shapes, 0.5)} shapes a drawing (most ${Math.max(...shapes)})`);
  await page.close();
  daemon.close();
}

// 64 GPUs and 10,000 jobs: frames a second while the page follows the present, and while the axis is dragged to and fro.
async function sixtyFour(browser) {
  const daemon = await fakeDaemon({dist, gpus: 64, queued: 10000, rate: 30}), page = await open(browser, daemon.url);
  await sleep(4000);
  const box = await page.locator('#axis canvas').boundingBox();
  for (const [name, act] of [['following', () => sleep(50)], ['dragging', i => page.mouse.move(box.x + box.width * (0.5 + 0.2 * Math.sin(i / 12)), box.y + 100)]]) {
    await page.evaluate(() => {
      window.gaps = [];
      let last = performance.now();
      const mine = window.ticking = {}, tick = t => { window.gaps.push(t - last); last = t; if (window.ticking === mine) requestAnimationFrame(tick); };
      requestAnimationFrame(tick);
    });
    if (name === 'dragging') { await page.mouse.move(box.x + box.width / 2, box.y + 100); await page.mouse.down(); }
    const end = Date.now() + 10000, before = await spent(page.client);
    for (let i = 0; Date.now() < end; ++i) await act(i);
    const gaps = await page.evaluate(() => window.gaps), took = gaps.reduce((a, b) => a + b, 0) / 1000, after = await spent(page.client);
    console.log(`sixtyFour: 64 GPUs, 10,000 jobs, ${name.padEnd(9)} ${(gaps.length / took).toFixed(1)} frames/s, gaps p95 ${rank(gaps, 0.95).toFixed(0)} ms, p99 ${rank(gaps, 0.99).toFixed(0)} ms, main thread ${(100 * (after.all - before.all) / took).toFixed(0)} % busy (${load()})`);
    if (name === 'dragging') await page.mouse.up();
  }
  await page.close();
  daemon.close();
}

// From navigation until the page is ready, over a line of 1.6 Mbit/s with 150 ms; 32 GPUs and 5,000 jobs.
async function slowLine(browser) {
  for (const gzip of [false, true]) {
    const daemon = await fakeDaemon({dist, gpus: 32, queued: 5000, rate: 10, gzip}), page = await browser.newPage({viewport: {width: 1440, height: 900}});
    const client = await page.context().newCDPSession(page);
    await client.send('Network.enable');
    await client.send('Network.emulateNetworkConditions', {offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8});
    let bytes = 0;
    client.on('Network.dataReceived', e => { bytes += e.encodedDataLength; });
    const began = Date.now();
    await page.goto(daemon.url);
    await page.waitForSelector('body[data-ready]', {timeout: 120000});
    console.log(`slowLine: 32 GPUs, 5,000 jobs, 1.6 Mbit/s, ${gzip ? 'gzip' : 'plain'}: ready after ${((Date.now() - began) / 1000).toFixed(1)} s, ${(bytes / 1e3).toFixed(0)} kB (${load()})`);
    await page.close();
    daemon.close();
  }
}

async function firstPaint(browser) {
  const daemon = await fakeDaemon({dist, gpus: 1000, queued: 4000, rate: 20});
  const times = [];
  let last = {};
  for (let i = 0; i < 3; ++i) {
    const began = Date.now(), page = await open(browser, daemon.url);
    await page.waitForSelector('.grid .cell[data-busy="7"]');
    await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
    times.push(Date.now() - began);
    last = {...await spent(page.client), elements: await elements(page), shapes: await page.evaluate(() => window.smartmig.lanes.paint.calls), tasks: await page.evaluate(() => window.longTasks.length)};
    await page.close();
  }
  console.log(`first paint: 1,000 GPUs, 4,000 jobs, from navigation to the drawn grid and lanes: ${times.map(t => (t / 1000).toFixed(2) + ' s').join(', ')} (${load()})`);
  console.log(`  main thread         ${last.all.toFixed(2)} s until then: scripts ${last.script.toFixed(2)} s, style and layout ${last.layout.toFixed(2)} s; ${last.tasks} tasks above 50 ms`);
  console.log(`  counts              ${last.elements} elements, ${last.shapes} shapes a drawing`);
  daemon.close();
}

// An hour of 100 events/s in a minute, and half as much again: what a page keeps is full well before the end, and from then on
// the heap after collection may go up and down, but not on.
async function memory(browser) {
  const wanted = 360000 * 1.5, daemon = await fakeDaemon({dist, gpus: 8, queued: 500, rate: 6000, factor: 60});
  const page = await open(browser, daemon.url), {client} = page;
  const heap = async () => {
    for (let i = 0; i < 2; ++i) await client.send('HeapProfiler.collectGarbage');
    return (await client.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  const marks = [], end = Date.now() + 240000;
  while (daemon.events() < wanted && Date.now() < end) {
    await sleep(8000);
    const kept = await page.evaluate(() => { const w = window.smartmig.world; return [w.history.position, w.history.stays(), w.history.marks.length, w.history.jobs.size, w.jobs.size]; });
    marks.push([kept[0], await heap(), await elements(page), ...kept.slice(1)]);
  }
  console.log(`memory: 8 GPUs, 100 events/s sixty times as fast, JavaScript heap after forced collection (${load()})`);
  for (const [events, mb, count, stays, instants, jobs, rows] of marks)
    console.log(`  ${String(events).padStart(8)} events  ${mb.toFixed(1).padStart(5)} MB  ${String(count).padStart(5)} elements  ${stays} stays, ${instants} instants, ${jobs} jobs of the journal, ${rows} rows`);
  const late = marks.slice(Math.floor(marks.length / 3)), first = late.slice(0, Math.ceil(late.length / 2)), second = late.slice(Math.ceil(late.length / 2));
  const most = list => Math.max(...list.map(m => m[1]));
  if (second.length) console.log(`  most in the second third ${most(first).toFixed(1)} MB, in the last ${most(second).toFixed(1)} MB`);
  await page.close();
  daemon.close();
}

(async () => {
  const browser = await playwright.chromium.launch({executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage']});
  console.log(`Chromium ${browser.version()}, ${os.cpus().length} cores: ${os.cpus()[0].model}, node ${process.version}; the API is played by bench/page/fake_daemon.cjs`);
  const only = process.argv[3];
  for (const one of [frames, sixtyFour, slowLine, firstPaint, memory]) if (!only || one.name === only) await one(browser);
  await browser.close();
})();
