#!/bin/bash -l
#SBATCH --job-name="my job" --time=1-00:00:00 -c4 --mem=32G # x
#SBATCH --gres=gpu:1g.10gb:1 --signal=B:USR1@30 -p gpu
#SMARTMIG --deadline now+2h --estimate 20m@3g --array 0-15%4 --dependency afterok:3:4,afterany:5
echo
