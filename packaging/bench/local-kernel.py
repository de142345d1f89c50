"""The section "On a real kernel" of docs/results/local-replacement.md, from the lab's runs: local-kernel.py FOLDER PAGE."""

import glob
import gzip
import io
import json
import math
import re
import statistics
import sys
from contextlib import redirect_stdout

from markdown import table

folder, page = sys.argv[1:3]
HEADING = "## On a real kernel"
FALLING = "docs/results/lab/build.jsonl.gz"
MEASURES = [
    ("build, s", lambda run: run["seconds"]["load"]),
    ("processor time of the machine, s", lambda run: run["host_cpu_s"]),
    ("refaults, anonymous", lambda run: run["counters"]["load"]["workingset_refault_anon"]),
    ("refaults, file", lambda run: run["counters"]["load"]["workingset_refault_file"]),
    ("pages swapped out", lambda run: run["counters"]["load"]["pswpout"]),
    ("sectors read", lambda run: sum(run["counters"]["load"][f"vd{disk}_sectors_read"] for disk in "abc")),
    ("allocations that stalled", lambda run: run["counters"]["load"]["allocstall_movable"] + run["counters"]["load"]["allocstall_normal"] + run["counters"]["load"]["allocstall_dma32"]),
    ("all tasks stalled, s", lambda run: run["counters"]["load"]["psi_memory_full_us"] / 1e6),
]


def shown(values):
    """The median, and the extremes if there are any."""
    text = [f"{value:.0f}" for value in (statistics.median(values), min(values), max(values))]
    return text[0] if len(values) == 1 else f"{text[0]} [{text[1]}, {text[2]}]"


def censuses(memory, arm):
    """Each reading of who holds memory and who runs, once."""
    seen = {}
    for path in glob.glob(f"{folder}/kept/build-*-{memory}-{arm.replace(':', '-')}-*.rec.gz"):
        for line in gzip.open(path, "rt", errors="replace"):
            if line.startswith("p\t"):
                census = json.loads(line[2:])
                seen[path, census["at"]] = census
    return list(seen.values())


def queue(memory, arm):
    """Readings, how often the next is the largest, the median of how much larger the largest is than the second."""
    both = [it for it in censuses(memory, arm) if it.get("runners") and len(it["suspects"]) > 1]
    is_largest, over = [], []
    for census in both:
        first, second = sorted(census["suspects"], key=lambda it: -it["resident"])[:2]
        is_largest.append(census["runners"][0]["who"] == first["who"])
        if second["resident"]:
            over.append(first["resident"] / second["resident"])
    return len(both), is_largest, over


def pressed(memory, arm):
    """How often pressure was put on."""
    count = 0
    for path in glob.glob(f"{folder}/kept/build-*-{memory}-{arm.replace(':', '-')}-*.rec.gz"):
        for line in gzip.open(path, "rt", errors="replace"):
            if line.startswith("d\t"):
                count += len(re.findall(r'"do":"local"', line))
    return count


def exponent(points):
    """Least squares of log time over log memory: the slope, and twice its standard error."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    n, mx, my = len(logs), sum(x for x, _ in logs) / len(logs), sum(y for _, y in logs) / len(logs)
    sxx = sum((x - mx) ** 2 for x, _ in logs)
    slope = sum((x - mx) * (y - my) for x, y in logs) / sxx
    rest = sum((y - my - slope * (x - mx)) ** 2 for x, y in logs)
    return slope, 2 * math.sqrt(rest / (n - 2) / sxx)


def said():
    runs = [json.loads(line) for line in open(f"{folder}/build.jsonl")]
    machine = runs[0]["machine"]
    arms = list(dict.fromkeys(run["arm"] for run in runs))
    memories = sorted({run["machine"]["memory_mib"] for run in runs}, reverse=True)
    falling, borrowed = [json.loads(line) for line in gzip.open(FALLING, "rt")], []
    print(f"{HEADING}\n")
    print(f"Made by `packaging/bench/local-kernel.sh`, at {machine['commit']}: Lua compiled by gcc with three jobs, in machines of one processor with")
    print(f"{machine['origin']}, swap on a throttled disk, {machine['accel'].upper()}; the host was busy with other work (load")
    print(f"{min(run['machine']['host_load'] for run in runs):.1f} to {max(run['machine']['host_load'] for run in runs):.1f} on {machine['host_cpus']} processors), so seconds illustrate and counters decide. Each arm is `[local] policy = …` and")
    print("nothing else of the guard's; the pressure is on the kernel's own lists (its accessed bits), at most four times a second.\n")
    for memory in memories:
        of = {arm: [run for run in runs if run["arm"] == arm and run["machine"]["memory_mib"] == memory] for arm in arms}
        ended = {arm: [run for run in of[arm] if run["work"].get("built")] for arm in arms}
        if not ended["none"]:
            of["none"] = ended["none"] = [run for run in falling if run["machine"]["memory_mib"] == memory]
            borrowed.append(memory)
        here = [arm for arm in arms if of[arm]]
        # What a run that was cut had done by then is the least that it would have.
        least = lambda arm: "" if ended[arm] else "> "
        print(f"At {memory} MiB:\n")
        cell = lambda measure, arm: least(arm) + shown([measure(run) for run in ended[arm] or of[arm]])
        rows = [["builds that ended"] + [f"{len(ended[arm])} of {len(of[arm])}" for arm in here]]
        rows += [[name] + [cell(measure, arm) for arm in here] for name, measure in MEASURES]
        rows += [["pressed"] + [pressed(memory, arm) if arm != "none" else "-" for arm in here]]
        table(["measure"] + here, rows)
    if borrowed:
        print(f"A build was cut after 900 s. Without an arm none ended at {', '.join(map(str, borrowed))} MiB on the busy host: `none` there is the run of")
        print(f"`{FALLING}`, which had the host to itself, so compare its processor time and its counters, not its seconds.\n")
    print("Of those that run or wait to run the next by virtual run time, and the largest of all, from the arms' recordings:\n")
    rows = []
    for memory in memories:
        for arm in arms[1:]:
            count, is_largest, over = queue(memory, arm)
            if is_largest and over:
                rows.append([memory, arm, count, f"{statistics.mean(is_largest):.0%}", f"{statistics.median(over):.2f}"])
    table(["MiB", "arm", "readings", "the next is the largest", "the largest over the second"], rows)
    points = [(run["machine"]["memory_mib"], run["seconds"]["load"]) for run in falling if run["work"].get("built")]
    print(f"Time against memory of the same build without any arm, T ~ M^e, from `{FALLING}` ({len(points)} runs); the report has e = -4 for a")
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
