#!/usr/bin/env bash
# The page in Debian's Chromium: frames with 10,000 queued jobs and 100 events/s, the first paint of 1,000 GPUs, memory over
# the events of an hour. bench/scenarios/page.sh [BUILD [PART]]; needs a build with -DSMARTMIG_WEB=ON, nodejs, npm and chromium.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=${1:-build/release}
[ -f "$build/web/dist/app.js" ] || { echo "skipped: $build has no page (SMARTMIG_WEB)"; exit 0; }
command -v chromium >/dev/null || { echo "skipped: no chromium"; exit 0; }
folder=$build/web-tests
if [ ! -d "$folder/node_modules" ]; then
  mkdir -p "$folder" && cp tests/web/package.json tests/web/package-lock.json tests/web/.npmrc "$folder/" || exit 1
  (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error) || { echo "skipped: npm could not fetch what it needs"; exit 0; }
fi
NODE_PATH=$(cd "$folder" && pwd)/node_modules exec "$(command -v node || command -v nodejs)" bench/page/bench.cjs "$build/web/dist" "${@:2}"
