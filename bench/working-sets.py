"""docs/results/working-sets.md from the analyses that working-sets.sh made."""

import glob
import json
import os
import subprocess
import sys

from markdown import table

directory, millions, missing = sys.argv[1:]
ORDER = ["ls", "cc1", "sqlite3", "python3", "xterm", "mariadbd", "chromium"]
told = {os.path.basename(path)[:-5]: json.load(open(path))[0] for path in glob.glob(directory + "/*.json")}
names = [name for name in ORDER if name in told]


def short(value):
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if value >= size:
            return f"{value / (1e3 if unit == ' k' else size):.3g}{unit}"
    return f"{value:.4g}"


def best(name):
    return max(told[name]["curves"]["claims"], key=lambda claim: claim["lru"] / claim["ws"])


def space_time(name, policy, service):
    return next(it for it in told[name]["curves"]["space_time"] if it["policy"] == policy and it["service"] == service)


def knees(name):
    return {policy: knee for policy, knee in told[name]["curves"]["knees"]}


def knee(name, policy):
    ray = knees(name)[policy]["ray"]
    return f"{ray['size']:.1f} pages" if ray else "none"


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def peaks(name):
    """Mean of the working set's peaks in stretches with a transition, and in the others, at the shortest window."""
    analysis = told[name]
    window = analysis["windows"][0]
    moves = analysis["moves"]
    sums = {True: [], False: []}
    at = 0
    for pixel in window["sizes"]["pixels"]:
        while at + 1 < len(moves) and moves[at + 1]["from"] <= pixel["from"]:
            at += 1
        sums[moves[at]["distance"] > 0.5].append(pixel["most"])
    return mean(sums[True]), mean(sums[False])


commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
print("# Working sets of real programs\n")
print(f"Made by `bench/working-sets.sh target/release`, at {commit}, of Debian's programs on x86-64 with pages of 4 KiB. Each is recorded by")
print(f"`warmset trace --alone` until it ends or has made {millions} million references, of some after their start. Time is instructions. The")
print("questions are those of the founding report. Every number is a count of a recorded trace: a second analysis of it gives the same.\n")
if missing.strip():
    print(f"Not recorded here: {missing.strip()}.\n")

table(
    ["program", "references", "instructions", "pages", "threads", "left out", "cut"],
    [[name, short(it["references"]), short(it["time"]), it["pages"], it["tasks"], it["left_out"] or "nothing", it["cut"] or "no: it ran to its end"]
     for name in names for it in [told[name]["program"]]],
)

print("## Is the time between faults longer than LRU's at equal mean memory?\n")
print("The working set at the window where it gains most, and the others with room for its mean size, rounded. OPT knows the future, and")
print("has a fixed room; VMIN knows it, and has the working set's faults with the memory in the last column.\n")
table(
    ["program", "θ", "mean pages", "working set", "LRU", "LRU / working set", "OPT", "windows of 8 with fewer faults than LRU", "VMIN pages"],
    [[name, short(it["theta"]), f"{it['size']:.1f}", short(it["ws"]), short(it["lru"]), f"{it['lru'] / it['ws']:.2f}", short(it["opt"]),
      sum(claim["ws"] < claim["lru"] for claim in told[name]["curves"]["claims"]), f"{it['vmin_size']:.1f}"] for name in names for it in [best(name)]],
)
gains = [(best(name)["lru"] / best(name)["ws"], name) for name in names]
beats = [name for name in names if best(name)["ws"] < best(name)["opt"]]
print(f"Confirmed, with a size to it: at its best window the working set faults {min(gains)[0]:.1f} ({min(gains)[1]}) to {max(gains)[0]:.1f} times ({max(gains)[1]})")
print(f"less than LRU. It faults less than even the optimum of fixed room on {', '.join(beats) if beats else 'none of them'}: its size floats, and follows the program.")
print("It is not so at every window: the column of windows says at how many of the eight, from 1/100,000 to a tenth of the run.\n")

print("## Is the knee lower, and space-time less?\n")
print("The knee is where a line from the origin touches the lifetime curve. Space-time is pages × (time + faults × service), least over the")
print("window or the room; the ratio is LRU's least over the working set's.\n")
table(
    ["program", "knee: working set", "LRU", "at a service of 1,000", "10,000", "100,000", "1,000,000"],
    [[name, knee(name, "ws"), knee(name, "lru")]
     + [f"{space_time(name, 'lru', service)['value'] / space_time(name, 'ws', service)['value']:.2f}" for service in (1e3, 1e4, 1e5, 1e6)]
     for name in names],
)
both = [name for name in names if knees(name)["ws"]["ray"] and knees(name)["lru"]["ray"]]
lower = [name for name in both if knees(name)["ws"]["ray"]["size"] < knees(name)["lru"]["ray"]["size"]]
ratios = [space_time(name, "lru", service)["value"] / space_time(name, "ws", service)["value"] for name in names for service in (1e3, 1e4, 1e5, 1e6)]
print(f"The knee is at less memory on {len(lower)} of {len(both)} ({', '.join(lower) or 'none'}). LRU's space-time is {min(ratios):.2f} to {max(ratios):.2f} times the working")
print("set's. The product counts a fault with the mean size, as Denning's approximation does; below is what that leaves out: the working set")
print("is often larger than its mean when it faults.\n")
table(
    ["program", "θ", "faults × mean size", "sum of sizes at faults", "ratio"],
    [[name, short(at["theta"]), short(at["faults"] * at["size"]), short(at["size_at_faults"]), f"{at['size_at_faults'] / (at['faults'] * at['size']):.2f}"]
     for name in names for at in told[name]["windows"][:1]],
)

print("## Do programs move in phases, and does the working set peak as they do?\n")
print("200 stretches of equal time; a transition is one in which more than half of the pages are others than in the stretch before.\n")
table(
    ["program", "transitions", "θ", "mean size", "most", "mean of peaks at transitions", "elsewhere"],
    [[name, sum(move["distance"] > 0.5 for move in told[name]["moves"]), short(at["theta"]), f"{at['size']:.1f}", at["peak"]]
     + [f"{value:.1f}" for value in peaks(name)] for name in names for at in told[name]["windows"][:1]],
)
higher = [name for name in names if peaks(name)[0] > peaks(name)[1]]
print(f"It is larger at transitions on {len(higher)} of {len(names)} ({', '.join(higher) or 'none'}).\n")

print("## Are its sizes normally distributed? Do pages stay by chance?\n")
print("Mixtures of one to four normal distributions by BIC, counted as two values for each window. Stays are compared with those of the")
print("same uses in random order: by chance shares that last longer are no farther apart than the bound beside their distance.\n")
table(
    ["program", "θ", "skewness", "excess kurtosis", "normals", "stays", "distance", "by chance at most", "better law"],
    [[name, short(at["theta"]), f"{at['shape']['skewness']:.2f}", f"{at['shape']['excess_kurtosis']:.2f}", len(at["mixture"]["parts"]) if at["mixture"] else "–",
      at["residence"]["stays"], f"{at['residence']['distance']:.2f}", f"{at['residence']['distance_by_chance']:.2f}",
      "lognormal" if at["residence"]["aic_lognormal"] < at["residence"]["aic_exponential"] else "exponential"]
     for name in names for at in told[name]["windows"][:1]],
)
mixed = [name for name in names if told[name]["windows"][0]["mixture"] and len(told[name]["windows"][0]["mixture"]["parts"]) > 1]
chance = [name for name in names for it in [told[name]["windows"][0]["residence"]]
          if it["distance"] <= it["distance_by_chance"]]
print(f"A mixture is better than one normal distribution on {len(mixed)} of {len(names)}. Stays look like decay on {', '.join(chance) or 'none of them'}.\n")

print("## Is a half-life as good?\n")
print("Faults at the same mean size: a page thrown a half-life after it came, FIFO, LRU, 2Q, the working set; at the window of the first table.\n")
table(
    ["program", "mean pages", "half-life", "FIFO", "LRU", "2Q", "working set", "half-life / working set"],
    [[name, f"{it['size']:.1f}"] + [short(it[key]) for key in ("half_life", "fifo", "lru", "two_q", "ws")] + [f"{it['half_life'] / it['ws']:.2f}"]
     for name in names for it in [best(name)] if it["half_life"]],
)

print("## How much memory, and what floor?\n")
table(
    ["program", "1 % of references fault: LRU pages", "0.1 %", "0.01 %", "floor, pages", "θ"],
    [[name] + [next((need["lru_pages"] for need in told[name]["program"]["needs"] if need["ratio"] == ratio), "–") for ratio in (1e-2, 1e-3, 1e-4)]
     + ([floor["pages"], short(floor["theta"])] if (floor := told[name]["program"]["floor"]) else ["–", "–"]) for name in names],
)

print("## Pictures\n")
for name in names:
    pictures = [f"working-sets/{name}-{what}.svg" for what in ("map", "size", "lifetime")]
    there = [path for path in pictures if os.path.exists("docs/results/" + path)]
    print(f"### {name}\n\n" + "\n".join(f"![{os.path.basename(path)[:-4]}]({path})" for path in there) + "\n")

print("## What this does not show\n")
print("A program that was cut and from which nothing was left out shows its start, not its steady state. Lackey does not see what the")
print("kernel does for a program. Valgrind lays memory out in its own way, and runs one thread at a time. The founding report's own")
print("time was bytes of instructions: `--as-published` records that; it stretches the time axis by the mean length of an instruction.")
