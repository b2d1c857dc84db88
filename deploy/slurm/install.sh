#!/bin/bash
# Puts smartmig into a Slurm installation: hooks, submit script, units, lines of slurm.conf and gres.conf, services.
# Says what it changes, one line each; run again, it changes nothing. What a site has set otherwise is never replaced:
# it is named, with what to add. Each file that it changes is kept beside as FILE.before-smartmig.
#   install.sh controller|node|login|all --gpus 4xa100-40gb --nodes 'node[1-8]' [options]
#   --gpus SPEC        of each node, as smartmig slurm config takes it
#   --nodes NAMES      as NodeName= in slurm.conf has them
#   --partitions LIST  that smartmig fills (mig)
#   --slurm-dir DIR    where slurm.conf lies (/etc/slurm)
#   --state DIR        of the agents (/var/lib/smartmig/agent)
#   --units-dir DIR    of systemd's units (/etc/systemd/system)
#   --no-start         no service is started
#   --root DIR         everything below this folder, and no service is started: for images and tests
#   --user USER        the controller's (Slurm's own)
#   --program FILE     smartmig
#   --srun-filter      also CliFilterPlugins=lua, for srun --gres=mig:PROFILE: cli_filter.lua must then be beside slurm.conf on
#                      every machine where users submit, or sbatch fails there (install.sh login)
#   --dry-run          says what would be done, and does nothing
# Exit code: 0 all is there; 3 something is left to you; 2 the call was wrong; 1 it failed.
set -u
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
role= gpus= nodes= partitions=mig slurm_dir=/etc/slurm state=/var/lib/smartmig/agent units_dir=/etc/systemd/system
root= user=slurm program=smartmig srun_filter=0 dry=0 start=1 left=0 done_something=0

wrong() { echo "install.sh: $*" >&2; exit 2; }
fail() { echo "install.sh: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    controller | node | login | all) role=$1 ;;
    --dry-run) dry=1 ;;
    --no-start) start=0 ;;
    --srun-filter) srun_filter=1 ;;
    --gpus | --nodes | --partitions | --slurm-dir | --state | --units-dir | --root | --user | --program)
      [ $# -ge 2 ] || wrong "$1 needs a value"
      name=${1#--}
      printf -v "${name//-/_}" '%s' "$2"
      shift ;;
    -h | --help) sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) wrong "'$1' is not understood; see --help" ;;
  esac
  shift
done
[ -n "$role" ] || wrong "controller, node, login or all?"
[ -n "$gpus" ] || wrong "give the GPUs of a node: --gpus 4xa100-40gb"
[ -n "$nodes" ] || wrong "which nodes, as slurm.conf names them? --nodes 'node[1-8]'"
command -v "$program" >/dev/null || wrong "$program is not there: install the package, or --program FILE"
etc=$root$slurm_dir
conf=$etc/slurm.conf

say() { printf '%-8s%s\n' "$1" "$2"; }
leave() { say "yours" "$1"; left=1; }
config() { "$program" slurm config --gpus "$gpus" --nodes "$nodes" --partitions "$partitions" --user "$user" "$@"; }

keep() {  # FILE as it was before smartmig, once
  [ ! -e "$1" ] || [ -e "$1.before-smartmig" ] || cp -p -- "$1" "$1.before-smartmig" || fail "cannot keep $1"
}
put() {  # FILE MODE, its text on standard input: written whole, where it differs
  local file=$1 mode=$2 text what=new
  text=$(cat; echo .) || fail "cannot make $file"
  text=${text%.}
  if [ -e "$file" ]; then
    what=change
    [ "$(cat -- "$file"; echo .)" = "$text." ] && [ "$(stat -c %a -- "$file")" = "$mode" ] && { say same "$file"; return; }
  fi
  say "$what" "$file"
  [ "$dry" = 0 ] || return 0
  mkdir -p -- "$(dirname -- "$file")" || fail "cannot make $(dirname -- "$file")"
  [ "$what" = new ] || keep "$file"
  printf '%s' "$text" >"$file.new-smartmig" && chmod "$mode" -- "$file.new-smartmig" && mv -f -- "$file.new-smartmig" "$file" ||
    fail "cannot write $file"
  done_something=1
}
add_line() {  # FILE LINE: at its end, where no line is the same
  if [ -e "$1" ] && grep -qxF -- "$2" "$1"; then say same "$1: $2"; return; fi
  say add "$1: $2"
  [ "$dry" = 0 ] || return 0
  keep "$1"
  { [ ! -s "$1" ] || [ -z "$(tail -c 1 -- "$1")" ] || echo; printf '%s\n' "$2"; } >>"$1" || fail "cannot write $1"
  done_something=1
}

# The value that slurm.conf itself (not our part) gives a key, in any case; empty: none.
value_of() {
  grep -iE "^[[:space:]]*$1[[:space:]]*=" -- "$conf" 2>/dev/null | tail -n 1 | sed 's/^[^=]*=[[:space:]]*//; s/[[:space:]]*\(#.*\)\{0,1\}$//'
}
has_word() { case ",$(printf %s "$1" | tr 'A-Z' 'a-z')," in *",$(printf %s "$2" | tr 'A-Z' 'a-z'),"*) true ;; *) false ;; esac; }

slurm_conf() {
  [ -e "$conf" ] || fail "$conf is not there: is Slurm installed? --slurm-dir DIR"
  local line key value site part=
  while IFS= read -r line; do
    case $line in '#'* | '' | NodeName=* | PartitionName=*) continue ;; esac
    key=${line%%=*} value=${line#*=}
    case $key in Prolog | TaskProlog | Epilog) value=$slurm_dir/smartmig/${value##*/} ;; esac
    site=$(value_of "$key")
    if [ -z "$site" ]; then
      part+="$key=$value"$'\n'
    elif has_word "$site" "$value"; then
      say same "$conf: $key=$site"
    else
      case $key in
        Prolog | TaskProlog | Epilog) leave "$conf: $key=$site is your own script: call $value from it" ;;
        *) leave "$conf: make it $key=$site,$value" ;;
      esac
    fi
  done < <(config; [ "$srun_filter" = 0 ] || echo CliFilterPlugins=lua)
  { echo "# Written by deploy/slurm/install.sh: what smartmig needs beside the nodes' Gres. See docs/slurm.md."
    printf %s "$part"; } | put "$etc/smartmig.conf" 644
  add_line "$conf" "Include $slurm_dir/smartmig.conf"
  local gres
  gres=$(config | sed -n 's/^NodeName=.* Gres=\(mig:[0-9]*\).*/\1/p')
  local node_line
  node_line=$(awk -v begin="NodeName=$nodes " 'index(tolower($0), tolower(begin)) == 1 { print; exit }' "$conf")
  if [ -z "$node_line" ]; then
    leave "$conf: it has no line NodeName=$nodes: add Gres=$gres to the lines of these nodes"
  elif printf '%s' "$node_line" | grep -qiE "Gres=([^ ]*,)?$gres([ ,]|\$)"; then
    say same "$conf: NodeName=$nodes has Gres=$gres"
  elif printf '%s' "$node_line" | grep -qi 'Gres='; then
    leave "$conf: NodeName=$nodes has another Gres: add $gres to it"
  else
    say change "$conf: NodeName=$nodes gets Gres=$gres"
    if [ "$dry" = 0 ]; then
      keep "$conf"
      awk -v begin="NodeName=$nodes " -v gres="Gres=$gres" \
        '!done && index(tolower($0), tolower(begin)) == 1 { sub(/[[:space:]]*$/, ""); print $0 " " gres; done = 1; next } { print }' \
        "$conf" >"$conf.new-smartmig" && cat -- "$conf.new-smartmig" >"$conf" && rm -f -- "$conf.new-smartmig" || fail "cannot write $conf"
      done_something=1
    fi
  fi
  local partition
  for partition in ${partitions//,/ }; do
    if grep -qiE "^[[:space:]]*PartitionName=$partition([[:space:]]|\$)" "$conf"; then say same "$conf: PartitionName=$partition"
    else leave "$conf: it has no partition $partition: add PartitionName=$partition Nodes=$nodes"; fi
  done
  local line_of_gres
  line_of_gres=$(config --part gres)
  if [ -e "$etc/gres.conf" ] && grep -iE '^[^#]*Name=mig([[:space:]]|$)' "$etc/gres.conf" | grep -qvxF -- "$line_of_gres"; then
    leave "$etc/gres.conf: it has other lines with Name=mig; wanted: $line_of_gres"
  else
    add_line "$etc/gres.conf" "$line_of_gres"
  fi
}

submit_hook() {
  local hook=$etc/job_submit.lua
  if [ -e "$hook" ] && ! grep -q 'smartmig_units.lua' "$hook"; then
    leave "$hook is your own: call the functions of $here/job_submit.lua from it"
  else
    put "$hook" 644 <"$here/job_submit.lua"
  fi
  config --part units | put "$etc/smartmig_units.lua" 644
}

submit_filter() {  # in srun itself, wherever users submit
  local filter=$etc/cli_filter.lua
  if [ -e "$filter" ] && ! grep -q 'smartmig:profile=' "$filter"; then
    leave "$filter is your own: call moved() of $here/cli_filter.lua from it"
  else
    put "$filter" 644 <"$here/cli_filter.lua"
  fi
}

node_hooks() {
  local script
  for script in prolog task_prolog epilog; do
    sed -e "s|^root=/var/lib/smartmig/agent|root=$state|" -e "s|^partitions=mig |partitions=$partitions |" \
      "$here/$script.sh" | put "$etc/smartmig/$script.sh" 755
  done
}

unit() {  # NAME: its text, with this call's program, user, partitions and state
  local binary=/usr/bin/smartmig own=
  [ "$program" = smartmig ] || binary=$(command -v "$program")
  [ "$partitions" = mig ] || own+=" --partitions $partitions"
  if [ "$1" = smartmig-agent ]; then
    [ "$state" = /var/lib/smartmig/agent ] || own+=" --state $state"
    sed -e "s|^ExecStart=.*|ExecStart=$binary agent --allow $user$own|" \
      -e "$([ "$state" = /var/lib/smartmig/agent ] || echo '/^StateDirectory=/d')" "$here/$1.service"
  else
    sed -e "s|^ExecStart=.*|ExecStart=$binary slurm serve$own|" -e "s|^User=.*|User=$user|" "$here/$1.service"
  fi
}

service() {  # NAME: its unit; started where systemd runs and this is no image
  unit "$1" | put "$root$units_dir/$1.service" 644
  [ "$start" = 1 ] || { say note "$1 is not started: --no-start"; return; }
  [ -z "$root" ] && [ -d /run/systemd/system ] || { say note "$1: systemd does not run here: start it yourself"; return; }
  if systemctl is-active --quiet "$1"; then say same "$1 runs"; return; fi
  say start "$1"
  [ "$dry" = 1 ] || { systemctl daemon-reload && systemctl enable --now "$1"; } || fail "$1 does not start: journalctl -u $1"
}

if [ "$role" = login ] || [ "$srun_filter" = 1 ]; then submit_filter; fi
if [ "$role" = controller ] || [ "$role" = all ]; then
  slurm_conf
  submit_hook
  service smartmig-slurm
fi
if [ "$role" = node ] || [ "$role" = all ]; then
  node_hooks
  service smartmig-agent
fi
[ "$dry" = 0 ] || echo "Nothing was done: --dry-run."
[ "$done_something" = 0 ] || echo "Now: restart slurmctld and the slurmd of these nodes, then smartmig slurm check."
[ "$left" = 0 ] || { echo "Lines with 'yours' are left to you."; exit 3; }
exit 0
