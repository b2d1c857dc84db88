#!/bin/sh
# Slurm's Prolog on nodes with smartmig agent: is the job's slice there? It only looks; a job without one goes back into
# the queue, held, and the node stays up. Never fails: a failing Prolog would drain the node.
root=/var/lib/smartmig/agent # as smartmig agent --state says
partitions=mig               # separated by commas
case ",$partitions," in *",$SLURM_JOB_PARTITION,"*) ;; *) exit 0 ;; esac
book=$root/${SLURMD_NODENAME:-$(hostname -s)}/jobs
[ -e "$book/$SLURM_JOB_ID.env" ] && exit 0
echo "smartmig: job $SLURM_JOB_ID came without a slice and goes back to the queue" >&2
PATH=$PATH:/usr/bin:/usr/local/bin:/opt/slurm/bin
scontrol requeuehold "$SLURM_JOB_ID" >/dev/null 2>&1 || scancel "$SLURM_JOB_ID" >/dev/null 2>&1
sleep 1 # by then it may not be launched any more
exit 0
