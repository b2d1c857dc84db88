#!/usr/bin/env bash
# What a real machine gets: stopping a job and changing a GPU cost something. `best`, which plans by finishes, against
# every plain policy on report days, each cell with its et_sum as a share of the best of the others:
#   1. loads, nobody can be stopped            DAYS report days a cell (30)
#   2. trainings restart in 20 s               the same
#   3. loads by slack by time of a change      CELL_DAYS report days a cell (5)
#   4. recorded traces, where TRACES names their directory: held-out windows of 14 days, fleets by peak load; mixed
#      fleets at a load of 0.85; TRACE_FILES chooses among them
#   5. one job and three jobs on many idle GPUs: how many are changed, who is late
#   6. guard(POLICY)                           CELL_DAYS report days a load: its share of the least of its members
#   7. gaps to the proven bound                as 1 with CELL_DAYS report days; minutes a cell
# PARTS=1,2,3,4,5,6,7 chooses. best:patient, which also waits where that saves energy, stands beside best, which does not.
# Searched partitions stand there twice: as shipped (searched where stopping is free) and, marked "own", searched here
# under hardware costs on training days of the same load or training windows of the same trace.
#
# The others take most of the time, and change seldom. EARLIER="FILE...": results of earlier runs with the same number of
# days; for a cell that one of them has, the others are read there, and none+edf and none+cedf are run beside `best` and
# must agree with it. ONLY_OTHERS=1 prints such lines, without `best`, for the cells that none of them has.
set -eu
others=none+edf,none+cedf,static+cedf,search+cedf,twice+cedf,meanfield+cedf,batch
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

searched() {  # NAME OPTION...: partitions searched under hardware costs, once by name; prints them as policies
  local name=$1
  shift
  for kind in search twice; do
    local file=$out/$kind-$name.json option=()
    [ "$kind" = search ] || option=(--twice)
    [ -f "$file" ] || smartmig search --cost hardware "$@" "${option[@]}" --restart none -j "${JOBS:-2}" --evaluations \
      "${EVALUATIONS:-1000}" -o "$file" >"$out/search.log" 2>&1 || { cat "$out/search.log" >&2; continue; }
    printf ',%s[%s]+cedf' "$kind" "$file"
  done
}

cell() {  # WORDS OWN OPTION...: a line with the et_sum of all, then the share of `best` of the best of the others
  local words=$1 own=$2 known policies  # OWN: a command that prints policies searched here; may be empty
  shift 2
  known=$([ -z "${EARLIER:-}" ] || awk -v "words=$words " 'index($0, words) == 1 { print; exit }' $EARLIER)
  if [ -n "$known" ]; then
    [ -z "${ONLY_OTHERS:-}" ] || return 0
    policies=none+edf,none+cedf,best,best:patient
  else
    policies=$others$($own)
    [ -n "${ONLY_OTHERS:-}" ] || policies+=,best,best:patient
  fi
  smartmig compare --cost hardware --json -j "${JOBS:-2}" --policies "$policies" "$@" >"$out/cell.json"
  python3 - "$words" "$out/cell.json" "$out" "$known" <<'PY'
import json, re, sys
words, file, out, known = sys.argv[1:]
result = json.load(open(file))
name = lambda policy: re.sub(r"\[" + re.escape(out) + r"[^]]*\]", "[own]", policy)
value = {name(r["policy"]): result["a_eff"] * r["energy_wmin"] + r["mean_tardiness_min"] for r in result["policies"]}
mine = {k: value.pop(k) for k in list(value) if k.startswith("best")}
if known:  # "... least other VALUE (POLICY) ... | POLICY VALUE  POLICY VALUE ..."
    texts = {k: v for k, v in re.findall(r"(\S+) (\d+\.\d+)", known.split(" | ")[1]) if not k.startswith("best")}
    for k in value:
        if abs(value[k] - float(texts[k])) > 0.51 * 10 ** -len(texts[k].split(".")[1]):
            sys.exit(f"{words}: {k} is {value[k]:.4f}, in an earlier run {texts[k]}; leave that run out of EARLIER")
    text, least = re.search(r"least other +(\S+) \((\S+)\)", known).groups()
    value = {k: max(float(v), float(text)) for k, v in texts.items()} | {least: float(text)} | value
least = min(value, key=value.get)
gap = next((r.get("et_gap") for r in result["policies"] if r["policy"] == "best"), None)
gap = f"  gap to the bound {100 * gap:.1f} %" if gap is not None else ""
best, share = (f"best {mine['best']:9.4f}  ", f"  share {mine['best'] / value[least]:.3f}") if mine else ("", "")
print(f"{words:44} {best}least other {value[least]:9.4f} ({least}){share}{gap}  | "
      + "  ".join(f"{k} {v:.4f}" for k, v in (value | mine).items() if k != "best"), flush=True)
PY
}

has() { case ",${PARTS:-1,2,3,4,5,6,7}," in *",$1,"*) ;; *) return 1 ;; esac; }
of_load() { searched "$1x" -w "paper:$1x" --days 8; }
of_trace() { EVALUATIONS=${TRACE_EVALUATIONS:-30} searched "${trace%%.*}-$fleet" "${options[@]}"; }

if has 1; then
  for load in 8 12 16 20; do
    cell "${load}x, nobody can be stopped" "of_load $load" -w "paper:${load}x" --restart none --days "${DAYS:-30}"
  done
fi
if has 2; then
  for load in 16 20; do
    cell "${load}x, restarts of 20 s" "of_load $load" -w "paper:${load}x" --restart 20 --days "${DAYS:-30}"
  done
fi
if has 3; then
  for slack in 1-1.5 1.5-3 2-4; do
    for change in table 0 4 30; do
      for load in ${LOADS:-4 8 12 16 20 24 28}; do
        options=(-w "paper:${load}x" --slack "$slack" --restart none --days "${CELL_DAYS:-5}")
        [ "$change" = table ] || options+=(--reshape-s "$change")
        cell "${load}x, slack $slack, a change takes $change s" "of_load $load" "${options[@]}"
      done
    done
  done
fi
if has 4 && [ -n "${TRACES:-}" ]; then
  for trace in ${TRACE_FILES:-philly_pollux.csv.gz chronus_philly_deadline_SLO.csv.gz \
    chronus_philly_deadline_MIX1.csv.gz elasticflow_philly_103959_deadline.csv}; do
    for row in $(smartmig workload "$TRACES/$trace" --window 14d --json | python3 -c '
import json, sys
for w in json.load(sys.stdin)["windows"]:
    if w["held_out"]:
        for load in (0.7, 0.85, 1.0, 1.3):
            print(w["window"], load, max(2, round(w["peak_gpus"] / load)), sep=",")'); do
      IFS=, read -r window load gpus <<<"$row"
      fleets=("${gpus}xa100-40gb")
      half=$((gpus / 2))
      [ "$load" != 0.85 ] || for other in h100-94gb h200-141gb; do
        fleets+=("$((gpus - half))xa100-40gb,${half}x$other")
      done
      for fleet in "${fleets[@]}"; do
        options=(-w "$TRACES/$trace" --window 14d --gpus "$fleet")
        words="${trace%%.*}, window $window, load $load, $fleet"
        if [ "$fleet" = "${gpus}xa100-40gb" ]; then
          cell "$words" of_trace "${options[@]}" --windows "$window" --restart none ${BOUND:+--bound}
        else  # the shipped partitions are of one GPU model
          others=none+edf,none+cedf,batch cell "$words" "" "${options[@]}" --windows "$window" --restart none ${BOUND:+--bound}
        fi
      done
    done
  done
fi
if has 5; then
  head=submit_time_s,duration_s,job_kind,deadline_s
  printf '%s\n' $head 0,1000,resnet-train-64,1300 >"$out/one.csv"
  printf '%s\n' $head 0,36000,resnet50-train,40000 5,36000,resnet50-train,40000 8,3600,resnet50-train,4000 \
    >"$out/three.csv"
  for gpus in 1 8 64 512 4096; do
    smartmig sim -w "$out/one.csv" --gpus "${gpus}xa100-40gb" --cost hardware --policy best --json | python3 -c '
import json, sys
run = json.load(sys.stdin)
print("one job,", sys.argv[1], "idle GPUs:", run["repartitions"], "changed", flush=True)' "$gpus"
  done
  for cost in hardware paper; do
    for gpus in 8 9 16 32 64; do
      smartmig sim -w "$out/three.csv" --gpus "${gpus}xa100-40gb" --cost "$cost" --policy best --json | python3 -c '
import json, sys
run = json.load(sys.stdin)
print("three jobs,", sys.argv[2], "GPUs,", sys.argv[1], "costs:", run["late_jobs"], "late", flush=True)' "$cost" "$gpus"
    done
  done
fi
if has 6; then
  guarded=none+edf,search+cedf,twice+cedf,meanfield+cedf,batch,planner
  for load in 8 12 16 20; do
    smartmig compare --cost hardware --json -w "paper:${load}x" --restart none --days "${CELL_DAYS:-5}" \
      --policies "$guarded,$(sed 's/[^,]*/guard(&)/g' <<<"$guarded")" >"$out/guard.json"
    python3 - "$load" "$out/guard.json" <<'PY'
import json, sys
result = json.load(open(sys.argv[2]))
value = {r["policy"]: result["a_eff"] * r["energy_wmin"] + r["mean_tardiness_min"] for r in result["policies"]}
for policy, mine in value.items():
    if policy.startswith("guard("):
        least = min(value[policy[6:-1]], value["batch"], value["planner"])
        print(f"{sys.argv[1]}x, {policy:24} {mine:.4f}  its least member {least:.4f}  share {mine / least:.3f}", flush=True)
PY
  done
fi
if has 7; then
  for load in 8 12 16 20; do
    cell "${load}x, beside the bound" "" -w "paper:${load}x" --restart none --days "${CELL_DAYS:-5}" --bound
  done
fi
