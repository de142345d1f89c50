#!/bin/sh
# Tests the Python package in a fresh virtual environment, as a user installs it: python.sh PROGRAMS
#
# Runs lint, types, the examples of the docstrings and the README, the tests, and the notebook. The command `warmset` in PROGRAMS must
# give the same numbers. Packages come from PyPI; without it, this fails.
set -eu
cd "$(dirname "$0")/../.."
WARMSET=$PWD/$1/warmset
export WARMSET
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "SKIPPED: python: no Python of 3.11 or newer is installed" >&2
    exit 0
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
PATH=$scratch/venv/bin:$PATH
VIRTUAL_ENV=$scratch/venv
export PATH VIRTUAL_ENV PIP_DISABLE_PIP_VERSION_CHECK=1
pip install --quiet './python[test]'

cd python
ruff check --quiet --config pyproject.toml . ../bench/python.py
ruff format --quiet --check --config pyproject.toml . ../bench/python.py
mypy .
cd ..
# From another directory, so that the installed package is tested and not the source.
(cd "$scratch" && python -m mypy.stubtest warmset)
timeout 600 pytest -c python/pyproject.toml --rootdir python -o cache_dir="$scratch/cache" python/tests
