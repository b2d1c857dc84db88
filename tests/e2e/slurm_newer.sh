#!/usr/bin/env bash
# tests/e2e/slurm_test.py against the Slurm of Debian testing: tests/e2e/slurm_newer.sh BUILD-DIRECTORY [--soak] [--keep]
#   The daemons and commands are those of a root that debootstrap makes in $SMARTMIG_TESTING_ROOT (kept and used again) or a
#   folder of its own (removed at the end), from the mirror that this machine's apt uses. smartmig links nothing of Slurm: the
#   program is the one of BUILD-DIRECTORY, with this machine's libraries beside it and the root's C library.
# Ends with the status of the test; with 77 and a last line that says why where such a root cannot be had.
set -u
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
checkout=${here%/tests/e2e}
suite=testing
skip() { echo "skipped: no newer Slurm: $*"; exit 77; }

mirror_of_apt() {  # the first Debian mirror of apt's sources
  apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 2>/dev/null |
    awk -v codename="$(. /etc/os-release && echo "$VERSION_CODENAME")" '$2 == codename { print $1; exit }'
}

make_root() {  # ROOT
  local root=$1 mirror
  command -v debootstrap >/dev/null || skip "debootstrap is not installed (group [slurm-soak] of packages.txt)"
  mirror=$(mirror_of_apt)
  [ -n "$mirror" ] || skip "apt has no Debian mirror here"
  echo "making a root of Debian $suite" >&2
  debootstrap --variant=minbase \
    --include=slurmctld,slurmd,slurm-client,slurm-wlm-basic-plugins,munge,slurmdbd,mariadb-server,python3 \
    "$suite" "$root" "$mirror" >"$root.log" 2>&1 || { tail -n 3 "$root.log"; skip "debootstrap of $suite failed"; }
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root.log"
  touch "$root/made-by-smartmig"
}

put_program() {  # ROOT BUILD: smartmig behind the root's loader, which looks for libraries beside it first
  local place=$1/opt/smartmig build=$2 library
  rm -rf "$place" && mkdir -p "$place/lib" "$place/build" || exit 1
  while read -r library; do  # but not what belongs to the C library, nor the runtime of the compiler: those are newer there
    case ${library##*/} in
      libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | libresolv.so.* | libstdc++.so.* | libgcc_s.so.*) ;;
      *) cp -L -- "$library" "$place/lib/" || exit 1 ;;
    esac
  done < <(ldd "$build/smartmig" "$build/nvml-sim/libnvidia-ml.so.1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u)
  cp -- "$build/smartmig" "$place/smartmig.bin" && cp -r -- "$build/nvml-sim" "$place/build/nvml-sim" || exit 1
  printf '#!/bin/sh\nexec /lib64/ld-linux-x86-64.so.2 --library-path /opt/smartmig/lib /opt/smartmig/smartmig.bin "$@"\n' >"$place/build/smartmig"
  chmod 755 "$place/build/smartmig"
}

inside() {  # ROOT ARGUMENTS...: in namespaces of its own; what is left running dies with its process 1
  local root=$1
  shift
  mount --make-rprivate / && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" &&
    mkdir -p "$root/smartmig" && mount --bind "$checkout" "$root/smartmig" && mount -o remount,bind,ro "$root/smartmig" ||
    skip "no mounts"
  [ -n "${KEEP-}" ] || mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  cp /etc/hosts "$root/etc/hosts"
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 ${SEED+SEED="$SEED"} ${JOBS+JOBS="$JOBS"} \
    python3 /smartmig/tests/e2e/slurm_test.py /opt/smartmig/build --accounts-if-possible "$@"
}

[ "${1-}" != --inside ] || { shift; inside "$@"; exit; }
[ $# -ge 1 ] && [ -x "$1/smartmig" ] || { sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 2; }
build=$(cd -P "$1" && pwd) || exit 1
shift
[ "$(id -u)" = 0 ] || skip "needs root"
unshare --mount --pid --fork true 2>/dev/null || skip "unshare gives no namespaces here"
own=
root=${SMARTMIG_TESTING_ROOT-}
if [ -z "$root" ]; then
  own=$(mktemp -d) && root=$own/root || exit 1
  trap 'rm -rf --one-file-system "$own"' EXIT
fi
[ -e "$root/made-by-smartmig" ] || make_root "$root"
put_program "$root" "$build"
echo "Slurm $(chroot "$root" slurmctld -V | awk '{ print $2 }') of Debian $suite" >&2
[[ " $* " != *" --keep "* ]] || export KEEP=yes
unshare --mount --pid --fork --kill-child bash "${BASH_SOURCE[0]}" --inside "$root" "$@"
