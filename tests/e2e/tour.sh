#!/usr/bin/env bash
# The README's tour as a newcomer takes it, then every verb of the queue against the same daemon, on emulated GPUs:
#   tests/e2e/tour.sh BUILD-DIRECTORY [PAGE]      PAGE: where the tour stands, else README.md
# Fails with the command that did not do what it should. Leaves no process and no file behind.
set -u
[ -x "${1-}/smartmig" ] || { echo "usage: $0 BUILD-DIRECTORY [PAGE]" >&2; exit 2; }
build=$(cd "$1" && pwd)
root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
page=${2-$root/README.md}
work=$(mktemp -d "${TMPDIR:-/tmp}/smartmig-tour-XXXXXX") || exit 1
for name in $(compgen -e SMARTMIG_); do unset "$name"; done
export SMARTMIG_SOCKET=$work/socket SMARTMIG_STATE=$work/of_tour NO_COLOR=1
ln -s "$build/smartmig" "$work/smartmig"
cd "$work" || exit 1

daemon_pid() { tr -dc 0-9 <"$SMARTMIG_STATE/queue.lock" 2>/dev/null; }
end_daemon() {
  local pid
  pid=$(daemon_pid)
  [ -n "$pid" ] && kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 200); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.05; done
  kill -9 "$pid"
}
leave() {
  local status=$? fd child pid
  ./smartmig cancel --all >/dev/null 2>&1
  sleep 0.3
  end_daemon
  for fd in /proc/[0-9]*/fd/5; do  # supervisors outlive a daemon: none of ours may stay
    case $(readlink "$fd" 2>/dev/null) in "$work"/*)
      pid=${fd#/proc/} pid=${pid%%/*}
      for child in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do kill -9 -- "-$child" 2>/dev/null; done
      kill -9 "$pid" 2>/dev/null ;;
    esac
  done
  cd / && rm -rf "$work"
  exit "$status"
}
trap leave EXIT
trap 'exit 1' INT TERM

now_ms() { local t=${EPOCHREALTIME/[.,]/}; echo $((t / 1000)); }
checks=0
fail() { echo "FAILED: $*"; exit 1; }
# CODE PATTERN COMMAND...: the command ends with CODE and says PATTERN (grep -E, in either output); it is left in $said.
expect() {
  local code=$1 pattern=$2 status
  shift 2
  said=$(timeout 60 "$@" 2>&1 </dev/null)
  status=$?
  [ "$status" = "$code" ] || fail "'$*' ended with $status, not $code: $said"
  [[ -z $pattern ]] || grep -qE -- "$pattern" <<<"$said" || fail "'$*' does not say '$pattern': $said"
  checks=$((checks + 1))
}
json() { python3 -c 'import json, sys
value = json.load(sys.stdin)
assert eval(sys.argv[1]), (sys.argv[1], value)' "$1" || fail "$2"; checks=$((checks + 1)); }
# EXPRESSION COMMAND...: standard output is JSON for which it is true; standard error may hold words.
expect_json() { local test=$1; shift; timeout 60 "$@" </dev/null 2>"$work/words" >"$work/json" || fail "'$*' ended with $?: $(cat "$work/words")"
  json "$test" "'$*' --json: $(head -c 400 "$work/json")" <"$work/json"; }
until_true() { for _ in $(seq 400); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done; fail "not within 20 s: $*"; }

# ---- the tour, as it stands on the page
awk '/^```/ { if (inside && hit) { printf "%s", block; exit } inside = !inside; block = ""; hit = 0; next }
     inside { block = block $0 "\n"; if ($0 ~ /smartmig serve --emulate 1xa100-40gb &/) hit = 1 }' "$page" >tour
[ -s tour ] || fail "$page has no block with 'smartmig serve --emulate 1xa100-40gb &'"
began=$(now_ms)
line_number=0
while IFS= read -r line; do
  [ -n "$line" ] || continue
  line_number=$((line_number + 1))
  [[ $line != *'smartmig top'* ]] || until_true sh -c '[ "$(./smartmig queue --only running --ids | wc -l)" -ge 2 ]'
  step=$(now_ms)
  if [[ $line == *'serve --emulate'* ]]; then
    # shellcheck disable=SC2086
    eval "$line" >serve.log 2>&1
    status=$?
  else
    ( eval "$line" ) >"out.$line_number" 2>&1 </dev/null
    status=$?
  fi
  printf '%6.1f s  %s\n' "$(($(now_ms) - step))e-3" "$line"
  [ "$status" = 0 ] || fail "line $line_number of the tour ended with $status: $(cat "out.$line_number" serve.log)"
done <tour
took=$(($(now_ms) - began))
printf 'the tour of %s took %d.%d s\n' "${page##*/}" $((took / 1000)) $((took % 1000 / 100))
[ "$took" -lt 120000 ] || fail "the tour took longer than two minutes"
cat out.* >all
grep -qE 'job 1 .*queued' all || fail "the tour shows no accepted job"
grep -qE 'a100-40gb +[0-9]+ W \|' all || fail "the tour shows no GPUs"
grep -qE '[0-9.]+ k?J attributed' all || fail "the tour shows no joules"
grep -q 'epoch 2' all || fail "the tour shows no log"
grep -qE '\|[0-9]+ [^|]*\|[0-9]+ ' all || fail "the tour shows no GPU with two jobs"
expect 1 'no daemon runs at' ./smartmig stop
./smartmig serve --emulate 1xa100-40gb >serve.log 2>&1 &
until_true ./smartmig queue
expect 0 '' ./smartmig wait
expect_json 'len(value["jobs"]) >= 3 and all(j["state"] == "done" and j["energy"]["energy_j"] > 0 for j in value["jobs"])' \
  ./smartmig queue --all --json

expect 0 '^the daemon has ended$' ./smartmig stop
[ -z "$(jobs -rp)" ] || fail "smartmig stop did not wait for the end of the daemon"
export SMARTMIG_STATE=$work/state
./smartmig serve --emulate 8xa100-40gb >serve.log 2>&1 &
until_true ./smartmig queue

# ---- every verb; jobs that are due at once, so that no policy lets them wait
due=(--estimate 2s --deadline 10s)
curl_() { curl -sS --max-time 20 --unix-socket "$work/socket" "$@"; }
id_of() { ./smartmig submit --parsable "${due[@]}" "$@"; }

cat >job.sh <<'SCRIPT'
#!/bin/bash
#SBATCH --job-name=headed --time=00:01:00 --partition=gpu
#SMARTMIG --mem 4G --estimate 1s
echo "script $1 in $PWD on $CUDA_VISIBLE_DEVICES as $SLURM_JOB_ID"
SCRIPT
expect 0 'headed: queued' ./smartmig submit "${due[@]}" job.sh argument
grep -q 'partition' <<<"$said" || fail "no word about the ignored --partition: $said"
headed=$(grep -oE 'job [0-9]+' <<<"$said" | cut -d' ' -f2)
expect 0 'headed: done' ./smartmig wait "$headed"
expect 0 "^script argument in $work on MIG-.* as $headed" ./smartmig log "$headed"

said=$(printf '# a list\necho one\n\necho two\n' | ./smartmig submit "${due[@]}" --parsable -) || fail "a list: $said"
read -r -d '' first second <<<"$said"
expect 0 'done' ./smartmig wait "$first" "$second"
expect 0 '^two' ./smartmig log "$second"
expect 0 "^script argument" ./smartmig log headed
expect 1 "no job is called 'nobody'" ./smartmig log nobody
expect 0 "^$headed,headed,.*,done," ./smartmig queue --finished --csv
expect 0 "^id,name,user,state,kind,gpu,slice,.*,energy_j$" ./smartmig queue --csv
expect 0 "^ *$headed +headed" ./smartmig queue --today
expect 0 'total +[0-9]+' ./smartmig usage --today
expect 0 '^8 GPUs of the daemon' ./smartmig gpus
expect_json "len(value['gpus']) == 8" ./smartmig gpus --json
expect 0 'job [0-9]+ job.py: queued' ./smartmig submit "${due[@]}" -- python3 -u job.py

array=$(id_of --array 1-4%2 -- sh -c 'echo task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID')
[ "$(wc -l <<<"$array")" = 4 ] || fail "an array of 4 has the numbers $array"
# shellcheck disable=SC2086
expect 0 'done' ./smartmig wait $array
expect 0 "^task 4 of ${array%%$'\n'*}" ./smartmig log "$(tail -n 1 <<<"$array")"

before=$(id_of --name before -- sh -c 'sleep 0.5; exit 3')
after=$(id_of --dependency "afterok:$before" -- true)
other=$(id_of --dependency "afternotok:$before" -- true)
expect 1 'exit 3' ./smartmig wait "$before"
expect 1 'cancelled' ./smartmig wait "$after"
expect 0 'done' ./smartmig wait "$other"

expect 7 'out' ./smartmig run "${due[@]}" -- sh -c 'echo out; exit 7'
expect 137 '' ./smartmig run "${due[@]}" -- sh -c 'kill -9 $$'
expect 0 '^following$' ./smartmig run "${due[@]}" -- sh -c 'sleep 0.3; echo following'
expect 143 'time limit' ./smartmig run "${due[@]}" --time 1s -- sleep 30

long=$(id_of --name long --requeue -- sh -c 'echo begun; trap "echo told; exit 0" TERM; for i in 1 2 3 4 5 6 7 8 9; do sleep 2; done')
until_true sh -c "./smartmig queue --only running --ids | grep -qx $long"
expect 0 'long +root|long' ./smartmig queue
expect 0 'long' ./smartmig top --once
until_true sh -c "./smartmig log $long | grep -q begun"
expect 0 "job $long long: " ./smartmig requeue "$long"
until_true sh -c "./smartmig queue $long --json | grep -q '\"attempt\":2'"
until_true sh -c "./smartmig queue --only running --ids | grep -qx $long"
( sleep 1; ./smartmig cancel "$long" >cancelled 2>&1 ) &
expect 0 'begun' ./smartmig log -f "$long"
wait $!
expect 1 'cancelled' ./smartmig wait "$long"
expect 1 'has ended already' ./smartmig cancel "$long"
expect 0 'begun' ./smartmig log "$long" --attempt-no 1

expect 0 'GPU 3 is draining' ./smartmig drain 3
curl_ http://localhost/v1/gpus | json 'value["gpus"][3]["state"] == "drained"' "GPU 3 is not drained"
expect 0 'GPU 3 is back in service' ./smartmig resume 3
expect 1 '' ./smartmig drain 99
expect 0 'GPU 3 is draining' ./smartmig drain 3
expect 0 'GPU 3 is back in service' ./smartmig undrain 3
expect 2 'name a GPU' ./smartmig undrain
expect 0 'paused' ./smartmig pause
held=$(id_of -- true)
sleep 0.5
expect 0 "^ *$held .*queued" ./smartmig queue
expect 0 'the queue starts jobs again' ./smartmig resume
expect 0 'done' ./smartmig wait "$held"

# orders about jobs, through a kill of the daemon
due=(--estimate 2s)
kept=$(id_of --hold --name kept -- true)
later=$(id_of --begin 1h --name later -- true)
still=$(id_of --name still --deadline 10s -- sh -c 'for i in 1 2 3 4; do echo $i; sleep 0.3; done')
until_true sh -c "./smartmig log $still | grep -qx 1"
expect 0 'still: suspended' ./smartmig suspend "$still"
kill -9 "$(daemon_pid)"
./smartmig serve --emulate 8xa100-40gb >serve.log 2>&1 &
until_true ./smartmig queue
expect 0 "^ *$still .*suspended" ./smartmig queue
expect 0 'held by its owner' ./smartmig show "$kept"
expect 0 'begins at' ./smartmig show "$later"
before_wait=$(./smartmig log "$still" 2>/dev/null)
sleep 1
[ "$before_wait" = "$(./smartmig log "$still" 2>/dev/null)" ] || fail "a suspended job goes on"
expect 0 'still: running' ./smartmig continue "$still"
expect 0 'still: done' ./smartmig wait "$still"
expect 0 'is held by its owner' ./smartmig why "$kept"
expect 0 'kept: queued' ./smartmig release "$kept"
expect 0 'done' ./smartmig wait "$kept"
expect 0 'later: deadline [0-9:]+, .* \(was none\); begin .*\(was [0-9:]+ \(in 5[0-9] min\)\)' \
  ./smartmig update "$later" --begin now --deadline 5s
expect 0 'done' ./smartmig wait "$later"
expect 0 'licensed +1 ' ./smartmig group licensed --limit 1
expect 0 'done' ./smartmig wait "$(id_of --group licensed --deadline 5s -- true)"
failing=$(id_of --name failing --deadline 5s -- false)
expect 1 'failed' ./smartmig wait "$failing"
expect 0 'failing: queued' ./smartmig requeue --failed --name failing
expect 1 'failed' ./smartmig wait "$failing"
queued=$(id_of --hold --name many --array 1-3 -- true)
expect 0 'cancelled by its owner' ./smartmig cancel --name many --only held
expect 0 'total +[0-9]+' ./smartmig usage --by day
expect 0 '^user,jobs,done,energy_j' ./smartmig usage --csv
behind=$(id_of --hold -- true)
front=$(id_of --hold -- true)
expect 0 "job $front true: held" ./smartmig front "$front"
expect_json "value['jobs'][0]['priority'] >= 1" ./smartmig show "$front" --json
expect_json "value['jobs'][0]['state'] == 'cancelled' and value['refused'] == []" ./smartmig cancel "$front" --json
expect 0 'cancelled' ./smartmig cancel "$behind"
mkdir there && cat >slurm.sh <<'SCRIPT'
#!/bin/sh
#SBATCH --cpus-per-task=1 --array=2-6:2 --error=%A_%a.err --chdir=there --job-name=swept
echo "$SLURM_SUBMIT_DIR $SLURM_CPUS_PER_TASK $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX $SLURM_JOB_NAME"
echo "to $SLURM_ARRAY_TASK_ID" >&2
SCRIPT
swept=$(id_of --deadline 10s slurm.sh)
# shellcheck disable=SC2086
expect 0 'done' ./smartmig wait $swept
expect 0 "^$work 1 3 2 6 swept" ./smartmig log "${swept%%$'\n'*}"
[ "$(cat "there/${swept%%$'\n'*}_2.err")" = "to 2" ] || fail "--error: $(ls there)"
expect 0 'wrapped' ./smartmig run "${due[@]}" --deadline 10s --wrap 'echo wrap""ped'
printf '#!/bin/sh\n#SBATCH --nodes=2\ntrue\n' >two.sh
expect 2 'nodes=2 is not supported' ./smartmig submit "${due[@]}" two.sh
expect 2 'program nosuch.sh is not in' ./smartmig submit "${due[@]}" nosuch.sh
expect 2 'write 18M for 18 MiB or 18G for 18 GiB' ./smartmig submit "${due[@]}" --mem 18 -- true
expect 1 'no GPU of this machine has the profile .9g.90gb.; it has 1g.5gb' ./smartmig submit "${due[@]}" --profile 9g.90gb -- true
profiled=$(id_of --gres gpu:1g.5gb:1 -- true)
expect 0 'done' ./smartmig wait "$profiled"
expect_json "any(j['id'] == $profiled and j['slice'].startswith('1g.5gb@') for j in value['jobs'])" \
  ./smartmig queue --all --json
due=(--estimate 2s --deadline 10s)

kill -HUP "$(daemon_pid)"
until_true grep -q 'configuration reloaded' serve.log
expect 0 'configuration was reloaded' ./smartmig reload

waiting=$(id_of --name waits --min-slices 7 --dependency "afterany:$(id_of -- sleep 4)" -- true)
expect 0 '.' ./smartmig why "$waiting"
expect 0 '.' ./smartmig eta "$waiting"
expect 0 'J|kJ|kWh' ./smartmig whatif --add-gpus 1xa100-40gb
expect 0 '.' ./smartmig whatif "${due[@]}" -- sleep 60
expect 0 'done' ./smartmig wait "$waiting"

# --json of all
one=$(id_of -- sleep 5)
expect_json "value['code'] and value['sentence']" ./smartmig why "$one" --json
expect_json "'finish_at' in value" ./smartmig eta "$one" --json
expect_json "'now' in value and 'then' in value" ./smartmig whatif --add-gpus 1xa100-40gb --json
expect_json "value['ids'] and value['jobs'][0]['state']" ./smartmig submit "${due[@]}" --json -- true
expect_json "value['state'] == 'done'" ./smartmig run "${due[@]}" --json -- true
expect_json "len(value['jobs']) >= 1" ./smartmig queue --all --json
expect_json "len(value['gpus']) == 8" ./smartmig top --once --json
expect_json "value" ./smartmig wait "$one" --json
expect_json "value" ./smartmig log "$headed" --json
expect_json "value['gpus'][0]['state'] == 'drained'" ./smartmig drain 2 --json
expect_json "value['gpus'][0]['state'] == 'ok'" ./smartmig resume 2 --json
expect_json "value['paused']" ./smartmig pause --json
sleeper=$(id_of -- true)
./smartmig show 999999 --json 2>error.json && fail "show of no job ends well"
json "value['error']['code'] == 'not_found'" "an error under --json" <error.json
./smartmig show x --json 2>error.json
[ $? = 2 ] || fail "a wrong call under --json"
json "value['error']['code'] == 'invalid'" "a wrong call under --json" <error.json
expect_json "value['jobs'][0]['state'] == 'cancelled' and value['refused'] == []" ./smartmig cancel "$sleeper" --json
expect_json "value['jobs'][0]['state'] in ('queued', 'held')" ./smartmig requeue "$sleeper" --json
expect_json "not value['paused']" ./smartmig resume --json
expect 0 'done' ./smartmig wait "$sleeper"

# the interface itself
curl_ http://localhost/v1/openapi.json | json 'value["openapi"].startswith("3.1") and "/v1/jobs" in value["paths"]' "the OpenAPI document"
curl_ http://localhost/metrics >metrics
grep -qE '^smartmig_board_power_watts\{gpu="0",UUID="GPU-[^"]+"\} [0-9.]+$' metrics || fail "/metrics has no watts"
grep -qE '^smartmig_.*joules_total' metrics || fail "/metrics has no joules"
curl -sS -N --max-time 1 --unix-socket "$work/socket" 'http://localhost/v1/events?after=0' >events 2>/dev/null
grep -q '^event: started' events || fail "/v1/events shows no start: $(head -c 300 events)"
last=$(grep '^id: ' events | tail -n 1 | cut -d' ' -f2)
curl -sS -N --max-time 1 -H "Last-Event-ID: $((last - 1))" --unix-socket "$work/socket" http://localhost/v1/events >rest 2>/dev/null
[ "$(grep -m 1 '^id: ' rest)" = "id: $last" ] || fail "the stream does not go on after $((last - 1)): $(head -c 300 rest)"
curl_ http://localhost/healthz | json 'value["alive"]' healthz
curl_ http://localhost/readyz | json 'value["ready"]' readyz

# the record, and the simulator's reading of it
./smartmig export --journal >journal 2>words || fail "export --journal: $(cat words)"
grep -q '"smartmig_journal":1' journal || fail "the journal has no head: $(head -c 200 journal)"
./smartmig replay - --report replayed.html <journal >replayed 2>&1 || fail "replay of the daemon's journal: $(cat replayed)"
grep -q "</html>" replayed.html || fail "replay --report of the daemon's journal wrote no page"
grep -qE 'kWh|J|energy' replayed || fail "replay shows no energy: $(cat replayed)"

# backup, restore
expect 0 'saved to' ./smartmig backup copy.db
expect 1 '' ./smartmig backup copy.db
expect_json "value['path'].endswith('/second.db')" ./smartmig backup second.db --json
expect 1 'running|open|daemon|controlled by' ./smartmig restore copy.db --state "$work/state"
known=$(./smartmig queue --all --ids | sort -n | tail -n 1)
gone=$(id_of -- true)
expect 0 'done' ./smartmig wait "$gone"
end_daemon
expect 1 'socket|daemon|connect' ./smartmig queue
expect 0 'was restored' ./smartmig restore copy.db --state "$work/state"
./smartmig serve --emulate 8xa100-40gb >serve.log 2>&1 &
until_true ./smartmig queue
expect 0 '' ./smartmig queue "$known"
expect 0 'done' ./smartmig queue "$gone"  # its supervisor's record is newer than the copy
expect 0 'done' ./smartmig run "${due[@]}" -- true

# this program
for shell in bash zsh fish; do expect 0 'submit' ./smartmig completion "$shell"; done
bash -n <(./smartmig completion bash) || fail "completion bash is no bash"
expect 0 '^\.SH NAME' ./smartmig man
for verb in serve stop reload submit run queue log wait cancel requeue show hold release update front suspend continue group reserve usage why eta history whatif top drain undrain pause resume backup restore; do
  expect 0 'Example:' ./smartmig "$verb" --help
done
expect 2 'did you mean' ./smartmig submit --dedline 2h -- true
expect 2 '' ./smartmig submit

# a fleet of emulated GPUs has a queue of its own where no --state names one; jobs outlive smartmig stop
sleeping=$(id_of --name sleeping --deadline 10s -- sleep 30)
until_true sh -c "./smartmig queue --only running --ids | grep -qx $sleeping"
expect 0 '1 job continues' ./smartmig stop
./smartmig serve --emulate 8xa100-40gb >serve.log 2>&1 &
until_true ./smartmig queue
expect 0 "state +running" ./smartmig show "$sleeping"
expect 0 'cancelled' ./smartmig cancel "$sleeping"
expect 0 '' ./smartmig stop
someone=()
[ "$(id -u)" != 0 ] || someone=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 711 "$work" && mkdir -m 777 "$work/home"
if ! "${someone[@]}" env test -x "$PWD/smartmig"; then  # a checkout in root's home
  echo "tour: $checks checks passed; state by fleet was left out: user 65534 cannot reach $PWD"
  exit 0
fi
someone+=(env -u SMARTMIG_STATE "HOME=$work/home" "SMARTMIG_SOCKET=$work/home/socket")
for fleet in 8xa100-40gb 1xa100-40gb; do
  "${someone[@]}" ./smartmig serve --emulate "$fleet" >serve.log 2>&1 &
  until_true "${someone[@]}" ./smartmig queue
  expect 0 '^job 1 ' "${someone[@]}" ./smartmig submit "${due[@]}" -- true
  expect 0 'done' "${someone[@]}" ./smartmig wait 1
  expect 0 'ended' "${someone[@]}" ./smartmig stop
done
ls "$work/home/.local/state/smartmig/emulated" | paste -sd ' ' | grep -qx '1xa100-40gb 8xa100-40gb' || fail "no state by fleet"
echo "tour: $checks checks passed"
