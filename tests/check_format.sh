#!/usr/bin/env bash
# Every C and C++ file is laid out by .clang-format; `tests/check_format.sh --fix` rewrites those that are not.
# nvml_abi.h keeps the layout of the header it restates. Another version of clang-format may differ: Debian 12's decides.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
mapfile -t files < <({ git ls-files -co --exclude-standard '*.cc' '*.h' '*.c' 2>/dev/null ||
  find src research nvml-sim supervisor preload tests bench -name '*.cc' -o -name '*.h' -o -name '*.c'; } |
  grep -vx 'nvml-sim/nvml_abi.h' | LC_ALL=C sort -u)
present=()
for file in "${files[@]}"; do [ -f "$file" ] && present+=("$file"); done
[ ${#present[@]} -gt 0 ] || { echo "no file found: the check does not see the tree"; exit 1; }
if [ "${1-}" = --fix ]; then
  clang-format -i "${present[@]}"
else
  printf '%s\n' "${present[@]}" | xargs -P "$(nproc)" -n 50 clang-format --dry-run -Werror --ferror-limit=3 ||
    { echo "tests/check_format.sh --fix lays them out"; exit 1; }
  echo "${#present[@]} files are laid out"
fi
