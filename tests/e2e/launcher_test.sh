#!/usr/bin/env bash
# What ./smartmig builds for which verb (the demo alone, the page in a browser, smartmig-research):
# tests/e2e/launcher_test.sh. The launcher runs in a checkout of its own with a PATH
# of its own, where cmake, npm and apt-get are stand-ins that write down how they were called.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
root=$scratch/checkout bin=$scratch/bin calls=$scratch/calls checks=0 failed=0
check() {  # WORDS COMMAND...
  local words=$1
  shift
  checks=$((checks + 1))
  "$@" || { failed=$((failed + 1)); echo "FAILED: $words"; sed 's/^/  /' "$scratch/out" "$calls"; }
}
said() { grep -qF -- "$1" "$scratch/out"; }
called() { grep -qE -- "$1" "$calls"; }
never() { ! called "$1"; }
exits() { [ "$status" = "$1" ]; }

put() {  # NAME: a stand-in; its lines come from stdin
  { echo '#!/bin/bash'; echo "echo \"\${0##*/} \$*\" >>'$calls'"; cat; } >"$bin/$1"
  chmod +x "$bin/$1"
}
node_and_npm() {
  put node </dev/null
  put npm <<<'echo "in $PWD" >>'"'$calls'"'; [ ! -e '"'$scratch/no-network'"' ] || { echo "npm error network"; exit 1; }; mkdir -p node_modules'
}
fresh() {  # a checkout that was never built, on a machine without nodejs
  rm -rf "$root" "$bin" "$scratch/no-network"
  mkdir -p "$root" "$bin" "$root"/{src,research,supervisor,preload,nvml-sim,data,cmake,web/plain,web/src}
  cp smartmig packages.txt CMakeLists.txt CMakePresets.json "$root/" && cp cmake/build.sh "$root/cmake/" || exit 1
  cp web/package.json web/package-lock.json web/.npmrc "$root/web/" && touch "$root/web/src/main.ts" "$root/web/plain/draw.js" || exit 1
  local tool
  for tool in bash env find readlink mkdir cp touch mv sed awk flock nice stty grep cat id rm mktemp chmod; do ln -s "$(command -v $tool)" "$bin/$tool"; done
  # A build leaves a program that says how it was called.
  put cmake <<<'case $1 in --preset) mkdir -p build/release && touch build/release/CMakeCache.txt ;; --build) name=smartmig; case $* in *smartmig-demo*) name=smartmig-demo ;; esac; printf "#!/bin/bash\necho program \$*\n" >build/release/$name; chmod +x build/release/$name; echo "[1/1] x.dir/x.cc.o" ;; esac'
  : >"$calls"
}
launch() {  # ARGUMENTS of smartmig
  : >"$calls"
  (cd "$scratch" && exec env -i HOME="$scratch" PATH="$bin" ${no_install:+SMARTMIG_NO_INSTALL=1} "$root/smartmig" "$@") >"$scratch/out" 2>&1 </dev/null
  status=$?
}

no_install=1
fresh
launch demo -o somewhere
check "a demo needs no npm" exits 0
check "a demo is built without the page" never SMARTMIG_WEB
check "it builds the demo alone" called 'cmake --build .*--target smartmig-demo$'
check "which runs" said 'program -o somewhere'
launch demo
check "the second demo builds nothing" never cmake
launch view run1
check "a page without nodejs fails" exits 2
check "and says how to get it" said 'apt-get install -y --no-install-recommends nodejs npm'
node_and_npm
launch view run1
check "a page is built when it is first asked for" called 'cmake --preset release -DSMARTMIG_WEB=ON'
check "with what the lock file names" called '^npm ci'
check "which lies in the build folder" called "in $root/build/release/web/modules"
check "with a line about it" said 'fetching what the page is built with'
check "and shown" said 'program view run1'
launch serve --emulate 2xa100-40gb --http
check "the second time nothing is built" never 'cmake|npm'
check "and served" said 'program serve --emulate 2xa100-40gb --http'
launch queue
check "a program with the page does for the rest" never 'cmake'
launch demo
check "also for the demo" said 'program demo'
launch tune --help
check "smartmig-research is built when it is first asked for" called 'cmake --build .*smartmig-research$'
check "and the program becomes it" said 'program tune --help'
launch lab tune --help
check "also as one of its family" said 'program lab tune --help'
launch train --config paper
check "also for training" said 'program train --config paper'
launch export --onnx best.policy
check "and for a network as ONNX" said 'program export --onnx best.policy'
check "which is all one program" never 'cmake'
launch reproduce a
check "the second time nothing is built" never 'cmake'
touch "$root/research/x.cc"
launch queue
check "a changed study is of no interest to the program" never 'cmake'
launch lab explain planner
check "but to smartmig-research" called 'cmake --build'
touch "$root/research/x.cc"
launch help lab tune
check "whose help it prints" called 'cmake --build .*smartmig-research$'
touch "$root/preload/x.c"
launch queue
check "a changed preload library is built" called 'cmake --build .*--target .*smartmig_preload'
launch queue
check "once" never cmake
touch "$root/web/src/main.ts"
launch view run1
check "a changed source builds the page anew" called 'cmake --build'
check "without fetching again" never '^npm'
touch "$root/web/plain/draw.js"
launch sim --report
check "reports carry what web/plain has" called 'cmake --build'

fresh
node_and_npm
touch "$scratch/no-network"
launch serve --http
check "without a network it fails" exits 2
check "in npm's words" said 'npm error network'
check "and its own" said 'npm could not fetch what the page in a browser is built with'

no_install=
fresh
[ "$(id -u)" != 0 ] && put sudo <<<'[ "$1" != -n ] || shift; exec "$@"'
put dpkg-query <<<'shift 3; for p; do case $p in nodejs | npm) [ ! -e '"'$bin/npm'"' ] || echo " $p=installed " ;; *) echo " $p=installed " ;; esac; done'
put apt-get <<<"case \" \$* \" in *' install '*) cp '$scratch/stand-in-node' '$bin/node'; cp '$scratch/stand-in-npm' '$bin/npm' ;; esac"
node_and_npm && mv "$bin/node" "$scratch/stand-in-node" && mv "$bin/npm" "$scratch/stand-in-npm"
launch view run1
check "what is missing is installed" called '^apt-get .*install -y --no-install-recommends nodejs npm$'
check "with a line about it" said 'installing nodejs npm'
check "and the page is built" called 'DSMARTMIG_WEB=ON'
check "and shown" said 'program view run1'

fresh
launch export --onnx=best.policy
check "asked for first, ONNX builds it" called 'cmake --build .*smartmig-research$'
fresh
launch export --journal
check "another export does not" never 'smartmig-research'
echo "launcher: $checks checks, $failed failed"
[ "$failed" = 0 ]
