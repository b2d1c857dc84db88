// What the API answers (docs/api.md). Instants are Unix seconds, or seconds of a simulation.
export interface Profile { compute_slices: number; memory_slices: number; memory_mib: number|null; }
export interface Model { compute_slices: number; memory_slices: number; memory_mib: number|null; profiles: {[name: string]: Profile}; }
export interface WorldInfo {
  kind: 'live'|'recorded'; version: string; title: string; policy: string; models: {[name: string]: Model}; gpus: string[];
  signed_in: boolean; operator: boolean; user: string; began_at: number|null; journal_run: number; journal_position: number;
  now_at: number|null; workload?: string; platform?: string;
}
export interface ShortJob {
  id: number; label: string; name: string; user: string; state: string; suspended: boolean; reason: string; kind: string;
  submitted_at: number; started_at: number|null; ended_at: number|null; deadline_at: number|null;
  expected_finish_at: number|null; late_s: number; gpu: number|null; slice: string|null; mem_mib: number|null;
  peak_mib: number|null; energy_j: number|null; cost: number|null; priority: number; attempt: number;
}
export interface Changes { version: number; whole: boolean; waiting: number; jobs: ShortJob[]; gone: number[]; }
export interface Slice {
  name: string; profile: string; start: number; compute_slices: number; memory_slices: number; job: number|null;
  state: string; words: string; memory_mib: number; used_mib: number|null; going: boolean; watts_w: number|null;
}
export interface Gpu {
  index: number; uuid: string; product: string; model: string; watts_w: number; energy_j: number; state: string;
  words: string; layout: string; target: string; slices: Slice[]; memory_slices: number;
}
export interface Status {
  policy: string; paused: boolean; watts_w: number; power_cap_w: number|null; board_cap_w: number|null;
  queue: {[state: string]: number}; now_at: number; energy: {[part: string]: number};
  shadow: {policy: string; decisions: number; differences: number; compared: unknown}|null;
  prices: {energy_per_kwh: number; late_per_hour: number; energy_by_hour: number[]|null}|null;
  et: {value: number; a_per_wmin: number; energy_j: number; mean_tardiness_s: number; jobs: number}|null;
  decisions: {count: number; p50_ms: number; p99_ms: number; refused: number; fallbacks: number};
  quarantined: string[]; shortage: string; disk: string; uptime_s: number; emulated: boolean; journal_position: number;
}
export interface Quantiles { p10: number; p50: number; p90: number; }
export interface JobFuture {
  id: number; expected_start_at: number|null; expected_finish_at: number|null; start_at: Quantiles|null; finish_at: Quantiles|null;
  deadline_at: number|null; on_time_ratio: number|null; late_s: number|null; no_start: string|null;
}
export interface FutureStay { id: number|null; gpu: number; slice: string; begin_at: number; end_at: number; finished: boolean; }
export interface Outcome {
  policy: string; energy_j: number; late_s: number; late_jobs: number; mean_late_s: number; last_finish_at: number; jobs: number;
  cost: number|null;
}
export interface Futures {
  now_at: number; policy: string; futures: number; outcome: Outcome|null; jobs: JobFuture[]; stays: FutureStay[];
  layouts: {at: number; gpu: number; slices: string[]}[]; power: PowerStep[]; idle_w: number;
}
export interface PowerStep { at: number; watts_w: number; }
export interface Comparison {
  now: Outcome|null; then: Outcome; stays: FutureStay[]; layouts: {at: number; gpu: number; slices: string[]}[]; power: PowerStep[]; gpus: string[];
  jobs: {id: number|null; finish_now_at: number|null; finish_then_at: number|null; late_now_s: number|null; late_then_s: number|null}[];
}
export interface Why {
  job: number; code: string; sentence: string; to_change: string[];
  reservation: {gpu: number; slice: string; start_at: number; finish_at: number; held_until: number|null; after: string[]}|null;
  blocked_by: {gpu: number; slice: string; job: string; until_at: number}[];
  waits_for: {job: number; until: string; expected_at: number|null}[];
  alternatives: {what: string; start_at: number|null; finish_at: number|null; late_s: number|null; energy_j: number; cost: number|null}[];
}
export interface UsageRow { key: string; jobs: number; done: number; energy_j: number; slice_s: number; late_s: number; cost: number|null; }
export interface Usage { by: string; rows: UsageRow[]; total: UsageRow; }
export interface Series { idle_w: number; points: [number, number, number, number][]; joules: {[job: string]: number}; }
export interface Power { step_s: number; now_at: number; points: {at: number; watts_w: number; energy_j: number; energy_per_kwh: number|null}[]; ahead: {at: number; energy_per_kwh: number}[]; }
export interface Summary { [figure: string]: number|null; }
