#!/bin/sh
# Local replacement on a real kernel: local-kernel.sh [DIRECTORY [REPS [JOBS]]]
#
# A build, and a mixed load, in machines of falling memory with a swap on disk: without anything, beside a program that only watches, and under
# pressure; REPS (1) times each, interleaved, JOBS (1) machines at once. In the tightest memory of each, where the kernel spends its time is
# counted too. A run that DIRECTORY has already is not made again. Writes the section "On a real kernel" of docs/results/local-replacement.md.
# Needs `make lab`; an hour of two idle CPUs for one of each.
set -eu
cd "$(dirname "$0")/.."
directory=${1:-/tmp/warmset-local}
reps=${2:-1}
jobs=${3:-1}
lab=${CARGO_TARGET_DIR:-target}/release/warmset-lab
arms=none,local:watch,local:up-largest,local:up-next,local:up-last,local:down-largest
mkdir -p "$directory"

# run ARMS SCENARIO SIZE [--profile]
run() {
    of=$1 scenario=$2 size=$3
    shift 3
    "$lab" run "$scenario" --arms "$of" --swap disk --memory "$size" --reps "$reps" --jobs "$jobs" --out "$directory/lines.jsonl" \
        --keep "$directory/kept" --json "$@" >>"$directory/said"
}
run "$arms,local:down-next,local:down-last" build 112M --profile
run "$arms,local:down-next,local:down-last" build 160M
run "$arms" mixed 144M --profile
run "$arms" mixed 256M
python3 bench/local-kernel.py "$directory" docs/results/local-replacement.md
