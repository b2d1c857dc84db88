#!/usr/bin/env bash
# The checks of .clang-tidy over the program's sources, as build/PRESET compiles them (a clang preset, configured):
# check_tidy.sh BUILD_DIR. Whole folders at a time: most of the work would be the headers.
set -u
build=$(cd "${1:?check_tidy.sh BUILD_DIR}" && pwd) || exit 1
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
[ -f "$build/compile_commands.json" ] || { echo "no $build/compile_commands.json: cmake --preset ${build##*/}"; exit 1; }
mapfile -t sources < <(sed -n 's/^ *"file": "\(.*\)"$/\1/p' "$build/compile_commands.json" |
  grep -E '/(CMakeFiles/sm_|nvml-sim/CMakeFiles/nvml_sim_core|src/|research/|nvml-sim/|supervisor/).*\.(cc|cxx)$' |
  grep -vE '_test\.cc$|_tests\.dir/' | LC_ALL=C sort -u)
[ ${#sources[@]} -gt 0 ] || { echo "no source found in $build/compile_commands.json"; exit 1; }
# Headers are read as they are written, not precompiled.
mkdir -p "$build/tidy" && sed -E 's/-Xclang -include-pch -Xclang [^ ]+ -Xclang -include -Xclang [^ ]+//' \
  "$build/compile_commands.json" >"$build/tidy/compile_commands.json" || exit 1
printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy -p "$build/tidy" --quiet 2>&1 | grep -v '^[0-9]* warnings\? generated' >"$build/tidy.log"
status=("${PIPESTATUS[@]}")
cat "$build/tidy.log"
[ "${status[1]}" = 0 ] || exit 1
echo "${#sources[@]} units are clean"
