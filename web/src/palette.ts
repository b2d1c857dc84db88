// Colours of the style sheet for the canvas, and which colour a job has: by its kind where it has one, else by its owner
// where there are several, else by its name. The first ones that appear get a colour of their own, the rest share one; lateness has one that nobody else has.
import {World} from './world';

export interface Colours {
  ink: string; ink2: string; ink3: string; line: string; grid: string; slot: string; surface: string; late: string; accent: string;
  now: string; k: string[]; other: string; warn: string;
}
export const KINDS = 7;

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement), of = (name: string) => style.getPropertyValue('--' + name).trim();
  return {
    ink: of('ink'), ink2: of('ink2'), ink3: of('ink3'), line: of('line'), grid: of('grid'), slot: of('slot'), surface: of('surface'),
    late: of('late'), accent: of('accent'), now: of('now'), other: of('k-other'), warn: of('warn'),
    k: Array.from({length: KINDS}, (_, i) => of('k' + i)),
  };
}

export class JobColours {
  private rank = new Map<string, number>();
  constructor(private readonly world: World) {}
  group(label: string): string {
    return this.world.kind(label) || (this.world.owners.size > 1 ? this.world.owner(label) : this.world.title(label)) || 'jobs';
  }
  of(label: string): number {
    const group = this.group(label);
    let at = this.rank.get(group);
    if (at === undefined) this.rank.set(group, at = this.rank.size);
    return Math.min(at, KINDS);
  }
  legend(): {name: string; colour: number}[] {
    const list = [...this.rank].map(([name, colour]) => ({name, colour: Math.min(colour, KINDS)}));
    return list.length > KINDS ? [...list.slice(0, KINDS), {name: `${list.length - KINDS} others`, colour: KINDS}] : list;
  }
}
