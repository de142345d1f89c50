#!/bin/sh
# systemd accepts the unit, and finds it as closed as was promised: unit.sh DIRECTORY-OF-PROGRAMS
set -eu
cd "$(dirname "$0")/../.."
# Tenths; earlyoom has 10, systemd-oomd 20. This one writes sysctls, answers on loopback, ends processes and units, and may
# call capset, by which a hook gives up all capabilities; that counts two.
worst=29

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

# The programs are not installed, so the paths of those just built stand in for theirs.
sed -e "s#/usr/sbin/warmsetd#$programs/warmsetd#; s#/usr/bin/warmset #$programs/warmset #" -e '/^Documentation=/d' \
    packaging/systemd/warmsetd.service >"$scratch/warmsetd.service"
systemd-analyze verify "$scratch/warmsetd.service" 2>"$scratch/said" || true
if grep -F warmsetd "$scratch/said"; then
    echo "unit.sh: systemd has objections" >&2
    exit 1
fi
systemd-analyze security --offline=true --threshold="$worst" --no-pager "$scratch/warmsetd.service" >"$scratch/score" || {
    cat "$scratch/score"
    echo "unit.sh: more exposed than $worst tenths" >&2
    exit 1
}
tail -n 1 "$scratch/score"
