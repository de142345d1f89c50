#!/bin/sh
# systemd accepts the units, and finds them as closed as was promised: unit.sh DIRECTORY-OF-PROGRAMS
set -eu
cd "$(dirname "$0")/../.."

if ! command -v systemd-analyze >/dev/null 2>&1; then
    echo "SKIPPED: unit: there is no systemd-analyze here" >&2
    exit 0
fi
case $1 in
/*) programs=$1 ;;
*) programs=$PWD/$1 ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# closed UNIT TENTHS: whether it is no more exposed than that.
closed() {
    # The programs are not installed, so the paths of those just built stand in for theirs.
    sed -e "s#/usr/sbin/warmsetd#$programs/warmsetd#; s#/usr/bin/warmset #$programs/warmset #" -e '/^Documentation=/d' \
        "packaging/systemd/$1" >"$scratch/$1"
    systemd-analyze verify "$scratch/$1" 2>"$scratch/said" || true
    if grep -F "${1%.service}" "$scratch/said"; then
        echo "unit.sh: systemd has objections" >&2
        exit 1
    fi
    systemd-analyze security --offline=true --threshold="$2" --no-pager "$scratch/$1" >"$scratch/score" || {
        cat "$scratch/score"
        echo "unit.sh: $1 is more exposed than $2 tenths" >&2
        exit 1
    }
    tail -n 1 "$scratch/score"
}

# earlyoom has 10, systemd-oomd 20. The guard writes sysctls, answers on loopback, ends processes and units, and may
# call capset, by which a hook gives up all capabilities; that counts two.
closed warmsetd.service 29
# It is root, for the name that root may have.
closed warmset-low-memory.service 15
