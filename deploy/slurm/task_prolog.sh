#!/bin/sh
# Slurm's TaskProlog on nodes with smartmig agent: hands the job's slice to each of its tasks, as environment. Without a
# slice a task sees no GPU at all.
root=/var/lib/smartmig/agent # as smartmig agent --state says
partitions=mig               # separated by commas
case ",$partitions," in *",$SLURM_JOB_PARTITION,"*) ;; *) exit 0 ;; esac
file=$root/${SLURMD_NODENAME:-$(hostname -s)}/jobs/$SLURM_JOB_ID.env
if [ -r "$file" ]; then
  fence=
  while IFS= read -r line; do
    echo "export $line"
    [ "$line" != SMARTMIG_FENCE=1 ] || fence=1
  done <"$file"
  # The agent closes the job's cgroup to other slices' devices; until it has, nothing of the job runs.
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    if [ -z "$fence" ] || [ -e "${file%.env}.fenced" ]; then fence= && break; fi
    sleep 0.25
  done
  [ -z "$fence" ] || echo "print smartmig: device files of this job are not closed: its agent did not answer in time"
else
  echo "export CUDA_VISIBLE_DEVICES=none"
  echo "print smartmig: this job has no slice"
fi
exit 0
