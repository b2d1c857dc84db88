#!/usr/bin/env bash
# Every pattern of tests/filters/real_time.txt and threads.txt matches a test: check_filters.sh UNIT_TESTS [TSAN_UNIT_TESTS]. Else a renamed suite would
# silently leave its group. The program with TSan, which is built of fewer files, holds every test with threads.
set -u
program=$(readlink -f -- "${1:?check_filters.sh UNIT_TESTS [TSAN_UNIT_TESTS]}")
with_tsan=${2:+$(readlink -f -- "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/filters" || exit 1
failed=0 patterns=0
for file in real_time.txt threads.txt; do
  while read -r pattern; do
    patterns=$((patterns + 1))
    "$program" --gtest_list_tests "--gtest_filter=$pattern" | grep -q '^  ' ||
      { echo "tests/filters/$file: $pattern matches no test"; failed=1; }
  done < <(sed -E 's/[[:space:]]*#.*//; /^$/d' "$file")
done
if [ -n "$with_tsan" ]; then
  threads=$(sed -E 's/[[:space:]]*#.*//; /^$/d' threads.txt | paste -sd:)
  missing=$(comm -23 <("$program" --gtest_list_tests "--gtest_filter=$threads" | LC_ALL=C sort) \
    <(setarch "$(uname -m)" -R "$with_tsan" --gtest_list_tests "--gtest_filter=$threads" | LC_ALL=C sort))
  [ -z "$missing" ] || { echo "the program with TSan lacks these tests: $missing"; failed=1; }
fi
[ "$failed" = 0 ] && echo "$patterns patterns match tests"
exit "$failed"
