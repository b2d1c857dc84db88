// Measures the page in Debian's Chromium: bench.cjs DIST. Frames with a long queue and many events, the first paint of a
// large fleet, memory over an hour of events in a minute.
const os = require('os');
const fs = require('fs');
const playwright = require('playwright-core');
const {fakeDaemon} = require('./fake_daemon.cjs');

const dist = process.argv[2];
const sleep = ms => new Promise(done => setTimeout(done, ms));
const rank = (list, share) => list.length ? [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(share * list.length))] : NaN;
const load = () => os.loadavg()[0].toFixed(1);

async function open(browser, url) {
  const page = await browser.newPage({viewport: {width: 1440, height: 900}});
  page.on('pageerror', error => { throw error; });
  await page.addInitScript(() => { window.smartmigFrames = []; });
  await page.goto(url);
  await page.waitForSelector('body[data-ready]', {timeout: 120000});
  return page;
}

async function frames(browser) {
  const daemon = await fakeDaemon({dist, gpus: 8, queued: 10000, rate: 100});
  const page = await open(browser, daemon.url);
  await sleep(4000);
  const from = daemon.events();
  await page.evaluate(() => {
    window.smartmigFrames.length = 0;
    window.gaps = [];
    let last = performance.now();
    const tick = t => { window.gaps.push(t - last); last = t; requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
  });
  const seconds = 20;
  for (let i = 0; i < seconds * 4; ++i) {  // a reader who scrolls the queue meanwhile
    await page.$eval('.table-scroll', (n, top) => { n.scrollTop = top; }, (i % 40) * 4000);
    await sleep(250);
  }
  const {work, gaps} = await page.evaluate(() => ({work: window.smartmigFrames, gaps: window.gaps}));
  const rows = await page.textContent('#row-count');
  console.log(`frames: 8 GPUs, ${rows}, ${((daemon.events() - from) / seconds).toFixed(0)} events/s, ${seconds} s while the queue is scrolled (load ${load()})`);
  console.log(`  script of a frame   p50 ${rank(work, 0.5).toFixed(1)} ms, p95 ${rank(work, 0.95).toFixed(1)} ms, most ${Math.max(...work).toFixed(1)} ms, ${work.length} frames`);
  console.log(`  frame to frame      p50 ${rank(gaps, 0.5).toFixed(1)} ms, p95 ${rank(gaps, 0.95).toFixed(1)} ms, p99 ${rank(gaps, 0.99).toFixed(1)} ms`);
  await page.close();
  daemon.close();
}

async function firstPaint(browser) {
  const daemon = await fakeDaemon({dist, gpus: 1000, queued: 4000, rate: 20});
  const times = [];
  for (let i = 0; i < 3; ++i) {
    const began = Date.now(), page = await open(browser, daemon.url);
    await page.waitForSelector('.grid .cell[data-busy="7"]');
    await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
    times.push(Date.now() - began);
    await page.close();
  }
  console.log(`first paint: 1,000 GPUs, 4,000 jobs, from navigation to the drawn grid and lanes: ${times.map(t => (t / 1000).toFixed(2) + ' s').join(', ')} (load ${load()})`);
  daemon.close();
}

async function memory(browser) {
  const daemon = await fakeDaemon({dist, gpus: 8, queued: 500, rate: 6000, factor: 60});
  const page = await open(browser, daemon.url), client = await page.context().newCDPSession(page);
  const heap = async () => {
    await client.send('HeapProfiler.collectGarbage');
    return (await client.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  const marks = [];
  for (let i = 0; i < 7; ++i) {
    await sleep(10000);
    marks.push([daemon.events(), await heap()]);
  }
  console.log(`memory: 8 GPUs, events of an hour in a minute, JavaScript heap after collection (load ${load()})`);
  for (const [events, mb] of marks) console.log(`  ${String(events).padStart(8)} events  ${mb.toFixed(1)} MB`);
  await page.close();
  daemon.close();
}

(async () => {
  const browser = await playwright.chromium.launch({executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage']});
  console.log(`${browser.version()}, ${os.cpus().length} cores: ${os.cpus()[0].model}, node ${process.version}; the API is played by bench/page/fake_daemon.cjs`);
  const only = process.argv[3];
  for (const one of [frames, firstPaint, memory]) if (!only || one.name === only) await one(browser);
  await browser.close();
})();
