#!/bin/sh
# Sees the alerts fire on what a guard exports in a machine that is short of memory: alerts.sh PROGRAMS
#
# A machine of the VM lab has a calm, a storm of file reads, a leak, a runaway that the guard kills, and a cgroup at its own limit. A
# client in it reads the guard's metrics each 5 s. promtool then evaluates the rules on these values: which alert fires, and when.
#
# It takes 15 minutes, so it is not a part of `make test`. packaging/tests/fleet.sh downloads Prometheus.
set -eu
cd "$(dirname "$0")/../.."
programs=$PWD/$1
PATH=$(dirname "$programs")/tools/prometheus/usr/bin:$PATH
command -v promtool >/dev/null 2>&1 || {
    echo "SKIPPED: alerts: promtool is missing (make fleet downloads it)" >&2
    exit 0
}
[ -e /dev/kvm ] || {
    echo "SKIPPED: alerts: without /dev/kvm, a machine is too slow to be short of memory" >&2
    exit 0
}
kept=$(dirname "$programs")/alerts
mkdir -p "$kept"
"$programs/warmset-lab" sh --with "$programs/warmsetd" --memory-mib 256 --seconds 1500 "$(cat packaging/tests/alerts.guest)" >"$kept/machine.txt" 2>&1 || {
    tail -n 30 "$kept/machine.txt" >&2
    echo "alerts.sh: the machine failed" >&2
    exit 1
}
python3 packaging/tests/alerts.py "$kept/machine.txt" "$kept"
