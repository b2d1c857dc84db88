// What the policy did, newest first, with what the shadow would have done; a click leads to the instant.
import {after} from '../plain/draw.js';
import {el, keyed, setText} from './dom';
import {num} from './format';
import {Decision} from './history';
import {View} from './view';
import {World} from './world';

const SHOWN = 60;

export class Decisions {
  private list = el('ol', {class: 'decisions', id: 'decisions-list'});
  private head = el('p', {class: 'note', id: 'decision-figures'});
  constructor(node: HTMLElement, private world: World, private view: View) { node.append(this.head, this.list); }

  update() {
    const {world, view} = this, all = world.history.decisions, end = after(all, view.instant(), d => d.at);
    const rows = all.slice(Math.max(0, end - SHOWN), end).reverse();
    const d = world.status?.decisions, shadow = world.status?.shadow;
    setText(this.head, world.live && d ?
      `${num(d.count, 0)} decisions of ${world.status!.policy}, ${num(d.p50_ms)} ms (p50), ${num(d.p99_ms)} ms (p99), ${num(d.refused, 0)} refused` +
      (shadow ? `; the shadow ${shadow.policy} differed ${num(shadow.differences, 0)} times` : '; no shadow policy') :
      `under ${world.info.policy || 'n/a'}`);
    keyed(this.list, rows, (r: Decision) => String(r.at), r => el('li', {},
      el('button', {class: 'when', onclick: () => view.goTo(r.at)}, world.clock.time(r.at)), el('span', {class: 'what'}), el('span', {class: 'shadow'})),
    (node, r) => {
      setText(node.querySelector('.what')!, r.words.join('; ') || 'nothing new');
      setText(node.querySelector('.shadow')!, r.notes.join('; '));
    });
  }
}
