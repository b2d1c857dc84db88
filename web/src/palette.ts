// Which colour a job has: that of its kind where it has one, else of its owner where there are several, else of its
// name. Which colour a name has depends on the names of this world alone (plain/colours.js); lateness has its own.
import {coloursOf, hashOf} from '../plain/colours.js';
import {KINDS} from '../plain/draw.js';
import {World} from './world';

const SHOWN = 10;  // names in the legend

export class JobColours {
  private map = new Map<string, number>();
  private names: string[] = [];  // the most frequent first
  private gathered = -Infinity;
  constructor(private readonly world: World) { this.update(); }
  group(label: string): string {
    const {world} = this;
    if (!world.live) return world.kind(label) || (world.history.kinds.size > 0 ? 'no kind' : 'jobs');
    return world.kind(label) || (world.owners.size > 1 ? world.owner(label) : world.title(label)) || 'jobs';
  }
  // Gathers the names of all jobs that the world knows of, at most once a second.
  update() {
    if (performance.now() - this.gathered < 1000) return;
    const counts = new Map<string, number>();
    for (const labels of [this.world.byLabel.keys(), this.world.history.jobs.keys()])
      for (const label of labels) {
        const name = this.group(label);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    this.gathered = performance.now();
    this.names = [...counts.keys()].sort((a, b) => counts.get(b)! - counts.get(a)! || (a < b ? -1 : 1));
    if (this.names.length !== this.map.size || this.names.some(name => !this.map.has(name))) this.map = coloursOf(this.names);
  }
  of(label: string): number {
    const name = this.group(label);
    return this.map.get(name) ?? hashOf(name) % KINDS;
  }
  all(): {name: string; colour: number}[] { return this.names.map(name => ({name, colour: this.map.get(name)!})); }
  legend(): {name: string; colour: number}[] {
    const list = this.names.slice(0, SHOWN).map(name => ({name, colour: this.map.get(name)!}));
    const more = this.names.length - list.length;
    return more > 0 ? [...list, {name: `${more} more`, colour: KINDS}] : list;
  }
}
