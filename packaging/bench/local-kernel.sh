#!/bin/sh
# Local replacement on a real kernel: local-kernel.sh [FOLDER [REPS [JOBS]]]
#
# A build, and a mixed load, in machines of falling memory with a swap on disk: without anything, beside a guard that only watches, and under each
# pressure; REPS (1) times each, interleaved, JOBS (1) machines at once. In the tightest memory of each, where the kernel spends its time is
# counted too. A run that FOLDER has already is not made again. Writes the section "On a real kernel" of docs/results/local-replacement.md.
# Needs `make lab`; about an hour and a half of two idle processors for one of each.
set -eu
cd "$(dirname "$0")/../.."
folder=${1:-/tmp/warmset-local}
reps=${2:-1}
jobs=${3:-1}
lab=${CARGO_TARGET_DIR:-target}/release/warmset-lab
arms=none,local:watch,local:up-largest,local:up-next,local:up-last,local:down-largest,local:down-next,local:down-last
mkdir -p "$folder"

# run SCENARIO SIZES [--profile]
run() {
    scenario=$1 sizes=$2
    shift 2
    "$lab" run "$scenario" --arms "$arms" --swap disk --memory "$sizes" --reps "$reps" --jobs "$jobs" --out "$folder/lines.jsonl" \
        --keep "$folder/kept" --json "$@" >>"$folder/said"
}
run build 112M --profile
run mixed 144M --profile
run build 160M,128M
run mixed 192M
python3 packaging/bench/local-kernel.py "$folder" docs/results/local-replacement.md
