// What the axis draws, in words: the bars of the window for a screen reader, and for the tests. The past first, then
// what is expected.
import {el, keyed, setAttr, setText} from './dom';
import {Stay} from './history';
import {FutureStay, JobFuture} from './types';
import {View} from './view';
import {World} from './world';

const MOST = 120;

export class LaneList {
  private past = el('ol', {id: 'past-list', 'aria-label': 'What happened, newest first'});
  private future = el('ol', {id: 'future-list', 'aria-label': 'What is expected, soonest first'});
  constructor(node: HTMLElement, private world: World, private view: View) { node.append(this.past, this.future); }

  update(stays: FutureStay[], jobs: JobFuture[]) {
    const {world, view} = this, t0 = view.t0, instant = view.instant(), list: Stay[] = [];
    for (const gpu of world.history.gpus.slice(0, 64))
      for (const slot of gpu.slots)
        for (let i = slot.length - 1; i >= 0 && slot[i].end >= t0 && list.length < 4000; --i)
          if (slot[i].begin <= instant) list.push(slot[i]);
    list.sort((a, b) => b.begin - a.begin);
    keyed(this.past, list.slice(0, MOST), s => `${s.job} ${s.gpu} ${s.slice} ${s.begin}`, s => el('li', {'data-job': s.job, 'data-gpu': s.gpu, 'data-slice': s.slice, 'data-begin': s.begin}),
      (node, s) => {
        const open = s.end > instant, how = open ? '' : world.outcome(s.job, s.how, s.end), job = world.byLabel.get(s.job);
        setAttr(node, 'data-end', open ? null : String(s.end));
        setAttr(node, 'data-how', how || null);
        const words = how === 'failed' ? (job && job.state !== 'running' ? job.state : 'failed').replace('_', ' ') : how === 'stopped' ? 'stopped, it goes on later' : s.how;
        setText(node, `job ${s.job} on ${s.slice} of GPU ${s.gpu} from ${world.clock.time(s.begin)} ${open ? 'on' : 'to ' + world.clock.time(s.end) + ', ' + words}`);
      });
    const of = new Map(jobs.map(j => [j.id, j]));
    const coming = view.following ? [...stays].sort((a, b) => a.begin_at - b.begin_at).slice(0, 2 * MOST) : [];
    keyed(this.future, coming, (s, ) => `${s.id} ${s.gpu} ${s.slice} ${s.begin_at}`, s => el('li', {'data-id': s.id, 'data-gpu': s.gpu, 'data-slice': s.slice, 'data-begin': s.begin_at, 'data-end': s.end_at}),
      (node, s) => {
        setAttr(node, 'data-end', String(s.end_at));
        const job = s.id === null ? undefined : of.get(s.id), label = s.id === null ? 'the new job' : 'job ' + (world.jobs.get(s.id)?.label ?? s.id);
        setAttr(node, 'data-start-p10', job?.start_at ? String(job.start_at.p10) : null);
        setAttr(node, 'data-finish-p90', job?.finish_at ? String(job.finish_at.p90) : null);
        const held = s.id !== null && world.jobs.get(s.id)?.state === 'held';
        setAttr(node, 'data-held', held ? '1' : null);
        setText(node, `${label}${held ? ', held until then,' : ''} expected on ${s.slice} of GPU ${s.gpu} from ${world.clock.time(s.begin_at)} to ${world.clock.time(s.end_at)}`);
      });
  }
}
