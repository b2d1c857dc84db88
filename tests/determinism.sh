#!/usr/bin/env bash
# Same seed, same bytes: tests/determinism.sh GCC_BINARY CLANG_BINARY
# Every file of a run directory but timing.json, and every table, is equal for both compilers, for a second run, and for any
# number of threads.
set -u
gcc=$(readlink -f -- "$1") clang=$(readlink -f -- "$2")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf -- "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0
same() {  # WHAT FILE_OR_DIR FILE_OR_DIR
  if diff -rq -x timing.json "$2" "$3" >difference 2>&1; then echo "equal    $1"; else echo "DIFFERS  $1"; cat difference; failed=1; fi
}
sim() {  # BINARY DIR OPTIONS...
  local binary=$1 dir=$2
  shift 2
  "$binary" sim "$@" --report -o "$dir" >"$dir.txt" 2>&1 || { echo "FAILED   $*"; cat "$dir.txt"; failed=1; }
  sed -i '/^written to/d' "$dir.txt"
}
case_number=0
while read -r options; do
  case_number=$((case_number + 1))
  sim "$gcc" "g$case_number" $options
  sim "$gcc" "again$case_number" $options
  sim "$clang" "c$case_number" $options
  same "g++ twice      $options" "g$case_number" "again$case_number"
  same "g++ and clang  $options" "g$case_number" "c$case_number"
  same "tables         $options" "g$case_number.txt" "c$case_number.txt"
done <<'CASES'
-w paper:20x,seed=7,hours=8-12 --policy static+cedf --cost paper
-w paper:20x,seed=8,hours=8-11 --policy twice+met-w --cost paper
-w paper:8x,seed=9,hours=8-11 --policy static[3]+random --seed 5
-w miso:rate=2,jobs=300,seed=3 --gpus 2xa100-40gb,1xh200-141gb --power linear:60:40:400 --policy none+edf --cost hardware
-w miso:rate=3,jobs=300,seed=4 --power a100-jobs --policy static[4g+2g+1g]+met --cost hardware --reshape-s 4
CASES
for binary in "$gcc" "$clang"; do
  for threads in 1 2 5; do
    "$binary" compare -w paper:20x,hours=8-10 --policies static+cedf,none+edf,search+cedf --days 6 -j "$threads" --json >"compare-${binary##*/}-$threads-$(basename "$(dirname "$binary")").json" || failed=1
  done
done
first=
for file in compare-*.json; do
  [ -z "$first" ] && { first=$file; continue; }
  same "compare $file" "$first" "$file"
done
"$gcc" search -w paper:20x,hours=8-9 --days 3 --evaluations 40 -j 1 --json >search1.json && "$clang" search -w paper:20x,hours=8-9 --days 3 --evaluations 40 -j 2 --json >search2.json || failed=1
same "search" search1.json search2.json
exit $failed
