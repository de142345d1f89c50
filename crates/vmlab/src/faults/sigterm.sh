#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
unit batch.service
guard guard
in_unit batch.service sh -c 'trap "" TERM; exec env WARMSET_UNTIL=99999999 /lab/guest work ramp 60 100000'
hog=$!
within 400 gone "$hog" || fail "it lives"
said SIGTERM || fail "it was not asked"
said SIGKILL || fail "it was not killed"
end_guard
all_is_back
say "SIGTERM, then SIGKILL"
