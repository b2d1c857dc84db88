// Instants for the labels of a time axis: round ones, and not closer together than `apart` pixels.
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

export function timeTicks(t0: number, t1: number, width: number, calendar: boolean, apart = 90): {step: number; at: number[]} {
  const want = (t1 - t0) / Math.max(2, width / apart), step = STEPS.find(s => s >= want) ?? STEPS[STEPS.length - 1];
  const shift = calendar ? -60 * new Date(t1 * 1000).getTimezoneOffset() : 0, at = [];
  for (let t = Math.ceil((t0 + shift) / step) * step - shift; t <= t1; t += step) at.push(t);
  return {step, at};
}
