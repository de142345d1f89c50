#!/usr/bin/env python3
"""Measures what `warmset hold` keeps: how much of a file stays in memory through a scan, and what reading it then costs.

    bench/hold.py PROGRAMS LAB [--kernel 6.12] [--rounds 3] [--with FILE ...]

PROGRAMS is a directory with static `warmset`, `warmsetd` and `warmset-hold`, LAB the program `warmset-lab`. Each run has a virtual
machine of 512 MiB of its own, so that no guard has learned anything. warmsetd runs in mode protect in all of them. A file is read, another
of 1 GiB is read once and another time, and then the first is looked at and read again: in each round once without `warmset hold`,
which is the control, and once with it.

The large file is sparse: its pages take memory as any, and no disk delays the scan. The first has random bytes.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

FILE_MIB = 40
SCAN_MIB = 1024

GUEST = r"""
for library in /lab/*.so*; do [ -e "$library" ] && cp "$library" /lib/ && cp "$library" /lib64/; done
mkdir -p /etc/warmset
dd if=/dev/urandom of=/data/index bs=1M count=FILE_MIB 2>/dev/null
dd if=/dev/null of=/data/huge bs=1M seek=SCAN_MIB 2>/dev/null
sync; echo 3 >/proc/sys/vm/drop_caches
/lab/warmsetd --mode protect >/run/log 2>&1 &
guard=$!
until /lab/warmset hold 2>&1 | tee /run/hold | grep -q 'no file is named' && ! grep -q 'no guard' /run/hold; do sleep 1; done
sectors() { awk '$3 == "vda" { print $6 }' /proc/diskstats; }
now() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }
[ ARM = hold ] && /lab/warmset hold /data/index
cat /data/index >/dev/null
cat /data/huge >/dev/null
cat /data/huge >/dev/null
resident=$(/lab/warmset --json files /data/index | awk '/"resident"/ { gsub(/[^0-9]/, ""); print; exit }')
sectors=$(sectors); begun=$(now)
cat /data/index >/dev/null
echo "RESULT {\"arm\": \"ARM\", \"resident\": $resident, \"sectors\": $(($(sectors) - sectors)), \"ms\": $(($(now) - begun))}"
kill -TERM $guard; wait $guard
for one in /var/lib/warmset/recordings/*; do /lab/warmset replay --verify "$one" | tail -n 1; done
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=Path)
    parser.add_argument("lab", type=Path)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--with", dest="more", action="append", default=[])
    options = parser.parse_args()
    command = [options.lab, "sh", "--kernel", options.kernel, "--seconds", "300"]
    for path in [options.programs / name for name in ("warmset", "warmsetd", "warmset-hold")] + options.more:
        command += ["--with", path]
    results = []
    for _ in range(options.rounds):
        for arm in ["none", "hold"]:
            script = GUEST.replace("ARM", arm).replace("FILE_MIB", str(FILE_MIB)).replace("SCAN_MIB", str(SCAN_MIB))
            said = subprocess.run([*command, script], stdout=subprocess.PIPE, text=True, check=False)
            print(said.stdout, end="", flush=True)
            found = [line for line in said.stdout.splitlines() if line.startswith("RESULT ")]
            if len(found) != 1:
                sys.exit("no result: the machine said why above")
            results.append(json.loads(found[0].removeprefix("RESULT ")))
    print("\n| | resident MiB | read from the disk, MiB | ms to read it |\n|---|---:|---:|---:|")
    for arm, name in [("none", "without"), ("hold", "warmset hold")]:
        mine = [one for one in results if one["arm"] == arm]
        columns = [
            spread([one["resident"] / (1 << 20) for one in mine]),
            spread([one["sectors"] / 2048 for one in mine]),
            spread([one["ms"] for one in mine]),
        ]
        print(f"| {name} | " + " | ".join(columns) + " |")


def spread(numbers: list[float]) -> str:
    return " / ".join(f"{number:.1f}" for number in (min(numbers), statistics.median(numbers), max(numbers)))


if __name__ == "__main__":
    main()
