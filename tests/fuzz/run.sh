#!/usr/bin/env bash
# One fuzz target: tests/fuzz/run.sh BUILD NAME. Every seed of its corpus, then new inputs for FUZZ_SECONDS (3) and until
# there were FUZZ_INPUTS (1000) of them. Inputs that crash stay in BUILD/fuzz.
set -u
build=${1:?run.sh BUILD NAME} name=${2:?run.sh BUILD NAME}
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
wanted=${FUZZ_INPUTS:-1000} corpus=("$build/fuzz/$name") inputs=0
mkdir -p "${corpus[0]}" || exit 1
for seeds in "$here/corpus/$name" "$here/corpus/${name%_fuzz}"; do
  [ ! -d "$seeds" ] || corpus+=("$seeds")
done
for limit in "-max_total_time=${FUZZ_SECONDS:-3}" "-runs=$wanted"; do
  output=$("$build/$name" "$limit" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
    "-artifact_prefix=$build/fuzz/$name-" "${corpus[@]}" 2>&1) || { printf '%s\n' "$output"; exit 1; }
  inputs=$(awk '/^stat::number_of_executed_units:/ { print $2 }' <<<"$output")
  [ "${inputs:-0}" -lt "$wanted" ] || break
done
echo "$name: ${inputs:-0} inputs"
[ "${inputs:-0}" -ge "$wanted" ] || { echo "fewer than $wanted"; exit 1; }
