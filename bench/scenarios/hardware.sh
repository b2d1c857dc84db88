#!/usr/bin/env bash
# Hardware costs: jobs stay where they run, a reshape takes 0, 0.3, 4 or 30 s per GPU or the measured instance times, restarts
# cost what was measured. DAYS report days (default 5) of 8 A100s at three loads.
set -eu
for load in ${LOADS:-12x 16x 20x}; do
  for reshape in ${RESHAPES:-0 0.3 4 30 table}; do
    option=(--reshape-s "$reshape")
    [ "$reshape" != table ] || option=()
    printf '\nreshape %s%s\n' "$reshape" "$([ "$reshape" = table ] || echo ' s')"
    smartmig compare --cost hardware "${option[@]}" -w "paper:$load" --days "${DAYS:-5}" --baseline search+cedf \
      --policies none+edf,none+cedf,static+cedf,search+cedf,twice+cedf,meanfield+cedf,planner
  done
done
