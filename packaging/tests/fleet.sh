#!/bin/sh
# Tests the guard's metrics with a real Prometheus: fleet.sh PROGRAMS
#
# promtool runs the tests of the alert rules, and checks what a guard exports in both formats. Then Prometheus scrapes the guard
# every second, answers every query of the dashboard and the alerts, and keeps scraping while the guard ends. Then guards are started
# and killed while Prometheus and node_exporter scrape them (restarts.py).
# Without an installed Prometheus and node_exporter, Debian's packages are unpacked beside the build: installed, they would start
# services.
set -eu
cd "$(dirname "$0")/../.."
programs=$PWD/$1
tools=$(dirname "$programs")/tools/prometheus
for package in prometheus prometheus-node-exporter; do
    if ! command -v "$package" >/dev/null 2>&1 && [ ! -x "$tools/usr/bin/$package" ]; then
        mkdir -p "$tools"
        (cd "$tools" && apt-get download -qq "$package" && dpkg -x "$package"_*.deb . && rm "$package"_*.deb) || {
            echo "SKIPPED: fleet: $package cannot be downloaded (try apt-get update)" >&2
            exit 0
        }
    fi
done
PATH=$tools/usr/bin:$PATH
scratch=$(mktemp -d)
started=''
stop() {
    # shellcheck disable=SC2086
    [ -z "$started" ] || kill $started 2>/dev/null || true
    rm -rf "$scratch"
}
trap stop EXIT

promtool check rules packaging/prometheus/warmset.rules.yml
promtool test rules packaging/prometheus/warmset.rules.test.yml

# Two ports that are free.
ports=$(python3 -c '
import socket
taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(it.getsockname()[1] for it in taken))')
guard=127.0.0.1:${ports% *}
prometheus=127.0.0.1:${ports#* }

mkdir "$scratch/textfile"
cat >"$scratch/warmset.toml" <<CONFIG
mode = "observe"
[metrics]
listen = "$guard"
textfile = "$scratch/textfile"
[wake]
calmest = "1 s"
CONFIG
cat >"$scratch/prometheus.yml" <<CONFIG
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [$PWD/packaging/prometheus/warmset.rules.yml]
scrape_configs:
  - job_name: warmset
    static_configs: [{targets: ["$guard"]}]
CONFIG

"$programs/warmsetd" --config "$scratch/warmset.toml" --state "$scratch/state" --run "$scratch/run" >"$scratch/guard.log" 2>&1 &
warmsetd=$!
started=$warmsetd
prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/data" --web.listen-address="$prometheus" \
    --log.level=warn >"$scratch/prometheus.log" 2>&1 &
started="$warmsetd $!"

if ! timeout 90 python3 packaging/tests/fleet.py "$guard" "$prometheus" "$warmsetd" "$scratch/textfile/warmset.prom"; then
    tail -n 20 "$scratch/guard.log" "$scratch/prometheus.log" >&2
    exit 1
fi
wait "$warmsetd" || {
    echo "fleet.sh: the guard ended with status $?" >&2
    exit 1
}
if grep -E 'level=(warn|error)' "$scratch/prometheus.log"; then
    echo "fleet.sh: Prometheus logged the warnings above" >&2
    exit 1
fi

timeout 150 python3 packaging/tests/restarts.py "$programs" "$scratch" || {
    tail -n 20 "$scratch"/restarts*.log "$scratch/node.log" >&2
    exit 1
}
