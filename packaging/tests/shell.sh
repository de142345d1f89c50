#!/bin/sh
# The shell scripts of this repository pass shellcheck.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v shellcheck >/dev/null 2>&1; then
    echo "SKIPPED: shell lint: there is no shellcheck here" >&2
    exit 0
fi
# A script is a tracked file that opens with a shell's name.
scripts=$(git ls-files -co --exclude-standard 2>/dev/null | while read -r file; do
    [ -f "$file" ] && head -n 1 "$file" | grep -aqE '^#!.*/(env )?(ba|da)?sh' && echo "$file"
done || true)
[ -n "$scripts" ] || { echo "shell.sh: found no script to lint: is this a git checkout?" >&2; exit 1; }
# shellcheck disable=SC2086
shellcheck $scripts
# shellcheck disable=SC2086
echo "shell lint: $(echo $scripts | wc -w) scripts are clean"
