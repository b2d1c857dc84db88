#!/usr/bin/env bash
# Tests the page in a browser: tests/web/run.sh BUILD [NAME]. Needs nodejs, npm and Debian's chromium, and a program with
# the page in it; exits 77 and says why where one of them is missing. What npm fetches lies in BUILD/web-tests.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=$(cd "${1:-build/release}" && pwd) || exit 1
skip() { echo "skipped: $*"; exit 77; }
node=$(command -v node || command -v nodejs) || skip "no nodejs: apt-get install nodejs npm"
command -v npm >/dev/null || skip "no npm: apt-get install npm"
command -v chromium >/dev/null || skip "no chromium: apt-get install chromium"
"${SMARTMIG_PROGRAM:-$build/smartmig}" view /nowhere 2>&1 | grep -q 'without the page' && skip "the program was built without the page (SMARTMIG_WEB)"
folder=$build/web-tests
mkdir -p "$folder" && cp tests/web/package.json tests/web/package-lock.json tests/web/.npmrc "$folder/" || exit 1
if ! cmp -s "$folder/package-lock.json" "$folder/installed"; then
  (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error) || skip "npm could not fetch what the tests need"
  cp "$folder/package-lock.json" "$folder/installed"
fi
rm -rf "$folder/types" && mkdir -p "$folder/types" && cp -r web/src web/plain web/tsconfig.json "$folder/types/" || exit 1
ln -s ../node_modules "$folder/types/node_modules"
"$node" "$folder/node_modules/typescript/bin/tsc" -p "$folder/types" || { echo "the page's types do not hold"; exit 1; }
rm -rf "$folder/units" && "$node" "$folder/node_modules/typescript/bin/tsc" -p "$folder/types" --noEmit false --outDir "$folder/units" --module commonjs \
  --moduleResolution node10 --esModuleInterop || { echo "the page's parts cannot be compiled for node"; exit 1; }
[ $# -gt 1 ] || "$node" tests/web/unit_test.cjs "$folder/units" || exit 1
NODE_PATH=$folder/node_modules exec "$node" tests/web/page_test.cjs "$build" "${@:2}"
