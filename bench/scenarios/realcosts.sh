#!/usr/bin/env bash
# What a real machine gets: stopping a job and changing a GPU cost something. The planner, which plans by finishes, against
# every plain policy on report days, each cell with the planner's et_sum as a share of the best of the others:
#   1. loads, nobody can be stopped            DAYS report days a cell (30)
#   2. trainings restart in 20 s               the same
#   3. loads by slack by time of a change      CELL_DAYS report days a cell (5)
#   4. recorded traces, where TRACES names their directory: held-out windows of 14 days, fleets by peak load
# PARTS=1,2,3,4 chooses.
set -eu
others=none+edf,none+cedf,static+cedf,search+cedf,twice+cedf,meanfield+cedf,batch
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

cell() {  # WORDS OPTION...: a line with the et_sum of all, then the planner's share of the best of the others
  local words=$1
  shift
  smartmig compare --cost hardware --json --policies "$others,planner" "$@" >"$out/cell.json"
  python3 - "$words" "$out/cell.json" <<'PY'
import json, sys
result = json.load(open(sys.argv[2]))
value = {r["policy"]: result["a_eff"] * r["energy_wmin"] + r["mean_tardiness_min"] for r in result["policies"]}
mine = value.pop("planner")
best = min(value, key=value.get)
print(f"{sys.argv[1]:44} planner {mine:9.4f}  best other {value[best]:9.4f} ({best})  share {mine / value[best]:.3f}  | "
      + "  ".join(f"{k} {v:.3f}" for k, v in value.items()), flush=True)
PY
}

has() { case ",${PARTS:-1,2,3,4}," in *",$1,"*) ;; *) return 1 ;; esac; }

if has 1; then
  for load in 8 12 16 20; do
    cell "${load}x, nobody can be stopped" -w "paper:${load}x" --restart none --days "${DAYS:-30}"
  done
fi
if has 2; then
  for load in 16 20; do cell "${load}x, restarts of 20 s" -w "paper:${load}x" --restart 20 --days "${DAYS:-30}"; done
fi
if has 3; then
  for slack in 1-1.5 1.5-3 2-4; do
    for change in table 0 4 30; do
      for load in ${LOADS:-4 8 12 16 20 24 28}; do
        options=(-w "paper:${load}x" --slack "$slack" --restart none --days "${CELL_DAYS:-5}")
        [ "$change" = table ] || options+=(--reshape-s "$change")
        cell "${load}x, slack $slack, a change takes $change s" "${options[@]}"
      done
    done
  done
fi
if has 4 && [ -n "${TRACES:-}" ]; then
  for trace in philly_pollux.csv.gz chronus_philly_deadline_SLO.csv.gz chronus_philly_deadline_MIX1.csv.gz \
    elasticflow_philly_103959_deadline.csv; do
    for row in $(smartmig workload "$TRACES/$trace" --window 14d --json | python3 -c '
import json, sys
for w in json.load(sys.stdin)["windows"]:
    if w["held_out"]:
        for load in (0.7, 0.85, 1.0, 1.3):
            print(w["window"], load, max(2, round(w["peak_gpus"] / load)), sep=",")'); do
      IFS=, read -r window load gpus <<<"$row"
      for fleet in "${gpus}xa100-40gb" "$((gpus - gpus / 2))xa100-40gb,$((gpus / 2))xh100-80gb-sxm" \
        "$((gpus - gpus / 2))xa100-40gb,$((gpus / 2))xh200-141gb"; do
        cell "${trace%%.*}, window $window, load $load, $fleet" -w "$TRACES/$trace" --window 14d --windows "$window" \
          --gpus "$fleet" --restart none
      done
    done
  done
fi
