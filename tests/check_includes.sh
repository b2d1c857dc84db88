#!/usr/bin/env bash
# The include arrows between the folders of src/: each may include itself and what the table names, nothing else.
# A folder that is not in the table is an error, so that a new one states its place. research/ may include all of src/
# but its main.cc; src/ includes nothing of research/.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

declare -A may
down='base mig model sched'
may[base]=''
may[mig]='base'
may[model]='base mig'
may[sched]='base mig model'
may[policy]=$down
may[sim]=$down
may[report]=$down
may[bound]='base mig model'
may[eval]="$down policy sim bound"
may[learn]="$down policy sim"
may[live]=$down
may[serve]="$down policy sim report bound eval live"
may[slurm]="$down policy sim report bound eval live serve"
may[cli]="$down policy sim report bound eval learn live serve slurm"
may[main.cc]='cli'
may[demo_main.cc]='cli model'

failed=0
includes=0
complain() { printf '%s\n' "$*"; failed=1; }

while IFS=: read -r file line text; do
  includes=$((includes + 1))
  folder=${file#src/}
  folder=${folder%%/*}
  included=${text#*\"}
  included=${included%%\"*}
  target=${included%%/*}
  if [ -z "${may[$folder]+known}" ]; then
    complain "$file:$line: folder $folder has no row in tests/check_includes.sh"
  elif [[ $file == *_test.cc && -f "tests/$included" ]]; then
    :  # tests/support
  elif [ ! -f "src/$included" ]; then
    complain "$file:$line: \"$included\" is not a file below src/; write \"folder/name.h\", and <...> for libraries"
  elif [ "$target" != "$folder" ] && [[ " ${may[$folder]} " != *" $target "* ]]; then
    complain "$file:$line: $folder may not include $target ($folder may include: ${may[$folder]:-nothing else})"
  fi
done < <(grep -rnE --include='*.h' --include='*.cc' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' src | LC_ALL=C sort)

while IFS=: read -r file line text; do
  includes=$((includes + 1))
  included=${text#*\"}
  included=${included%%\"*}
  [ -f "src/$included" ] || [[ $included == research/* && -f $included ]] || [[ $file == *_test.cc && -f "tests/$included" ]] ||
    complain "$file:$line: \"$included\" is neither a file below src/ nor \"research/...\""
done < <(grep -rnE --include='*.h' --include='*.cc' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' research | LC_ALL=C sort)

[ "$includes" -gt 0 ] || complain "no include found below src/: the check does not see the tree"
[ "$failed" = 0 ] && echo "$includes includes follow the arrows"
exit "$failed"
