#!/bin/sh
# How a sweep grows with its workers: sweep.sh PROGRAMS [REFERENCES]
#
# 24 tasks (eight policies, three traces by Zipf's law with REFERENCES, 5,000,000, each) by one and two processes of this program, and by one and
# two workers of a Dask cluster on this machine, the start of Python and the merging included. The results must be the same.
set -eu
cd "$(dirname "$0")/.."
warmset=$PWD/$1/warmset
references=${2:-5000000}
scratch=$(mktemp -d)
running=''
# shellcheck disable=SC2086,SC2317
end() {
    [ -z "$running" ] || kill -KILL $running 2>/dev/null || true
    rm -rf "$scratch"
}
trap end EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check './python[dask]'
PATH=$scratch/venv/bin:$PATH

for seed in 1 2 3; do
    "$warmset" synth zipf:pages=200000,alpha=0.9 -n "$references" --seed "$seed" -o "$scratch/$seed.u32" >/dev/null
done
cat >"$scratch/sweep.toml" <<'SWEEP'
traces = ["1.u32", "2.u32", "3.u32"]
policies = ["lru", "2q", "arc", "lirs", "s3fifo", "sieve", "clockpro", "opt"]
capacities = ["1%", "5%", "20%"]
SWEEP

# timed WHO HOW…: a line of the table.
timed() {
    who=$1
    shift
    rm -rf "$scratch/sweep"
    begin=$(date +%s%N)
    "$warmset" sweep all "$scratch/sweep.toml" "$@" >/dev/null
    seconds=$(echo "$(date +%s%N) $begin" | awk '{ printf "%.1f", ($1 - $2) / 1e9 }')
    echo "| $who | $seconds | $(sha256sum <"$scratch/sweep/result.parquet" | cut -c1-8) |"
}

echo '| run by | seconds | result |'
echo '|---|---:|---|'
timed 'one process, one thread' --jobs 1
timed 'one process, two threads' --jobs 2
for workers in 1 2; do
    dask scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file "$scratch/scheduler-$workers" >/dev/null 2>&1 &
    running=$!
    while [ ! -s "$scratch/scheduler-$workers" ]; do sleep 0.2; done
    address=$(sed -n 's|.*"address": "tcp://\([^"]*\)".*|\1|p' "$scratch/scheduler-$workers" | head -n 1)
    for _ in $(seq "$workers"); do
        dask worker "tcp://$address" --nthreads 1 --no-nanny --no-dashboard >/dev/null 2>&1 &
        running="$running $!"
    done
    sleep 5
    timed "Dask, $workers worker(s) of one thread" --on "dask://$address" --python "$scratch/venv/bin/python"
    # shellcheck disable=SC2086
    kill -KILL $running # a worker asked to end waits for the scheduler that has gone
    running=''
    sleep 1
done
