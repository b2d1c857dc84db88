#!/usr/bin/env bash
# Foreseeing that a job will not fit its slice: ours against a straight line and against waiting for the failure, CASES jobs
# (default 60) of each family of memory curves, synthetic and recorded; early restarts of LLM jobs by what they print and earlier runs; and MIGM's two schedulers beside others.
set -eu
smartmig reproduce memory --cases "${CASES:-60}"
smartmig reproduce restart --cases "${CASES:-60}"
smartmig compare --cost hardware -w paper:12x --days "${DAYS:-5}" --baseline none+edf --policies none+edf,migm-a,migm-b,planner
