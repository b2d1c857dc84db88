# Sourced by ./smartmig, ./test and bench/run, with $root set to the checkout: packages, the build lock, and a build with
# one progress line. All output goes to stderr. On a pipe, a build prints only its start and its end.

# In depend mode, ccache uses ninja's dependencies; otherwise each miss runs the preprocessor once more. Without these
# two sloppiness settings, ccache skips every source with a precompiled header.
export CCACHE_DEPEND=${CCACHE_DEPEND-1} CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS-pch_defines,time_macros}
# Checkouts share the cache: paths below the checkout are relative to the build folder.
export CCACHE_BASEDIR=${CCACHE_BASEDIR-$root} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR-1}

say() { printf 'smartmig: %s\n' "$*" >&2; }

# progress TEXT rewrites the current line of a terminal; progress without text clears it.
progress() {
  [ -t 2 ] || return 0
  local width
  width=$(stty size <&2 2>/dev/null) || width='24 80'
  width=${width#* }
  [ "$width" -gt 1 ] 2>/dev/null || width=80
  local text=${1-}
  printf '\r\033[K%s' "${text:0:width-1}" >&2
}

take_build_lock() {
  mkdir -p "$root/build" && exec 9>>"$root/build/.lock" || { say "cannot write to $root/build"; exit 1; }
  flock -n 9 && return
  say "waiting for another build in this checkout"
  flock 9
}
drop_build_lock() { exec 9>&-; }

packages_of() {  # GROUP...: the package names of these groups of packages.txt
  awk -v groups=" $* " '{ sub(/#.*/, "") }
    /^\[.*\]/ { gsub(/[][ \t]/, ""); on = index(groups, " " $0 " "); next }
    on && NF { print $1 }' "$root/packages.txt"
}

# apt-get with its output in $apt_log and its progress on the terminal. The status lines use the same pipe: sudo closes
# every other descriptor, so apt's own is opened behind sudo (apt closes that one for dpkg, so it is not stdout).
apt_command() {
  local line package percent
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive bash -c 'exec apt-get -q -o APT::Status-Fd=3 "$@" 3>&1' \
    apt-get -o DPkg::Lock::Timeout=600 "$@" </dev/null 2>&1 |
    while IFS= read -r line; do
      if [[ $line =~ ^(pm|dl)status:([^:]*):([0-9]+) ]]; then
        package=${BASH_REMATCH[2]} percent=${BASH_REMATCH[3]}
        [ "${BASH_REMATCH[1]}" = pm ] || package=download
        progress "[$percent%] $package"
      else
        printf '%s\n' "$line" >>"$apt_log"
      fi
    done
  local status=${PIPESTATUS[0]}
  progress
  return "$status"
}

ensure_packages() {  # GROUP...: installs what is missing, or says the one command that does and exits 2
  [ -z "${SMARTMIG_NO_INSTALL-}" ] && command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || return 0
  local wanted installed missing=() package as_root=() apt_log
  mapfile -t wanted < <(packages_of "$@")
  installed=$(dpkg-query -W -f ' ${Package}=${db:Status-Status} ' "${wanted[@]}" 2>/dev/null)
  for package in "${wanted[@]}"; do
    [[ $installed == *" $package=installed "* ]] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      say "these packages are missing and installing them needs root. Run this, then start again:"
      printf '  sudo apt-get install -y --no-install-recommends %s\n' "${missing[*]}" >&2
      say "or set SMARTMIG_NO_INSTALL=1 to build with what is there."
      exit 2
    fi
    as_root=(sudo -n)
  fi
  apt_log=$(mktemp) || exit 1
  say "installing ${missing[*]}"
  local install=(install -y --no-install-recommends "${missing[@]}")
  # An image without package lists, or with lists older than the mirror, needs an update first.
  compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || apt_command update
  if ! apt_command "${install[@]}" && ! { apt_command update && apt_command "${install[@]}"; }; then
    cat "$apt_log" >&2
    rm -f "$apt_log"
    say "apt-get could not install: ${missing[*]}"
    exit 1
  fi
  rm -f "$apt_log"
}

# want_page PRESET: the next build_preset includes the browser page. Uses any node and npm, and installs Debian's if they
# are missing. Fetches the npm packages now, so that a build without a network fails early and with an explanation.
cmake_options=()
want_page() {
  local modules=$root/build/$1/web/modules log
  if ! { command -v node || command -v nodejs; } >/dev/null || ! command -v npm >/dev/null; then ensure_packages page; fi
  if ! { command -v node || command -v nodejs; } >/dev/null || ! command -v npm >/dev/null; then
    say "the page in a browser is built with nodejs and npm, which are missing: sudo apt-get install -y --no-install-recommends nodejs npm"
    return 1
  fi
  if [ ! -e "$modules/stamp" ] || [ "$root/web/package-lock.json" -nt "$modules/stamp" ]; then
    if [ -t 2 ]; then progress "fetching what the page is built with"; else say "fetching what the page is built with"; fi
    mkdir -p "$modules" && cp "$root"/web/package.json "$root"/web/package-lock.json "$root"/web/.npmrc "$modules/" || return 1
    if ! log=$(cd "$modules" && npm ci --no-audit --no-fund --loglevel=error 2>&1 </dev/null); then
      progress
      printf '%s\n' "$log" >&2
      say "npm could not fetch what the page in a browser is built with (web/package-lock.json)"
      return 1
    fi
    touch "$modules/stamp"
    progress
  fi
  cmake_options=(-DSMARTMIG_WEB=ON)
}

follow_build() {  # LOG: keeps ninja's output and shows its "[12/45] ..." as one line
  local line name
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1"
    [[ $line == \[*/*\]* ]] || continue
    name=${line##*.dir/}
    progress "building ${line%%]*}] ${name##*] }"
  done
  progress
}

# build_preset PRESET TARGET...: configures and builds build/PRESET, at the priority build_nice if that is set. The stamp
# contains the checkout and the time before the build began, so a source that is edited during the build counts as newer.
build_preset() {
  local preset=$1 dir=$root/build/$1 log=$root/build/$1/build.log began=$SECONDS configured_for
  shift
  command -v cmake >/dev/null || { say "cmake is missing; packages.txt lists what a build needs"; return 1; }
  configured_for=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt" 2>/dev/null)
  [ -z "$configured_for" ] || [ "$configured_for" = "$root" ] || rm -rf -- "$dir"  # the checkout was moved or copied
  mkdir -p "$dir" && printf '%s\n' "$root" >"$dir/.stamp.new" || return 1
  if [ -t 2 ]; then progress "configuring ($preset)"; else say "building ($preset)"; fi
  if ! (cd "$root" && cmake --preset "$preset" "${cmake_options[@]}") >"$log" 2>&1; then
    rm -rf -- "$dir/CMakeCache.txt" "$dir/CMakeFiles"  # left by an interrupted or older configuration
    if ! (cd "$root" && cmake --preset "$preset" "${cmake_options[@]}") >"$log" 2>&1; then
      progress
      cat "$log" >&2
      say "the configuration of build/$preset failed"
      return 1
    fi
  fi
  (cd "$root" && NINJA_STATUS='[%f/%t] ' nice -n "${build_nice-0}" cmake --build "$dir" --target "$@") </dev/null 2>&1 | follow_build "$log"
  if [ "${PIPESTATUS[0]}" != 0 ]; then
    sed -n '/^\(FAILED\|ninja: error\|ninja: fatal\)/,$p' "$log" | grep -v '^\[[0-9]*/[0-9]*\] ' >&2
    say "the build failed; the whole output is in build/$preset/build.log"
    return 1
  fi
  mv -- "$dir/.stamp.new" "$dir/${stamp_name-.stamp}"
  say "built ($preset) in $((SECONDS - began)) s"
}
