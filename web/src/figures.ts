// Power, energy and money, tardiness, ET. Streams are drawn by uPlot; what is not known is n/a.
import uPlot from 'uplot';
import {readColours} from '../plain/draw.js';
import {el, fill, setText} from './dom';
import {energy, money, NA, num, percent, span, watts} from './format';
import {UsageRow} from './types';
import {View} from './view';
import {World} from './world';

export class Figures {
  private chart: uPlot|null = null;
  private box = el('div', {class: 'chart', role: 'img', 'aria-label': 'Watts of all boards and waiting jobs over time'});
  private cards = el('div', {class: 'cards', id: 'energy-cards'});
  private tables = el('div', {class: 'pair', id: 'usage'});
  private tardy = el('div', {class: 'tardy', id: 'tardiness'});
  private key = el('ul', {class: 'legend', id: 'energy-key'});
  private hours = el('div', {id: 'price-hours', class: 'hours', hidden: true});
  private drawn = 0;
  private sized = 0;

  constructor(node: HTMLElement, private world: World, private view: View) {
    node.append(this.cards, this.box, this.key, this.hours, el('h3', {}, 'Tardiness of ended jobs'), this.tardy, el('h3', {}, 'Energy by kind and user, today'), this.tables);
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  restyle() {
    this.chart?.destroy();
    this.chart = null;
    this.drawn = 0;
  }

  private resize() {
    const width = Math.round(this.box.clientWidth);
    if (this.chart && width > 0 && width !== this.sized) this.chart.setSize({width, height: 150});
    this.sized = width;
  }

  private make() {
    const c = readColours(), axis = {stroke: c.ink2, grid: {stroke: c.grid, width: 1}, ticks: {stroke: c.line, width: 1}, font: '11px system-ui'};
    const clock = this.world.clock;
    this.chart = new uPlot({
      width: Math.max(200, this.box.clientWidth), height: 150, legend: {show: false}, cursor: {drag: {x: false, y: false}},
      scales: {x: {time: false}, y: {range: (_u, _min, max) => [0, Math.max(10, max * 1.08)]}, q: {range: (_u, _min, max) => [0, Math.max(4, max * 1.2)]}, p: {range: (_u, _min, max) => [0, Math.max(1e-6, (max || 0) * 1.3)]}},
      axes: [
        {...axis, space: 80, incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400], values: (_u, list) => list.map(t => clock.time(t, list.length > 1 && list[1] - list[0] < 60))},
        {...axis, size: 56, values: (_u, list) => list.map(v => num(v, 0) + ' W')},
        {...axis, scale: 'q', side: 1, size: 40, grid: {show: false}, values: (_u, list) => list.map(v => Number.isInteger(v) ? num(v, 0) : '')},
      ],
      series: [{}, {label: 'watts', stroke: c.kinds[0], width: 1.6, points: {show: false}, paths: uPlot.paths.stepped!({align: 1})},
               {label: 'waiting', scale: 'q', stroke: c.kinds[2], width: 1.2, dash: [4, 3], points: {show: false}, paths: uPlot.paths.stepped!({align: 1})},
               {label: 'cap', stroke: c.ink, width: 1, dash: [2, 3], points: {show: false}},
               {label: 'price', scale: 'p', stroke: c.kinds[4], width: 1.4, points: {show: false}, paths: uPlot.paths.stepped!({align: 1})}],
    }, [[], [], [], [], []], this.box);
  }

  update() {
    this.updateCards();
    if (this.box.clientWidth === 0 || performance.now() - this.drawn < 900) return;
    this.drawn = performance.now();
    if (!this.chart) this.make();
    const {world, view} = this, cap = world.status?.power_cap_w ?? null;
    const list = world.live ? world.power : world.power.filter(p => p.t >= view.t0 - 1 && p.t <= view.t1 + 1);
    this.chart!.setData([list.map(p => p.t), list.map(p => p.watts), list.map(p => p.queued), list.map(() => cap), list.map(p => p.price)]);
    this.prices();
    this.tardiness();
    this.usage();
  }

  private updateCards() {
    const {world} = this, s = world.status, today = world.usage?.kind.total, f = world.summary;
    const idle = s && s.energy.idle_j + s.energy.attributed_j > 0 ? s.energy.idle_j / (s.energy.idle_j + s.energy.attributed_j + s.energy.unattributed_j) : null;
    const at = world.live ? null : world.power[Math.max(0, world.power.findIndex(p => p.t > this.view.instant()) - 1)];
    const gap = (v: number|null|undefined, b: number|null|undefined) => v && b ? `${num(100 * (v / b - 1), 1)} % over the proven bound` : 'bound ' + NA;
    const cards: [string, string, string][] = world.live ? [
      ['Power', watts(s?.watts_w), s?.power_cap_w ? `cap ${watts(s.power_cap_w)}` : 'no cap'],
      ['Idle share', percent(idle), 'of the energy since the start'],
      ['Boards today', energy(world.today?.joules), world.today ? `since ${world.clock.time(world.today.since, false)}` : NA],
      ['Energy cost today', money(world.today?.money), s?.prices ? `at ${money(world.power[world.power.length - 1]?.price)} a kWh now` : 'no prices configured'],
      ['Ended jobs today', energy(today?.energy_j), today ? `${num(today.jobs, 0)} jobs, cost ${money(today.cost)}` : NA],
      ['ET', num(s?.et?.value), s?.et ? `${num(s.et.jobs, 0)} jobs, mean ${span(s.et.mean_tardiness_s)} late; bound ${NA}: view --bound proves one` : 'no job has ended yet'],
    ] : [
      ['Power at the instant', watts(at?.watts), `idle fleet ${watts(world.idleWatts)}`],
      ['Energy', energy(f?.energy_kwh ? f.energy_kwh * 3.6e6 : null), gap(f?.energy_kwh, f?.energy_bound_kwh)],
      ['Mean tardiness', span(f?.mean_tardiness_min === null || f?.mean_tardiness_min === undefined ? null : 60 * f.mean_tardiness_min), `p99 ${span(f?.p99_tardiness_min === null || f?.p99_tardiness_min === undefined ? null : 60 * f.p99_tardiness_min)}`],
      ['Cost', NA, 'a recorded run has no prices'],
      ['ET', num(f?.et), gap(f?.et, f?.et_bound)],
    ];
    const text = JSON.stringify(cards);
    if (this.cards.dataset.text === text) return;
    this.cards.dataset.text = text;
    if (this.cards.children.length !== cards.length)
      fill(this.cards, ...cards.map(() => el('div', {class: 'card'}, el('div', {class: 'l'}), el('div', {class: 'v'}), el('div', {class: 'n'}))));
    cards.forEach(([title, value, note], i) => {
      const card = this.cards.children[i];
      setText(card.children[0], title);
      setText(card.children[1], value);
      setText(card.children[2], note);
    });
  }

  // The price of each hour of the server's day; hidden where one price holds all day.
  private prices() {
    const s = this.world.status, list = s?.prices?.energy_by_hour ?? null, cap = s?.power_cap_w ?? null;
    const words: [string, string][] = [['watts of all boards', '0'], ['waiting jobs (right)', '2'], ...(cap ? [['cap', 'ink']] as [string, string][] : []), ...(s?.prices?.energy_per_kwh ? [['price of a kWh', '4']] as [string, string][] : [])];
    const text = JSON.stringify([words, list]);
    if (this.key.dataset.text === text) return;
    this.key.dataset.text = text;
    fill(this.key, ...words.map(([name, colour]) => el('li', {}, el('i', {'data-colour': colour}), name)));
    this.hours.hidden = !list;
    if (!list) return;
    const most = Math.max(...list);
    fill(this.hours, el('h3', {}, 'Price of a kWh by the hour of the server’s day'), el('ol', {}, ...list.map((price, hour) => {
      const bar = el('span', {class: 'fill', 'data-colour': 4});
      bar.style.height = Math.max(1, 40 * price / Math.max(1e-9, most)) + 'px';
      return el('li', {'aria-label': `from ${hour}:00 ${money(price)} a kWh`, title: `from ${hour}:00: ${money(price)} a kWh`}, bar, el('span', {class: 'note'}, hour % 6 === 0 ? `${hour} h` : ''));
    })));
  }

  private tardiness() {
    const bins = [['in time', 0], ['≤ 1 min', 60], ['≤ 10 min', 600], ['≤ 1 h', 3600], ['> 1 h', Infinity]] as [string, number][];
    const counts = bins.map(() => 0);
    let total = 0;
    for (const job of this.world.jobs.values()) {
      if (job.ended_at === null || job.deadline_at === null || (!this.world.live && job.ended_at > this.view.instant())) continue;
      ++counts[bins.findIndex(b => job.late_s <= b[1])];
      ++total;
    }
    const text = JSON.stringify(counts);
    if (this.tardy.dataset.text === text) return;
    this.tardy.dataset.text = text;
    if (total === 0) return fill(this.tardy, el('p', {class: 'note'}, NA + ': no job with a deadline has ended yet'));
    const table = el('table', {class: 'bars'}, el('tbody', {}, ...bins.map(([name], i) => {
      const bar = el('div', {class: i === 0 ? 'fill' : 'fill late'});
      bar.style.width = Math.max(counts[i] ? 1 : 0, 100 * counts[i] / total) + '%';
      return el('tr', {}, el('th', {scope: 'row'}, name), el('td', {class: 'w'}, bar), el('td', {class: 'n'}, `${num(counts[i], 0)} jobs, ${num(100 * counts[i] / total, 1)} %`));
    })));
    fill(this.tardy, table);
  }

  private usage() {
    const {world} = this;
    const parts: [string, UsageRow[]][] = world.live ? [['kind', world.usage?.kind.rows ?? []], ['user', world.usage?.user.rows ?? []]] : [['kind', this.recordedKinds()]];
    const text = JSON.stringify(parts);
    if (this.tables.dataset.text === text) return;
    this.tables.dataset.text = text;
    fill(this.tables, ...parts.map(([by, rows]) => rows.length === 0 ? el('p', {class: 'note'}, `by ${by}: ${NA}`) :
      el('table', {}, el('thead', {}, el('tr', {}, ...[by, 'jobs', 'energy', 'cost'].map((t, i) => el('th', {scope: 'col', class: i ? 'n' : ''}, t)))),
        el('tbody', {}, ...[...rows].sort((a, b) => b.energy_j - a.energy_j).slice(0, 8).map(r => el('tr', {}, el('td', {}, r.key || 'none'), el('td', {class: 'n'}, num(r.jobs, 0)),
          el('td', {class: 'n'}, energy(r.energy_j)), el('td', {class: 'n'}, money(r.cost))))))));
  }
  private recordedKinds(): UsageRow[] {
    const rows = new Map<string, UsageRow>();
    for (const job of this.world.jobs.values()) {
      if (job.energy_j === null || job.ended_at === null || job.ended_at > this.view.instant()) continue;
      let row = rows.get(job.kind);
      if (!row) rows.set(job.kind, row = {key: job.kind, jobs: 0, done: 0, energy_j: 0, slice_s: 0, late_s: 0, cost: null});
      ++row.jobs;
      row.energy_j += job.energy_j;
    }
    return [...rows.values()];
  }
}
