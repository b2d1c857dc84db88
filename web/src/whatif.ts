// What if, by hand: the form asks the daemon for the future with a change, the future lanes move, and the differences
// stand here. Nothing is touched before "apply", which needs a token: a job more or less is the user's, policy and power cap
// are the operator's and hold until the configuration is reloaded. What cannot be applied from here is named.
import {el, fill, setAttr, setText} from './dom';
import {energy, money, NA, num, signed, span} from './format';
import {post, remove} from './net';
import {Comparison} from './types';
import {View} from './view';
import {World} from './world';

export class WhatIf {
  private out = el('div', {id: 'whatif-out', 'aria-live': 'polite'});
  private form: HTMLFormElement;
  private question: {[key: string]: unknown} = {};

  constructor(node: HTMLElement, private world: World, private view: View, private say: (words: string, bad?: boolean) => void) {
    if (!world.live) {
      node.append(el('p', {class: 'note'}, 'A recorded world has no future to change: smartmig replay --policies lives its day again under others.'));
      this.form = el('form');
      return;
    }
    const field = (name: string, title: string, placeholder: string, type = 'text') =>
      el('label', {}, title, el('input', {name, type, placeholder, step: 'any', autocomplete: 'off'}));
    this.form = el('form', {id: 'whatif'},
      field('policy', 'policy', 'planner'), field('add_gpus', 'more GPUs', '1x' + world.info.gpus[0]),
      field('remove', 'without jobs', '12, 14'), field('power_cap_w', 'power cap, W', 'none', 'number'),
      field('energy_per_kwh', 'price of a kWh', 'as configured', 'number'), field('late_per_hour', 'price of a late hour', 'as configured', 'number'),
      field('mem', 'another job: memory, GiB', '8', 'number'), field('minutes', 'its minutes on a whole GPU', '10', 'number'),
      field('deadline', 'its deadline in minutes', 'none', 'number'),
      el('div', {class: 'tools'}, el('button', {type: 'submit', class: 'main'}, 'What if?'), el('button', {type: 'button', onclick: () => this.clear()}, 'Back to what is')));
    this.form.addEventListener('submit', event => {
      event.preventDefault();
      void this.ask();
    });
    node.append(this.form, this.out);
  }

  private read() {
    const data = new FormData(this.form), text = (key: string) => String(data.get(key) ?? '').trim();
    const number = (key: string) => text(key) === '' ? null : Number(text(key));
    const question: {[key: string]: unknown} = {};
    if (text('policy')) question.policy = text('policy');
    if (text('add_gpus')) question.add_gpus = text('add_gpus');
    const without = text('remove').split(/[\s,]+/).filter(x => x).map(Number);
    if (without.length) question.remove = without;
    if (number('power_cap_w') !== null) question.power_cap_w = number('power_cap_w');
    if (number('energy_per_kwh') !== null || number('late_per_hour') !== null)
      question.prices = {energy_per_kwh: number('energy_per_kwh') ?? this.world.status?.prices?.energy_per_kwh ?? 0,
                         late_per_hour: number('late_per_hour') ?? this.world.status?.prices?.late_per_hour ?? 0};
    if (number('mem') !== null || number('minutes') !== null) {
      const job: {[key: string]: unknown} = {command: ['true'], estimate_s: 60 * (number('minutes') ?? 10)};
      if (number('mem') !== null) job.mem_mib = Math.round(1024 * number('mem')!);
      if (number('deadline') !== null) job.deadline_s = 60 * number('deadline')!;
      question.job = job;
    }
    return question;
  }

  // The answer before goes first: what is refused must not stand beside it.
  private async ask(question = this.read()) {
    this.clear();
    this.question = question;
    fill(this.out, el('p', {class: 'note'}, 'living through it …'));
    const {world} = this, at = world.now(), events = world.history.events;
    try {
      const answer = await post<Comparison>('/v1/whatif', {...question, lanes: true});
      if (this.question !== question) return;
      this.view.asked = {answer, at, events};
      this.show(answer);
      this.view.changed();
    } catch (error) {
      if (this.question === question) fill(this.out, el('p', {class: 'bad', role: 'alert'}, (error as Error).message));
    }
  }

  // An answer is about the state that it was asked of; once that has changed, it says so and can only be asked again.
  update() {
    const asked = this.view.asked, words = document.getElementById('whatif-age');
    if (!asked || !words) return;
    const events = this.world.history.events - asked.events, old = events > 0;
    setText(words, `Asked ${span(Math.max(0, this.world.now() - asked.at))} ago${old ? `; since then ${events === 1 ? 'one event has' : num(events, 0) + ' events have'} changed the queue` : ''}.`);
    words.classList.toggle('bad', old);
    setAttr(document.getElementById('axis')!, 'data-old', old ? '1' : null);
    const again = document.getElementById('whatif-again'), apply = document.getElementById('apply');
    if (again) again.hidden = !old;
    if (apply) (apply as HTMLButtonElement).disabled = old;
  }

  private show(c: Comparison) {
    const row = (title: string, now: number|null|undefined, then: number|null|undefined, words: (v: number) => string) => el('tr', {},
      el('th', {scope: 'row'}, title), el('td', {}, now === null || now === undefined ? NA : words(now)), el('td', {}, then === null || then === undefined ? NA : words(then)),
      el('td', {class: 'change'}, now === null || now === undefined || then === null || then === undefined ? NA : signed(then - now, words)));
    const now = this.world.now(), last = (o: {last_finish_at: number}|null) => o ? Math.max(0, o.last_finish_at - now) : null;
    const moved = c.jobs.filter(j => j.finish_now_at !== null && j.finish_then_at !== null && Math.abs(j.finish_then_at - j.finish_now_at) >= 1);
    const q = this.question, steers = 'policy' in q || 'power_cap_w' in q, who = this.world.info;
    const acts = [...('remove' in q ? ['cancel these jobs'] : []), ...('job' in q ? ['submit the job'] : []), ...('policy' in q ? [`let ${String(q.policy)} decide`] : []),
                  ...('power_cap_w' in q ? [Number(q.power_cap_w) > 0 ? `cap the fleet at ${String(q.power_cap_w)} W` : 'take the cap away'] : [])];
    const may = who.signed_in && (!steers || who.operator);
    const notes = [
      acts.length && !who.signed_in ? 'Sign in to apply it.' : '', acts.length && who.signed_in && !may ? 'Policy and power cap are the operator’s: this token may not change them.' : '',
      steers && may ? 'Policy and cap hold until the configuration is reloaded or the daemon starts anew; the file says what holds for good.' : '',
      'add_gpus' in q ? 'GPUs cannot be added from here: plug them in and start the daemon anew.' : '',
      'prices' in q ? 'Prices cannot be applied from here: they are in the daemon’s configuration file (systemctl reload smartmig reads it again).' : '',
    ].filter(words => words);
    fill(this.out,
      el('table', {id: 'whatif-table'}, el('thead', {}, el('tr', {}, ...['', 'as it is', 'what if', 'difference'].map(t => el('th', {scope: 'col'}, t)))),
        el('tbody', {},
          row('energy', c.now?.energy_j, c.then.energy_j, energy), row('lateness in all', c.now?.late_s, c.then.late_s, span),
          row('last job ends in', last(c.now), last(c.then), span), row('jobs', c.now?.jobs, c.then.jobs, v => String(Math.round(v))),
          row('cost', c.now?.cost, c.then.cost, money))),
      el('div', {class: 'tools'}, el('p', {class: 'note', id: 'whatif-age', role: 'status'}), el('button', {id: 'whatif-again', hidden: true, onclick: () => void this.ask(this.question)}, 'Ask again')),
      el('p', {class: 'note', id: 'whatif-moved'}, `Under ${c.then.policy}, ${moved.length} of ${c.jobs.length} jobs end at another time. The axis shows this future; nothing has been changed.`),
      acts.length && may ? el('button', {id: 'apply', onclick: () => void this.apply()}, 'Apply: ' + acts.join(', ')) : null,
      notes.length ? el('p', {class: 'note', id: 'whatif-notes'}, notes.join(' ')) : null);
    this.update();
  }

  private async apply() {
    try {
      const settings: {[key: string]: unknown} = {};
      for (const key of ['policy', 'power_cap_w']) if (key in this.question) settings[key] = this.question[key];
      if (Object.keys(settings).length) await post('/v1/settings', settings);
      if ('remove' in this.question)
        for (const id of this.question.remove as number[]) await remove(`/v1/jobs/${id}`);
      if ('job' in this.question) {
        document.querySelector<HTMLButtonElement>('#open-submit')?.click();
        this.say('Say what it runs, then submit it.');
      } else {
        this.say('applied');
      }
      this.clear();
    } catch (error) {
      this.say((error as Error).message, true);
    }
  }

  clear() {
    this.view.asked = null;
    this.question = {};
    fill(this.out);
    this.view.changed();
  }
}
