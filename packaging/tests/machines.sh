#!/bin/sh
# Tests that boot virtual machines: machines.sh SUITE...
#
# They use the programs that were built, and keep kernels and disks in the lab's own folder.
set -eu
cd "$(dirname "$0")/../.."

[ "$(uname -m)" = x86_64 ] || {
    echo "SKIPPED: machines: the lab's machines are x86-64, and so must their host be" >&2
    exit 0
}
for suite in "$@"; do
    # cargo would build the programs anew without their static linking: the tests are run as programs.
    test=$(cargo test --release --locked -p warmset-vmlab --test "$suite" --no-run --message-format=short 2>&1 |
        sed -n 's/.*Executable .*(\(.*\)).*/\1/p')
    cargo rustc --release --locked --quiet -p warmset-vmlab --bin warmset-guest -- -C target-feature=+crt-static -C panic=abort
    cargo rustc --release --locked --quiet -p warmset-local-replacement --bin warmset-local -- -C target-feature=+crt-static -C panic=abort
    case $test in
    /*) ;;
    *) test=$PWD/$test ;;
    esac
    [ -f "$test" ] || {
        echo "machines.sh: $suite was not built" >&2
        exit 1
    }
    (cd crates/vmlab && "$test" --ignored --nocapture --test-threads 1)
done
