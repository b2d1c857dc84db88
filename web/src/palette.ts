// Which colour a job has: by its kind where it has one, else by its owner
// where there are several, else by its name. The first ones that appear get a colour of their own, the rest share one; lateness has one that nobody else has.
import {KINDS} from '../plain/draw.js';
import {World} from './world';

const REMEMBERED = 500;  // names may be without end

export class JobColours {
  private rank = new Map<string, number>();
  constructor(private readonly world: World) {}
  group(label: string): string {
    return this.world.kind(label) || (this.world.owners.size > 1 ? this.world.owner(label) : this.world.title(label)) || 'jobs';
  }
  of(label: string): number {
    const group = this.group(label);
    let at = this.rank.get(group);
    if (at === undefined) {
      at = this.rank.size;
      if (at < REMEMBERED) this.rank.set(group, at);
    }
    return Math.min(at, KINDS);
  }
  legend(): {name: string; colour: number}[] {
    const list = [...this.rank].map(([name, colour]) => ({name, colour: Math.min(colour, KINDS)}));
    return list.length > KINDS ? [...list.slice(0, KINDS), {name: list.length < REMEMBERED ? `${list.length - KINDS} others` : 'others', colour: KINDS}] : list;
  }
}
