#!/bin/sh
# Local replacement on a real kernel: local-kernel.sh [FOLDER [SIZES [REPS]]]
#
# A build in machines of falling memory (SIZES, 160M,112M) with a swap on disk, without local replacement and under each of the three pressures
# up, REPS (1) times each, interleaved; a run that FOLDER has already is not made again. Writes the section "On a real kernel" of
# docs/results/local-replacement.md. Needs `make lab`.
set -eu
cd "$(dirname "$0")/../.."
folder=${1:-/tmp/warmset-local}
sizes=${2:-160M,112M}
reps=${3:-1}
lab=${CARGO_TARGET_DIR:-target}/release/warmset-lab
mkdir -p "$folder"
"$lab" run build --arms none,local:up-largest,local:up-next,local:up-last --memory "$sizes" --swap disk --reps "$reps" \
    --out "$folder/build.jsonl" --keep "$folder/kept" --json >"$folder/said"
python3 packaging/bench/local-kernel.py "$folder" docs/results/local-replacement.md
