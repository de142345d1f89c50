#!/bin/sh
# Runs tests that boot virtual machines: machines.sh SUITE[:NAME]...
#
# They use the release programs, and keep kernels and disks in the VM lab's cache directory.
set -eu
cd "$(dirname "$0")/../.."

[ "$(uname -m)" = x86_64 ] || {
    echo "SKIPPED: machines: the VM lab needs an x86-64 host" >&2
    exit 0
}
for which in "$@"; do
    suite=${which%%:*}
    name=${which#"$suite"}
    # `cargo test` would build the programs again without static linking, so the test programs are run directly.
    test=$(cargo test --release --locked -p warmset-vmlab --test "$suite" --no-run --message-format=short 2>&1 |
        sed -n 's/.*Executable .*(\(.*\)).*/\1/p')
    packaging/compile lab "${CARGO_TARGET_DIR:-target}"
    case $test in
    /*) ;;
    *) test=$PWD/$test ;;
    esac
    [ -f "$test" ] || {
        echo "machines.sh: $suite was not built" >&2
        exit 1
    }
    # shellcheck disable=SC2086
    (cd crates/vmlab && "$test" --ignored --nocapture --test-threads 1 ${name#:})
done
