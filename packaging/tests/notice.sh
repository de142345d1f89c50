#!/bin/sh
# Tests `warmset notice` on a D-Bus session of its own: notice.sh WARMSET
set -eu
command=$(realpath "${1:-target/release/warmset}")
cd "$(dirname "$0")"
# Only the system's Python finds the modules of Debian's packages.
exec timeout 120 dbus-run-session -- /usr/bin/python3 notice.py "$command"
