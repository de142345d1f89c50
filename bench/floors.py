"""What docs/archive/floors-first-series.md derives from the lines of its tables, run by run: floors.py TABLE..., such as floors-6.12.

A cell is a median over the runs of one arm in one kind of machine, where there are more with the extremes. The comparison is with the median
of the arm `none` of the same table and machine, and left out where there is none.
"""

import gzip
import json
import statistics
import sys
from collections import defaultdict

from markdown import table

HEADING = ["scenario, kernel, LRU, swap", "arm", "runs", "hot pages lost", "share read again", "saved, %", "read p90, ms", "times shorter"]
HEADING += ["longest, ms", "warm, ms", "longest / warm", "its own, longest (warm), ms", "heartbeat late, ms", "kswapd, ms for each MiB", "hog lived, s"]


def share(run):
    return run["work"]["hot_pages_refaulted"] / run["work"]["hot_pages_read"]


def p90(run):
    return run["latency"]["read"]["p90"]


def shown(form, values):
    text = [format(value, form) for value in (statistics.median(values), min(values), max(values))]
    return text[0] if len(values) == 1 else f"{text[0]} [{text[1]}, {text[2]}]"


def cells(runs, without):
    def over(measure):
        return [measure(run) for run in runs]

    def latency(name, of):
        return over(lambda run: run["latency"][name][of])

    saved = shorter = ""
    if without:
        plain = statistics.median(map(share, without))
        saved = shown(",.1f", over(lambda run: 100 * (1 - share(run) / plain)))
        shorter = format(statistics.median(map(p90, without)) / statistics.median(map(p90, runs)), ".1f")
    own = f"{statistics.median(latency('read_own', 'max')):,.0f} ({statistics.median(latency('read_own_warm', 'p50')):,.0f})"
    return [
        len(runs),
        shown(",.0f", over(lambda run: run["work"]["hot_pages_refaulted"])),
        shown(".4f", over(share)),
        saved,
        shown(",.0f", over(p90)),
        shorter,
        shown(",.0f", latency("read", "max")),
        shown(",.0f", latency("read_warm", "p50")),
        shown(".1f", over(lambda run: run["latency"]["read"]["max"] / run["latency"]["read_warm"]["p50"])),
        own,
        shown(",.0f", latency("beat_late", "max")),
        shown(".2f", over(lambda run: run["cpu_ms"]["kswapd"] / run["work"]["stream_mib"])),
        format(max((kill["since_hog_s"] for run in runs for kill in run["kills"]), default=float("nan")), ".1f"),
    ]


for name in sys.argv[1:]:
    machines = defaultdict(lambda: defaultdict(list))
    with gzip.open(f"docs/archive/lab/{name}.jsonl.gz", "rt") as lines:
        for run in map(json.loads, lines):
            machine = run["machine"]
            machines[run["scenario"], machine["kernel"], machine["lru"], machine["swap"]][run["arm"]].append(run)
    print(f"## {name}\n")
    rows = []
    for machine, arms in machines.items():
        for arm, runs in arms.items():
            rows.append([", ".join(machine), arm, *cells(runs, arms.get("none") if arm != "none" else None)])
    table(HEADING, rows)
