#!/usr/bin/env bash
# Every pattern in tests/filters matches a test: check_filters.sh UNIT_TESTS. Else a renamed suite would silently leave
# its group.
set -u
program=$(readlink -f -- "${1:?check_filters.sh UNIT_TESTS}")
cd "$(dirname "${BASH_SOURCE[0]}")/filters" || exit 1
failed=0 patterns=0
for file in *.txt; do
  while read -r pattern; do
    patterns=$((patterns + 1))
    "$program" --gtest_list_tests "--gtest_filter=$pattern" | grep -q '^  ' ||
      { echo "tests/filters/$file: $pattern matches no test"; failed=1; }
  done < <(sed -E 's/[[:space:]]*#.*//; /^$/d' "$file")
done
[ "$failed" = 0 ] && echo "$patterns patterns match tests"
exit "$failed"
