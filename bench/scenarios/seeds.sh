#!/usr/bin/env bash
# How much of a network is its seed: every shipped config trained anew with three seeds, the best validation ET of each run, and the spread.
#   bench/scenarios/seeds.sh [DIR [NAME...]]     runs stay in DIR (made; without it they are thrown away); those that are done there
#                                                are not made again. NAME: as below; without one all but `value`, which takes half an hour
# Two cores: about 20 minutes. Validation days pick the checkpoint of each run, so the figures are of equal standing and a little low.
set -eu
dir=${1-}
[ -n "$dir" ] || { dir=$(mktemp -d) && trap 'rm -rf -- "$dir"' EXIT; }
mkdir -p "$dir"
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- rich paper hardware single-low single-high single-value single-dqn-low single-dqn-high
seeds=${SEEDS:-1 2 3}

config_of() {
  case $1 in
    single-dqn-low) echo "--config single-dqn" ;;
    single-dqn-high) echo "--config single-dqn --env.a 2.8125e-6" ;;
    *) echo "--config $1" ;;
  esac
}

best_of() { sed -n 's/^best policy: .*, validation ET \([0-9.]*\) min.*/\1/p' "$1"; }

printf '%-16s %s\n' network "validation ET, min, seeds $seeds; spread: (most - least) / least"
for name in "$@"; do
  found=
  for seed in $seeds; do
    run=$dir/$name-$seed
    if [ -z "$(best_of "$run.log" 2>/dev/null)" ]; then
      # shellcheck disable=SC2046
      smartmig train $(config_of "$name") --seed "$seed" --out "$run" --force >"$run.log" 2>&1 || { tail -n 1 "$run.log" >&2; exit 1; }
    fi
    found="$found $(best_of "$run.log")"
  done
  echo "$name$found" | awk '{ least = most = $2; for (i = 3; i <= NF; i++) { if ($i < least) least = $i; if ($i > most) most = $i }
    printf "%-16s", $1; for (i = 2; i <= NF; i++) printf " %8.4f", $i; printf "   %.1f %%\n", 100 * (most / least - 1) }'
done
