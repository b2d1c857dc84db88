#!/usr/bin/env bash
# Soft slices of half the memory against seven whole ones, in the simulator: bench/scenarios/halves.py. About a minute.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/halves.py" "${1:-build/release/smartmig}"
