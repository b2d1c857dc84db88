#!/usr/bin/env bash
# Golden tests: commands and their exact output.
#   tests/golden/run.sh [--update] BINARY [NAME...]     runs all of tests/golden/*.txt, or the named ones
# A file is: comment lines (#), then commands, each followed by what it prints (stdout and stderr together):
#   $ smartmig --version
#   smartmig 0.1.0
#   $ cat > jobs.csv <<END          a line "> ..." right after a command continues it
#   > id,submit
#   > END
#   $ smartmig nonsense
#   smartmig: ...
#   [exit 2]                        the exit code where it is not 0
#   [no newline at the end]         where the output does not end a line
# The commands of a file share one fresh directory; smartmig is BINARY. A comment "# needs: shared-data" skips the file
# unless the data folder is found (SMARTMIG_SHARED_DATA, else shared/data in or beside the checkout); it is linked into
# the directory as shared-data. A comment "# needs: test-data" links tests/data into it as test-data. --update writes what the commands print now into the files: read the diff.
set -u
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1

update=0
[ "${1-}" = --update ] && { update=1; shift; }
[ $# -ge 1 ] || { echo "usage: tests/golden/run.sh [--update] BINARY [NAME...]" >&2; exit 2; }
binary=$(readlink -f -- "$1") && [ -x "$binary" ] || { echo "golden: $1 is not a program" >&2; exit 2; }
shift

shared_data=
for folder in "${SMARTMIG_SHARED_DATA-}" "$here/../../shared/data" "$here/../../../shared/data"; do
  [ -n "$folder" ] && [ -d "$folder" ] && { shared_data=$(cd -P "$folder" && pwd); break; }
done

scratch=$(mktemp -d) || exit 1
trap 'rm -rf -- "$scratch"' EXIT
mkdir "$scratch/bin" && ln -s "$binary" "$scratch/bin/smartmig" || exit 1
# Nothing of the caller's environment reaches a test.
clean=(env -i "PATH=$scratch/bin:/usr/local/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 TZ=UTC TERM=dumb NO_COLOR=1 COLUMNS=100
  "TMPDIR=$scratch")

run_command() {  # COMMAND: appends the command's output to $actual in the form of the file
  local output=$scratch/output status
  "${clean[@]}" "HOME=$directory" bash -c "cd \"\$HOME\" && $1" </dev/null >"$output" 2>&1
  status=$?
  cat "$output" >>"$actual"
  [ ! -s "$output" ] || [ -z "$(tail -c 1 "$output" | tr '\n' ' ' | tr -d ' ')" ] ||
    printf '\n[no newline at the end]\n' >>"$actual"
  [ "$status" = 0 ] || echo "[exit $status]" >>"$actual"
}

run_file() {  # FILE: writes what the file should be into $actual
  local line command= state=head
  : >"$actual"
  while IFS= read -r line || [ -n "$line" ]; do
    if [ "$state" = command ] && [[ $line == '> '* || $line == '>' ]]; then
      command+=$'\n'${line:2}
      printf '%s\n' "$line" >>"$actual"
      continue
    fi
    [ "$state" = command ] && { run_command "$command"; state=output; }
    if [[ $line == '$ '* ]]; then
      command=${line:2}
      state=command
      printf '%s\n' "$line" >>"$actual"
    elif [ "$state" = head ]; then
      printf '%s\n' "$line" >>"$actual"
    fi
  done <"$1"
  [ "$state" = command ] && run_command "$command"
  [ "$state" != head ] || { echo "golden: $1 holds no command" >&2; return 1; }
}

passed=0 failed=0 skipped=0
files=()
if [ $# -gt 0 ]; then
  for name in "$@"; do name=${name##*/}; files+=("$here/${name%.txt}.txt"); done
else
  files=("$here"/*.txt)
fi
for file in "${files[@]}"; do
  name=${file##*/}
  [ -f "$file" ] || { echo "golden: there is no $name" >&2; failed=$((failed + 1)); continue; }
  directory=$scratch/run actual=$scratch/actual
  rm -rf -- "$directory" && mkdir "$directory" || exit 1
  if grep -q '^# needs: shared-data$' "$file"; then
    [ -n "$shared_data" ] || { echo "skipped $name: no shared data"; skipped=$((skipped + 1)); continue; }
    ln -s "$shared_data" "$directory/shared-data"
  fi
  if grep -q '^# needs: test-data$' "$file"; then ln -s "$here/../data" "$directory/test-data"; fi
  if run_file "$file" && cmp -s "$actual" "$file"; then
    passed=$((passed + 1))
  elif [ "$update" = 1 ] && [ -s "$actual" ]; then
    cat "$actual" >"$file"
    echo "updated $name"
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED $name"
    diff -u --label "expected $name" --label "actual" "$file" "$actual"
  fi
done
echo "golden: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
