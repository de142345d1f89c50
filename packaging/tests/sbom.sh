#!/bin/sh
# Tests packaging/sbom: sbom.sh TARGET
#
# The document is written twice with equal bytes, fits the published schema of CycloneDX, and lists what cargo links and what the
# programs contain. A document that lacks a crate, a program or the right bytes is refused.
set -eu
cd "$(dirname "$0")/../.."
target=$PWD/$1
tools=$target/tools/cyclonedx
# The schema of CycloneDX comes from PyPI. After that, no network is needed.
schema="cyclonedx-python-lib[json-validation]==11.12.0"

python=$tools/bin/python3
if ! "$python" -c 'import cyclonedx, jsonschema' 2>/dev/null; then
    {
        python3 -m venv "$tools" && "$tools/bin/pip" --quiet --disable-pip-version-check install "$schema"
    } || {
        echo "SKIPPED: sbom: the schema of CycloneDX is not compared, because $schema cannot be installed" >&2
        python=python3
    }
fi
"$python" packaging/tests/sbom.py "$target"
