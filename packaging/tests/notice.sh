#!/bin/sh
# `warmset notice` on a session bus of its own. Argument: the command.
set -eu
command=$(realpath "${1:-target/release/warmset}")
cd "$(dirname "$0")"
# The system's own Python has the modules of the system's packages.
exec timeout 120 dbus-run-session -- /usr/bin/python3 notice.py "$command"
