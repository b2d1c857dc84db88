// Time: a slider over all that the journal holds, play at any speed, the event before and after, a link to the instant,
// and back to the edge, which a living world follows.
import {after} from '../plain/draw.js';
import {el, setAttr, setText} from './dom';
import {View} from './view';
import {World} from './world';

const SPEEDS = [1, 10, 60, 300, 1800, 7200];

export class TimeBar {
  private slider = el('input', {type: 'range', min: 0, max: 10000, step: 1, id: 'slider', 'aria-label': 'Instant'});
  private clock = el('output', {id: 'clock', for: 'slider'});
  private play = el('button', {id: 'play', 'aria-pressed': 'false'}, 'Play');
  private speed = el('select', {id: 'speed', 'aria-label': 'Speed'});
  private edge = el('button', {id: 'to-now'}, 'Now');
  private held = false;

  constructor(node: HTMLElement, private world: World, private view: View) {
    const speeds = [...new Set([...SPEEDS, view.speed])].sort((a, b) => a - b);
    for (const s of speeds) this.speed.append(el('option', {value: s, selected: s === view.speed}, s + '×'));
    this.slider.addEventListener('input', () => {
      this.held = true;
      const value = Number(this.slider.value);
      view.goTo(value >= 10000 && world.live ? null : this.first() + value / 10000 * (world.now() - this.first()));
    });
    this.slider.addEventListener('change', () => { this.held = false; });
    this.play.addEventListener('click', () => this.toggle());
    this.speed.addEventListener('change', () => { view.speed = Number(this.speed.value); });
    this.edge.addEventListener('click', () => { view.playing = false; view.goTo(world.live ? null : world.now()); });
    setText(this.edge, world.live ? 'Now' : 'End');
    const button = (id: string, words: string, label: string, act: () => void) => el('button', {id, 'aria-label': label, title: label, onclick: act}, words);
    const copied = el('span', {class: 'note', role: 'status', id: 'link-words'});
    node.append(this.play, this.speed, button('event-before', '◀', 'The event before', () => this.jump(-1)), this.slider,
      button('event-after', '▶', 'The next event', () => this.jump(1)), this.edge, this.clock,
      button('zoom-in', '+', 'Zoom in', () => view.zoom(1 / 1.5)), button('zoom-out', '−', 'Zoom out', () => view.zoom(1.5)),
      button('fit', 'Fit', 'Show all that has happened and all that is expected', () => view.fit()),
      button('link', 'Link', 'Copy a link to this instant', () => {
        const link = view.link();
        history.replaceState(null, '', link);
        navigator.clipboard?.writeText(link).then(() => setText(copied, 'copied'), () => setText(copied, 'in the address'));
      }), copied);
  }
  private first() { return Number.isFinite(this.world.history.begin) ? this.world.history.begin : this.world.now() - 1; }
  private toggle() {
    this.view.playing = !this.view.playing;
    if (this.view.playing && (this.view.at === null || this.view.at >= this.world.now() - 1)) this.view.at = this.first();
    this.view.changed();
  }
  jump(step: 1|-1) {
    const marks = this.world.history.marks, t = this.view.instant();
    const i = step > 0 ? after(marks, t + 1e-6, m => m) : after(marks, t - 1e-6, m => m) - 1;
    if (marks[i] !== undefined) this.view.goTo(marks[i]);
  }
  // Moves the instant while it plays.
  tick(seconds: number) {
    if (!this.view.playing) return;
    const next = this.view.instant() + seconds * this.view.speed;
    if (next >= this.world.now()) {
      this.view.playing = false;
      this.view.goTo(this.world.live ? null : this.world.now());
    } else {
      this.view.goTo(next);
    }
  }
  update() {
    const {world, view} = this, length = world.now() - this.first();
    const value = length > 0 ? Math.round(10000 * (view.instant() - this.first()) / length) : 10000;
    if (!this.held && this.slider.value !== String(value)) this.slider.value = String(value);
    const text = world.clock.full(view.instant());
    setAttr(this.slider, 'aria-valuetext', text);
    setText(this.clock, text);
    setText(this.play, view.playing ? 'Pause' : 'Play');
    setAttr(this.play, 'aria-pressed', String(view.playing));
    setAttr(this.edge, 'aria-pressed', String(world.live ? view.following : view.instant() >= world.now()));
  }
}
