#!/bin/sh
# Runs the wheel for aarch64 in TARGET/wheels under QEMU, by Debian 13's Python for that machine: wheel-emulated.sh TARGET
#
# pip unpacks the wheel into a directory of its own, with that of NumPy, which needs the C++ library. What it computes must be what
# a cache of ten pages misses.
set -eu
cd "$(dirname "$0")/../.."
case $1 in
/*) target=$1 ;;
*) target=$PWD/$1 ;;
esac
command -v qemu-aarch64 >/dev/null 2>&1 || {
    echo "SKIPPED: wheel-emulated: qemu-aarch64 is not installed (apt-get install qemu-user)" >&2
    exit 0
}
wheel=$(find "$target/wheels" -name '*_aarch64.whl')
[ -n "$wheel" ] || {
    echo "SKIPPED: wheel-emulated: there is no wheel for aarch64 in $target/wheels" >&2
    exit 0
}
root=$target/debian-python-arm64
packaging/debian-packages "$root" python3:arm64 libstdc++6:arm64 || {
    echo "SKIPPED: wheel-emulated: Debian 13's Python for arm64 is not to be had here" >&2
    exit 0
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
version=$(basename "$(readlink "$root/usr/bin/python3")" | tr -cd 0-9)
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check --target "$scratch/site" --only-binary :all: --python-version "$version" \
    --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 "$wheel"
PYTHONPATH=$scratch/site PYTHONDONTWRITEBYTECODE=1 qemu-aarch64 -L "$root" "$root/usr/bin/python3" -c '
import platform
import warmset

trace = warmset.synth("scan:pages=11,share=0", 1100)
assert warmset.simulate(trace, "lru", [10, 11])["misses"].tolist() == [1100, 11], "LRU misses all of a loop that is a page too long"
assert warmset.curve(trace)["misses"][10] == 1100
print(f"wheel-emulated: warmset {warmset.__version__} by Python {platform.python_version()} on {platform.machine()}")
'
