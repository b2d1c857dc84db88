#!/bin/sh
#SMARTMIG --deadline 2026-11-15T16:00+01:00 --mem auto --requeue --export "A,B=c"
