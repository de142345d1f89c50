#!/bin/sh
# Tests the Python package in a fresh virtual environment, as a user installs its wheel: python.sh PROGRAMS
#
# Makes the wheel for this machine in PROGRAMS/../wheels, looks at it, and installs it where no compiler is to be found. Runs
# lint, types, the examples of the docstrings and the README, the tests, and the notebooks. The command `warmset` in PROGRAMS must
# give the same numbers. Packages come from PyPI; without it, this fails.
set -eu
cd "$(dirname "$0")/../.."
case $1 in
/*) programs=$1 ;;
*) programs=$PWD/$1 ;;
esac
WARMSET=$programs/warmset
export WARMSET
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "SKIPPED: python: no Python of 3.11 or newer is installed" >&2
    exit 0
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wheels=${programs%/*}/wheels
packaging/wheels "${programs%/*}" "$(rustc -vV | sed -n 's/^host: //p')"
python3 packaging/tests/wheels.py "$wheels"/*.whl
wheel=$(find "$wheels" -name "*_$(uname -m).whl")
[ -n "$wheel" ] || {
    echo "python: no wheel for $(uname -m) in $wheels" >&2
    exit 1
}

export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv "$scratch/bare"
# There is nothing but Python and pip on this path: no compiler, no linker.
env PATH="$scratch/bare/bin" pip install --quiet --only-binary :all: "$wheel"
(cd "$scratch" && env PATH="$scratch/bare/bin" python -c '
import shutil, warmset
assert not [name for name in ("cc", "gcc", "ld", "cargo", "rustc") if shutil.which(name)]
trace = warmset.synth("zipf:pages=100", 1000)
assert warmset.simulate(trace, "lru", [10])["misses"][0] == warmset.curve(trace)["misses"][10]
')

python3 -m venv "$scratch/venv"
PATH=$scratch/venv/bin:$PATH
VIRTUAL_ENV=$scratch/venv
export PATH VIRTUAL_ENV
pip install --quiet "${wheel}[test]"

cd python
ruff check --quiet --config pyproject.toml . ../bench/python.py
ruff format --quiet --check --config pyproject.toml . ../bench/python.py
mypy .
cd ..
# From another directory, so that the installed package is tested and not the source.
(cd "$scratch" && python -m mypy.stubtest warmset)
timeout 600 pytest -c python/pyproject.toml --rootdir python -o cache_dir="$scratch/cache" python/tests
