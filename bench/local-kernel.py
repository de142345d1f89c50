"""The section "On a real kernel" of docs/results/local-replacement.md, from the lab's runs: local-kernel.py DIRECTORY PAGE."""

import glob
import gzip
import io
import json
import math
import statistics
import sys
from contextlib import redirect_stdout

from markdown import table

directory, page = sys.argv[1:3]
HEADING = "## On a real kernel"
FALLING = "docs/results/lab/build.jsonl.gz"
# Ticks a second of Debian's kernels.
HZ = 250
ORDER = ["none", *(f"local:{policy}" for policy in ("watch", "up-largest", "up-next", "up-last", "down-largest", "down-next", "down-last"))]
SCENARIOS = {
    "build": "Lua compiled by gcc with three jobs",
    "mixed": "Lua compiled with two jobs, beside a warm set in an eighth of memory and scans of an eighth that come and go",
}
MEASURES = [
    ("load of the host at its start", lambda run: run["machine"]["host_load"]),
    ("time, s", lambda run: run["seconds"]["load"]),
    ("warm set, p90 of 64 pages, ms", lambda run: run["latency"]["touch"]["p90"]),
    ("a command's start, p99, ms", lambda run: run["latency"]["exec"]["p99"]),
    ("refaults, anonymous", lambda run: run["counters"]["load"]["workingset_refault_anon"]),
    ("refaults, file", lambda run: run["counters"]["load"]["workingset_refault_file"]),
    ("pages swapped out", lambda run: run["counters"]["load"]["pswpout"]),
    ("sectors read", lambda run: sum(run["counters"]["load"][f"vd{disk}_sectors_read"] for disk in "abc")),
    ("allocations that stalled", lambda run: sum(count for name, count in run["counters"]["load"].items() if name.startswith("allocstall"))),
    ("all tasks stalled, s", lambda run: run["counters"]["load"]["psi_memory_full_us"] / 1e6),
    ("CPU time of kswapd, s", lambda run: run["cpu_ms"]["kswapd"] / 1e3),
    ("CPU time of the arm's program, s", lambda run: run["cpu_ms"]["warmset-local"] / 1e3),
]


def shown(values):
    """The median, and the extremes if there are any."""
    form = "{:.0f}" if max(values) >= 100 else "{:.1f}" if max(values) >= 10 else "{:.2f}"
    text = [form.format(value) for value in (statistics.median(values), min(values), max(values))]
    return text[0] if len(values) == 1 else f"{text[0]} [{text[1]}, {text[2]}]"


def journal(scenario, memory, arm):
    """The lines that warmset-local wrote in the runs of an arm: what it saw (`next`, `largest`), and what it `pressed` on."""
    for path in sorted(glob.glob(f"{directory}/kept/{scenario}-*-{memory}-{arm.replace(':', '-')}-*-local.jsonl")):
        with open(path, errors="replace") as lines:
            for line in lines:
                # A run that was cut may have cut its last line, too.
                if line.endswith("\n"):
                    yield json.loads(line)


def queue(scenario, memory, arm):
    """Readings, how often the next is the largest, and how much larger the largest is than the second."""
    is_largest = []
    over = []
    for seen in journal(scenario, memory, arm):
        if seen.get("next") is not None and len(seen["largest"]) > 1:
            first, second = seen["largest"]
            is_largest.append(seen["next"] == first[0])
            if second[1]:
                over.append(first[1] / second[1])
    return is_largest, over


def pressed(scenario, memory, arm):
    """How often pressure was put on."""
    return sum("pressed" in line for line in journal(scenario, memory, arm))


def exponent(points):
    """Least squares of log time over log memory: the slope, and twice its standard error."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    n = len(logs)
    mean_x = sum(x for x, _ in logs) / n
    mean_y = sum(y for _, y in logs) / n
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in logs)
    return slope, 2 * math.sqrt(rest / (n - 2) / spread)


def ended(runs):
    """Those whose build came to its end."""
    return [run for run in runs if run["work"].get("built")]


def least(runs):
    """A run that was cut tells the least that it would have taken."""
    return "" if ended(runs) else "> "


def measured(runs):
    """The rows of a table."""
    yield ["builds that ended"] + [f"{len(ended(of))} of {len(of)}" for of in runs.values()]
    for name, measure in MEASURES:
        cells = []
        for of in runs.values():
            try:
                cells.append(("" if name.startswith("load") else least(of)) + shown([measure(run) for run in ended(of) or of]))
            except KeyError:
                cells.append("–")
        if set(cells) != {"–"}:
            yield [name] + cells


def against(runs):
    """The time of each arm over that without any, and over that of the arm which only watches."""
    time = {arm: statistics.median(run["seconds"]["load"] for run in ended(of) or of) for arm, of in runs.items()}
    for name in ("none", "local:watch"):
        if name in time:
            yield [f"time over {name.removeprefix('local:')}"] + [f"{least(runs[arm])}{time[arm] / time[name]:.2f}" for arm in runs]


def share_of_ticks(sum_of, name):
    """The share of a function, in percent of an arm's ticks in the kernel."""
    if name not in sum_of:
        return "–"
    return f"{100 * sum_of[name] / sum_of['ticks']:.1f}"


def profile(runs, most=14):
    """Where the kernels were, in percent of the ticks that found them in the kernel."""
    sums = {}
    for arm, of in runs.items():
        for run in of:
            if told := run.get("profile"):
                sum_of = sums.setdefault(arm, {"ticks": 0, "seconds": 0.0})
                sum_of["ticks"] += told["ticks"]
                sum_of["seconds"] += run["seconds"]["load"]
                for name, ticks in told["functions"].items():
                    sum_of[name] = sum_of.get(name, 0) + ticks
    names = {name for it in sums.values() for name in it} - {"ticks", "seconds"}
    names = sorted(names, key=lambda name: -max(it.get(name, 0) / it["ticks"] for it in sums.values()))[:most]
    rows = [["share of the time in the kernel, %"] + [f"{100 * it['ticks'] / HZ / it['seconds']:.0f}" for it in sums.values()]]
    rows += [[f"`{name}`"] + [share_of_ticks(it, name) for it in sums.values()] for name in names]
    table(["of that, %"] + list(sums), rows)


def said():
    lines = [json.loads(line) for line in open(f"{directory}/lines.jsonl")]
    machine = lines[0]["machine"]
    arms = list(dict.fromkeys(sorted((run["arm"] for run in lines), key=ORDER.index)))
    loads = [run["machine"]["host_load"] for run in lines]
    print(f"{HEADING}\n")
    print(f"Made by `bench/local-kernel.sh`, at {machine['commit']}: machines of one CPU with {machine['origin']},")
    print(f"swap on a throttled disk, {machine['accel'].upper()}; load of the host {min(loads):.1f} to {max(loads):.1f} on {machine['host_cpus']} CPUs. Each arm is")
    print("`warmset-local --way …` and no guard; the pressure is on the kernel's own lists (its accessed bits), at most four times a")
    print("second, when kswapd has freed memory. `watch` looks as the others do, and presses on nobody.\n")
    cells = {}
    for scenario, about in SCENARIOS.items():
        of = [run for run in lines if run["scenario"] == scenario]
        if not of:
            continue
        print(f"### {scenario.capitalize()}\n\n{about}.\n")
        for memory in sorted({run["machine"]["memory_mib"] for run in of}, reverse=True):
            cell = cells[scenario, memory] = {arm: [run for run in of if run["arm"] == arm and run["machine"]["memory_mib"] == memory] for arm in arms}
            cell = {arm: runs for arm, runs in cell.items() if runs}
            print(f"At {memory} MiB:\n")
            counts = [["pressed"] + [pressed(scenario, memory, arm) if arm != "none" else "–" for arm in cell]]
            table(["measure"] + [arm.removeprefix("local:") for arm in cell], [*measured(cell), *against(cell), *counts])
        tightest = min(memory for name, memory in cells if name == scenario)
        print(f"Where the kernel is at the ticks of its clock, at {tightest} MiB (`--profile`, {HZ} ticks a second; what runs with interrupts off is counted where")
        print("they are on again):\n")
        profile({arm.removeprefix("local:"): runs for arm, runs in cells[scenario, tightest].items() if runs})
    print("### Who is next, who is largest\n\nOf those that run or wait to run the next by virtual run time, and the largest of all, as the arms' programs saw them:\n")
    rows = []
    for (scenario, memory), cell in cells.items():
        is_largest = []
        over = []
        for arm in cell:
            if arm != "none":
                of_arm = queue(scenario, memory, arm)
                is_largest += of_arm[0]
                over += of_arm[1]
        if is_largest and over:
            rows.append([scenario, memory, len(is_largest), f"{statistics.mean(is_largest):.0%}", f"{statistics.median(over):.2f}"])
    table(["load", "MiB", "readings", "the next is the largest", "the largest over the second"], rows)
    falling = [json.loads(line) for line in gzip.open(FALLING, "rt")]
    points = [(run["machine"]["memory_mib"], run["seconds"]["load"]) for run in falling if run["work"].get("built")]
    print(f"### Time against memory\n\nOf the same build without any arm, T ~ M^e, from `{FALLING}` ({len(points)} runs); the report has e = -4 for a")
    print("build of the kernel. Least squares, with twice the standard error:\n")
    ranges = [("all sizes", points), ("160 MiB and less", [it for it in points if it[0] <= 160]), ("128 MiB and less", [it for it in points if it[0] <= 128])]
    table(["sizes", "runs", "exponent", "±"], [[name, len(some)] + [f"{value:.2f}" for value in exponent(some)] for name, some in ranges if len(some) > 2])


with io.StringIO() as text:
    with redirect_stdout(text):
        said()
    section = text.getvalue()
whole = open(page).read()
head, _, rest = whole.partition(HEADING)
# What was written by hand below the tables stays.
mark = "### What this says"
words = rest[rest.index(mark):] if mark in rest else ""
open(page, "w").write(head + section + ("\n" + words if words else ""))
