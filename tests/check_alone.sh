#!/usr/bin/env bash
# Every source of src/ and bench/ compiles alone, without warnings: check_alone.sh [FILE...]. The builds compile whole folders
# together, where a missing include is provided by a neighbour; here it is an error. The headers of libraries are compiled
# once beforehand, which saves a third; tests/check_std_includes.py sees to those.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
python3 tests/check_std_includes.py || exit 1
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(find src bench -name '*.cc' ! -name '*_test.cc' | LC_ALL=C sort); fi
[ ${#files[@]} -gt 0 ] || { echo "no source found: the check does not see the tree"; exit 1; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf -- "$scratch"' EXIT
flags=(-std=c++20 -Isrc -Invml-sim -Itests -DSMARTMIG_VERSION='""' -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror)
[ "$(uname -m)" != x86_64 ] || flags+=(-march=x86-64-v2)
clang++ "${flags[@]}" -fpch-instantiate-templates -x c++-header cmake/libraries.h -o "$scratch/libraries.pch" || exit 1
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 8 \
  clang++ "${flags[@]}" -fsyntax-only -include-pch "$scratch/libraries.pch" || exit 1
echo "${#files[@]} sources compile alone"
