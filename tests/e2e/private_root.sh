#!/usr/bin/env bash
# Runs a command as root of a machine of its own: tests/e2e/private_root.sh [--v2] [--systemd] COMMAND...
#   / is an overlay over this machine's that is thrown away at the end, the checkout is there to be read; processes,
#   mounts, cgroups and the host's name are its own. With --systemd, process 1 is systemd with nothing to start but
#   COMMAND, and systemctl and dpkg work as on any machine. With --v2 it has cgroup v2 alone, with those controllers that
#   v1 does not hold outside.
# Ends with the command's status; with 77 and a last line that says why where such a machine cannot be had.
set -u
checkout=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd) || exit 1
skip() { echo "skipped: $*"; exit 77; }

own_groups() {  # "MOUNT PATH" of each cgroup that this shell is in
  local type at options controllers path
  while read -r _ at type options _; do
    while IFS=: read -r _ controllers path; do
      case $type:$controllers in
        cgroup2: | cgroup:name=systemd) [[ $type = cgroup2 || ,$options, == *,name=systemd,* ]] || continue ;;
        cgroup:?*) [[ ,$options, == *,$controllers,* ]] || continue ;;
        *) continue ;;
      esac
      [ -d "$at$path" ] || path=/  # a container shows its own part as the root
      echo "$at ${path%/}"
    done </proc/self/cgroup
  done < <(grep -E '^[^ ]+ [^ ]+ cgroup2? ' /proc/self/mounts)
}

outside() {
  [ "$(id -u)" = 0 ] || skip "needs root"
  unshare --mount --pid --cgroup --ipc --uts --fork true 2>/dev/null || skip "unshare gives no namespaces here"
  local place said status groups=() at path group
  place=$(mktemp -d) && mkdir "$place/machine" && said=$place/said && : >"$said" || exit 1
  while read -r at path; do groups+=("$at$path/smartmig-test-$$"); done < <(own_groups)
  (
    for group in "${groups[@]}"; do
      mkdir "$group" || skip "no cgroup $group"
      for file in cpuset.cpus cpuset.mems; do [ ! -f "$group/$file" ] || cat "${group%/*}/$file" >"$group/$file"; done
      echo "$BASHPID" >"$group/cgroup.procs" || skip "no way into the cgroup $group"
    done
    exec env SMARTMIG_PLACE="$place" timeout --foreground -k 1 120 \
      unshare --mount --pid --cgroup --ipc --uts --fork --kill-child bash "${BASH_SOURCE[0]}" --inside "$@"
  )
  status=$?
  for group in "${groups[@]}"; do  # what is left in them has been killed with its process 1
    for _ in 1 2 3 4 5 6 7 8 9 10; do
      find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
      [ -d "$group" ] || break
      sleep 0.1
    done
  done
  [[ " $1 $2 " != *" --systemd "* ]] || [ "$status" = 77 ] || [ -s "$said" ] ||
    { rm -rf "$place"; skip "systemd does not boot here: it ended with status $status before its first unit"; }
  cat "$said"
  rm -rf "$place"
  exit "$status"
}

mount_groups() {  # the groups of this shell become the roots of the machine's, in the same places
  local at type options tree=
  if [ -n "$1" ]; then
    mount -t cgroup2 cgroup2 sys/fs/cgroup || skip "cgroup2 cannot be mounted"
    return
  fi
  while read -r _ at type options _; do
    if [ "$type" = cgroup ] && [ -z "$tree" ]; then mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup && tree=yes; fi
    mkdir -p ".$at"
    if [ "$type" = cgroup2 ]; then
      mount -t cgroup2 cgroup2 ".$at"
    else
      options=$(tr , '\n' <<<"$options" | grep -vE '^(r[wo]|relatime|no.*|xattr|clone_children|release_agent=.*)$' | paste -sd,)
      mount -t cgroup -o "${options/#name=/none,name=}" cgroup ".$at"
    fi || skip "cgroups cannot be mounted ($type $options)"
  done < <(grep -E '^[^ ]+ [^ ]+ cgroup2? ' /proc/self/mounts)
}

inside() {
  local new=$SMARTMIG_PLACE/machine systemd= v2= said=$SMARTMIG_PLACE/said
  unset SMARTMIG_PLACE
  [ "$1" != --v2 ] || { v2=yes; shift; }
  [ "$1" != --systemd ] || { systemd=/lib/systemd/systemd; shift; }
  [ -z "$systemd" ] || [ -x "$systemd" ] || skip "systemd is not installed"
  mount --make-rprivate / || skip "mounts cannot be made private"
  mount -t tmpfs tmpfs "$new" && mkdir "$new/upper" "$new/work" "$new/root" || skip "no tmpfs"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$new/upper,workdir=$new/work" "$new/root" || skip "no overlay over /"
  cd "$new/root" || exit 1
  mount -t proc proc proc && mount -t sysfs sysfs sys && mount --rbind /dev dev && mount -t tmpfs -o mode=755 tmpfs run &&
    mount -t tmpfs -o mode=1777 tmpfs tmp && mkdir -p ".$checkout" && mount --bind "$checkout" ".$checkout" &&
    mount -o remount,bind,ro ".$checkout" && mount_groups "$v2" || skip "no mounts"
  touch run/said && mount --bind "$said" run/said
  mkdir -p old && pivot_root . old && cd / && umount -l old || skip "no pivot_root"
  hostname smartmig-test
  if [ -z "$systemd" ]; then  # not exec: this shell is process 1 and takes in orphans
    "$@"
    exit
  fi
  # Of the units of the machine below none starts; what packages bring does, also where the machine is a container.
  rm -rf /etc/systemd/system/*.{wants,requires} /lib/systemd/system/*.wants /usr/sbin/policy-rc.d
  for target in sysinit basic multi-user; do
    printf '[Unit]\nDescription=empty\nDefaultDependencies=no\n' >"/etc/systemd/system/$target.target"
  done
  ln -sfn multi-user.target /etc/systemd/system/default.target
  mkdir -p /etc/systemd/system/multi-user.target.wants
  printf 'echo booted\n%s\nsystemctl exit $?\n' "$(printf '%q ' "$@")" >/run/command
  printf '[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/bash /run/command\nStandardOutput=append:/run/said\n%s\n' \
    'StandardError=inherit' >/etc/systemd/system/command.service
  ln -s ../command.service /etc/systemd/system/multi-user.target.wants/
  exec env -i container=smartmig-test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "$systemd" --system --log-target=null --show-status=no
}

[ "${1-}" != --inside ] || { shift; inside "$@"; }
outside "$@"
