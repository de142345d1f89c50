#!/bin/sh
# Checks the shell scripts of this repository with shellcheck.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v shellcheck >/dev/null 2>&1; then
    echo "SKIPPED: shell lint: shellcheck is not installed" >&2
    exit 0
fi
# A script is a tracked file with a shell in its first line.
scripts=$(git ls-files -co --exclude-standard 2>/dev/null | while read -r file; do
    [ -f "$file" ] && head -n 1 "$file" | grep -aqE '^#!.*/(env )?(ba|da)?sh' && echo "$file"
done || true)
[ -n "$scripts" ] || { echo "shell.sh: no script found; is this a git checkout?" >&2; exit 1; }
# shellcheck disable=SC2086
shellcheck $scripts
# shellcheck disable=SC2086
echo "shell lint: $(echo $scripts | wc -w) scripts pass"
