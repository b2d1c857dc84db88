#!/bin/sh
# Slurm's TaskProlog on nodes with smartmig agent: hands the job's slice to each of its tasks, as environment. Without a
# slice a task sees no GPU at all.
root=/var/lib/smartmig/agent # as smartmig agent --state says
partitions=mig               # separated by commas
case ",$partitions," in *",$SLURM_JOB_PARTITION,"*) ;; *) exit 0 ;; esac
file=$root/${SLURMD_NODENAME:-$(hostname -s)}/jobs/$SLURM_JOB_ID.env
if [ -r "$file" ]; then
  while IFS= read -r line; do echo "export $line"; done <"$file"
else
  echo "export CUDA_VISIBLE_DEVICES=none"
  echo "print smartmig: this job has no slice"
fi
exit 0
