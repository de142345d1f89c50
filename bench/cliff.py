#!/usr/bin/env python3
"""Fits and draws how a build's time depends on memory: bench/cliff.py, which needs matplotlib and SciPy

Reads the lines of docs/results/lab/build.jsonl.gz, draws docs/results/build-cliff.svg, and prints the exponent of the power law below the working set
with its 95 % interval: least squares of the logarithms, Student's t with as many degrees of freedom as there are sizes less two.
"""

import gzip
import json
from pathlib import Path
from statistics import median

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

RESULTS = Path(__file__).resolve().parent.parent / "docs/results"
# A build is below its working set where it takes a tenth longer than the median of the others: runs with room for all differ by less.
SLOWER = 1.1
# Sizes with room for all, in MiB: from here on, times do not rise as memory falls.
ROOM = 192


def runs() -> list[tuple[int, float]]:
    """Memory in MiB and seconds of each run, the smallest first."""
    with gzip.open(RESULTS / "lab/build.jsonl.gz", "rt") as lines:
        kept = [json.loads(line) for line in lines]
    return sorted((run["machine"]["memory_mib"], run["seconds"]["load"]) for run in kept if run["arm"] == "none" and run["state"] == "finished")


def main() -> None:
    times = runs()
    warm = median(seconds for memory, seconds in times if memory >= ROOM)
    below = [(memory, seconds) for memory, seconds in times if seconds > SLOWER * warm and memory < ROOM]
    sizes, seconds = zip(*below, strict=True)
    fit = stats.linregress([np.log(size) for size in sizes], [np.log(time) for time in seconds])
    half = stats.t.ppf(0.975, len(below) - 2) * fit.stderr
    print(f"with room for all {warm:.0f} s; below {max(sizes) + 1} MiB the exponent is {fit.slope:.1f} [{fit.slope - half:.1f}, {fit.slope + half:.1f}], of {len(below)} sizes")

    mpl.rcParams["svg.hashsalt"] = "build-cliff"
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.loglog([memory for memory, _ in times], [seconds for _, seconds in times], "o", label="one build each")
    law = [np.exp(fit.intercept) * size**fit.slope for size in sizes]
    axes.loglog(sizes, law, "-", label=f"power {fit.slope:.1f} [{fit.slope - half:.1f}, {fit.slope + half:.1f}]")
    report = [warm * (size / max(sizes)) ** -4 for size in sizes]
    axes.loglog(sizes, report, "--", label="power −4, the founding report's")
    ticks = [96, 112, 144, 192, 256, 384, 1024]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks([150, 200, 300, 400, 600], ["150", "200", "300", "400", "600"])
    axes.set_xlabel("memory of the machine, MiB")
    axes.set_ylabel("seconds")
    axes.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "build-cliff.svg", metadata={"Date": None})


main()
