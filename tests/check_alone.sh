#!/usr/bin/env bash
# Every source of src/, research/ and bench/ compiles alone, without warnings: check_alone.sh [FILE...]. The builds compile whole folders
# together, where a missing include is provided by a neighbour; here it is an error. What a source sees first anyway is
# compiled once beforehand, which saves up to half: the headers of libraries (tests/check_std_includes.py sees to those), and
# the last of `hubs` that its own header includes (tests/include_hubs.py).
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
hubs=(base/result.h mig/gpu_model.h live/gpu/driver.h model/platform.h model/cluster.h policy/registry.h queue/belief/belief.h)
python3 tests/check_std_includes.py || exit 1
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(find src research bench -name '*.cc' ! -name '*_test.cc' | LC_ALL=C sort); fi
[ ${#files[@]} -gt 0 ] || { echo "no source found: the check does not see the tree"; exit 1; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf -- "$scratch"' EXIT
flags=(-std=c++20 -I. -Isrc -Invml-sim -Itests -DSMARTMIG_VERSION='""' -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror)
[ "$(uname -m)" != x86_64 ] || flags+=(-march=x86-64-v2)

for hub in - "${hubs[@]}"; do
  { echo '#include "cmake/libraries.h"'; [ "$hub" = - ] || echo "#include \"$hub\""; } >"$scratch/${hub//\//-}.h"
  echo "$scratch/${hub//\//-}.h"
done | xargs -P "$(nproc)" -I '{}' clang++ "${flags[@]}" -I. -fpch-instantiate-templates -x c++-header '{}' -o '{}.pch' || exit 1
printf '%s\n' "${files[@]}" | tests/include_hubs.py "${hubs[@]}" | LC_ALL=C sort >"$scratch/files" || exit 1
for hub in - "${hubs[@]}"; do
  awk -F '\t' -v hub="$hub" '$1 == hub { print $2 }' "$scratch/files" | xargs -r -n 8 echo -include-pch "$scratch/${hub//\//-}.h.pch"
done | xargs -P "$(nproc)" -I '{}' bash -c 'clang++ "$@" '{} compile "${flags[@]}" -fsyntax-only || exit 1
echo "${#files[@]} sources compile alone"
