#!/usr/bin/env python3
"""Whole processes beside libcachesim: the CPU time from a trace in the page cache to the printed result.

    bench/beside.py PROGRAMS [RUNS] [POLICY...]

PROGRAMS is the directory of warmset-tools; RUNS pairs (5) are run, ours and theirs one after the other. The trace is Zipf's law,
20 million references to a million pages, as oracleGeneral, with room for a tenth. POLICY chooses rows, by our names;
`sixteen` is LRU at sixteen sizes: one run of ours, and one of theirs for each size.

Times are of user and system. Ours has the start of the program; theirs, the library that Python's package index has, is
without the start of Python. Each row is the median of the pairs with the least and the most, and the host's load meanwhile.
Without libcachesim only our times are printed.
"""

import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOM = [100_000]
SIXTEEN = list(range(30_000, 480_001, 30_000))
# A row's name, our policy, the class of libcachesim, and the sizes.
ROWS = [
    ("fifo", "fifo", "FIFO", ROOM),
    ("clock", "clock", "Clock", ROOM),
    ("sieve", "sieve", "Sieve", ROOM),
    ("lru", "lru", "LRU", ROOM),
    ("s3fifo", "s3fifo", "S3FIFO", ROOM),
    ("2q", "2q", "TwoQ", ROOM),
    ("arc", "arc", "ARC", ROOM),
    ("lirs", "lirs", "LIRS", ROOM),
    ("opt", "opt", "Belady", ROOM),
    ("sixteen", "lru", "LRU", SIXTEEN),
]
# What their process runs, for each size anew; it prints its CPU time.
THEIRS = """
import resource, sys
import libcachesim as lcs

def used():
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime

path, policy, *sizes = sys.argv[1:]
start = used()
for size in sizes:
    reader = lcs.TraceReader(path, lcs.TraceType.ORACLE_GENERAL_TRACE, lcs.ReaderInitParam(ignore_obj_size=True))
    getattr(lcs, policy)(int(size)).process_trace(reader)
print(used() - start)
"""


def ours(program, trace, policy, sizes):
    """CPU seconds of our process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, "simulate", "--quiet", trace, "--policy", policy, "--capacity", ",".join(map(str, sizes))]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def theirs(trace, policy, sizes):
    """CPU seconds of theirs, without the start of Python."""
    command = [sys.executable, "-c", THEIRS, trace, policy, *map(str, sizes)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(ran.stdout.split()[-1])


def median(values):
    return f"{statistics.median(values):.3g} [{min(values):.3g}, {max(values):.3g}]"


def row(program, trace, runs, row, has_peer):
    """The table's line of one row."""
    name, policy, other, sizes = row
    own, peer, loads = [], [], []
    for _ in range(runs):
        own.append(ours(program, trace, policy, sizes))
        if has_peer:
            peer.append(theirs(trace, other, sizes))
        loads.append(os.getloadavg()[0])
    load = f"{min(loads):.1f} to {max(loads):.1f}"
    if not has_peer:
        return f"| {name} | {median(own)} | – | – | {load} |"
    ratios = [their / our for our, their in zip(own, peer, strict=True)]
    return f"| {name} | {median(own)} | {median(peer)} | {median(ratios)} | {load} |"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = Path(sys.argv[1]) / "warmset-tools"
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    wanted = sys.argv[3:] or [name for name, *_ in ROWS]
    has_peer = importlib.util.find_spec("libcachesim") is not None
    with tempfile.TemporaryDirectory() as scratch:
        trace = f"{scratch}/zipf.oracleGeneral"
        subprocess.run(
            [program, "synth", "zipf:pages=1000000,alpha=1", "-n", "20000000", "-o", trace],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        print("| policy | ours, CPU s | libcachesim, CPU s | times as fast | load |")
        print("|---|---:|---:|---:|---:|")
        for each in ROWS:
            if each[0] in wanted:
                print(row(program, trace, runs, each, has_peer), flush=True)


if __name__ == "__main__":
    main()
