#!/usr/bin/env bash
# What wrong run times cost: `best` against the plain policies, all with the same beliefs, hardware costs, nobody can be
# stopped. Each line is a cell with the et_sum of all policies and the share of `best` of the least other:
#   1. the papers' days at LOADS (8 12 16 20) by RULES of --estimates, DAYS report days (10)
#   2. jobs of minutes to days on 16 A100s at loads 0.8 and 1.0 (made_jobs.py), LONG_SEEDS (901 902 903)
# BATCH=1 adds `batch`, which takes most of the time. PARTS=1,2 chooses. JOBS: days at once.
set -eu
here=$(dirname "${BASH_SOURCE[0]}")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
policies=best,none+edf,search+cedf,twice+cedf,meanfield+cedf${BATCH:+,batch}
rules=${RULES:-exact lognormal:0.35 lognormal:0.69 lognormal:1.1 over:1.1 flat kind none}

cell() {  # WORDS OPTION...
  local words=$1
  shift
  smartmig compare --cost hardware --restart none --json -j "${JOBS:-1}" --policies "$policies" "$@" >"$out/cell.json"
  python3 - "$words" "$out/cell.json" <<'PY'
import json, sys
result = json.load(open(sys.argv[2]))
value = {r["policy"]: result["a_eff"] * r["energy_wmin"] + r["mean_tardiness_min"] for r in result["policies"]}
best = value.pop("best")
least = min(value, key=value.get)
print(f"{sys.argv[1]:40} best {best:9.4f}  least other {value[least]:9.4f} ({least})  share {best / value[least]:.3f}  | "
      + "  ".join(f"{k} {v:.4f}" for k, v in value.items()), flush=True)
PY
}

has() { case ",${PARTS:-1,2}," in *",$1,"*) ;; *) return 1 ;; esac; }

if has 1; then
  for load in ${LOADS:-8 12 16 20}; do
    for rule in $rules; do
      cell "${load}x, $rule" -w "paper:${load}x" --estimates "$rule" --days "${DAYS:-10}"
    done
  done
fi
if has 2; then
  for load in 0.8 1.0; do
    for seed in ${LONG_SEEDS:-901 902 903}; do
      "$here/made_jobs.py" long --seed "$seed" --gpus 16 --load "$load" --days 6 >"$out/long.csv"
      for rule in $rules; do
        cell "minutes to days, load $load, $seed, $rule" -w "$out/long.csv" --window 8d --gpus 16xa100-40gb --estimates "$rule"
      done
    done
  done
fi
