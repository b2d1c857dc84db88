#!/usr/bin/env bash
# What a real machine gets: stopping a job and changing a GPU cost something. The planner, which plans by finishes, against
# every plain policy on report days: loads, then slack of the deadlines, then the time of a change. DAYS days a cell.
set -eu
policies=none+edf,none+cedf,static+cedf,search+cedf,twice+cedf,meanfield+cedf,batch,planner
cell() {  # WORDS OPTION...
  printf '\n%s\n' "$1"
  shift
  smartmig compare --cost hardware --days "${DAYS:-5}" --baseline search+cedf --policies "$policies" "$@"
}
for load in ${LOADS:-4x 8x 12x 16x 20x 24x}; do
  cell "load $load" -w "paper:$load"
done
for slack in ${SLACKS:-1.5-3 2-4}; do
  for load in ${SLACK_LOADS:-8x 16x}; do cell "slack $slack, load $load" -w "paper:$load" --slack "$slack"; done
done
for seconds in ${RESHAPES:-0 4 30}; do
  for load in ${RESHAPE_LOADS:-8x 16x}; do
    cell "a change takes $seconds s, load $load" -w "paper:$load" --reshape-s "$seconds"
  done
done
