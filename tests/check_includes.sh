#!/usr/bin/env bash
# The include arrows between the folders of src/: each may include itself and what the table names, nothing else.
# A folder that is not in the table is an error, so that a new one states its place. The folders policy, queue and serve
# have a second table for their subfolders. research/ may include all of src/ but its main.cc; src/ includes nothing of
# research/.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

declare -A may
down='base mig model sched'
may[base]=''
may[mig]='base'
may[model]='base mig'
may[memory]='base'
may[sched]='base mig model'
may[policy]=$down
may[sim]=$down
may[report]=$down
may[bound]='base mig model'
may[eval]="$down policy sim bound"
may[live]=$down
queue="$down memory policy sim report bound eval live"
may[queue]=$queue
may[http]="$queue queue"
may[serve]="$queue queue http"
may[cluster]="$queue queue http"
may[slurm]="$queue queue http cluster"
may[kubernetes]="$queue queue http cluster"
may[cli]="$queue queue http serve cluster slurm kubernetes"
# Inside a folder with subfolders: what each subfolder may include of the others. "." is the folder itself.
declare -A within
within[policy/.]='placing layouts planner layers net'
within[policy/placing]=''
within[policy/layers]=''
within[policy/layouts]='placing'
within[policy/net]='placing'
within[policy/planner]='placing layouts'
within[queue/.]=''
within[queue/config]=''
within[queue/store]='.'
within[queue/jobs]='. config store'
within[queue/belief]='. config store jobs'
within[queue/answers]='. config store jobs belief'
within[queue/learning]='. config store jobs belief answers'
within[queue/policies]='. config store jobs belief'
within[serve/gpus]=''
within[serve/attempts]='gpus'
within[serve/daemon]='gpus attempts'
within[serve/api]='gpus attempts daemon'
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
  from=${file#src/} to=$included
  from=${from#*/} to=${to#*/}
  case $from in */*) from=${from%%/*} ;; *) from=. ;; esac
  case $to in */*) to=${to%%/*} ;; *) to=. ;; esac
  case $folder in policy | queue | serve) inside=1 ;; *) inside='' ;; esac
  if [ -z "${may[$folder]+known}" ]; then
    complain "$file:$line: folder $folder has no row in tests/check_includes.sh"
  elif [[ $file == *_test.cc && -f "tests/$included" ]]; then
    :  # tests/support
  elif [ ! -f "src/$included" ]; then
    complain "$file:$line: \"$included\" is not a file below src/; write \"folder/name.h\", and <...> for libraries"
  elif [ "$target" != "$folder" ] && [[ " ${may[$folder]} " != *" $target "* ]]; then
    complain "$file:$line: $folder may not include $target ($folder may include: ${may[$folder]:-nothing else})"
  elif [ "$target" = "$folder" ] && [ "$from" != "$to" ] && [[ $file != *_test.cc ]] && [ -n "$inside" ]; then
    if [ -z "${within[$folder/$from]+known}" ]; then
      complain "$file:$line: subfolder $folder/$from has no row in tests/check_includes.sh"
    elif [[ " ${within[$folder/$from]} " != *" $to "* ]]; then
      complain "$file:$line: $folder/$from may not include $folder/$to (it may include: ${within[$folder/$from]:-nothing of $folder})"
    fi
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
