#!/usr/bin/env python3
"""Draws docs/effect.svg from the kept lines of the storm: bench/effect.py

One bar for each run of the kernel alone and of the packaged mode `tune`, in machines of 1 GiB and of 2 GiB. A bar is the
number of allocations that reclaimed for themselves, over the load and the calm after it: `allocstall` of the tables
docs/results/lab/storm-1g.md and storm-2g.md. Nothing is left out: every kept run of both arms has its bar.
"""

import gzip
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PANELS = [("storm-1g", "1 GiB of memory"), ("storm-2g", "2 GiB of memory")]
ARMS = [("none", "kernel alone", "#b0553a"), ("warmset", "Warmset, mode tune", "#1f6f8b")]

WIDTH = 760
HEIGHT = 330
PANEL_WIDTH = 340
PANEL_LEFT = [55, 410]
BASE = 270
TALLEST = 180
BAR = 24
PAIR = 64


def stalls(line: dict) -> int:
    """Allocation stalls of one run, in all zones, under load and in the calm after it."""
    phases = line["counters"].values()
    return sum(count for phase in phases for name, count in phase.items() if name.startswith("allocstall_"))


def runs(name: str) -> dict[str, list[int]]:
    """Stalls of each kept run, by arm, in the order of repetitions."""
    path = ROOT / f"docs/results/lab/{name}.jsonl.gz"
    with gzip.open(path, "rt") as lines:
        kept = [json.loads(line) for line in lines]
    kept.sort(key=lambda line: line["rep"])
    unfinished = [line for line in kept if line["state"] != "finished"]
    assert not unfinished, f"{path}: {len(unfinished)} runs did not finish"
    return {arm: [stalls(line) for line in kept if line["arm"] == arm] for arm, _, _ in ARMS}


def text(x: float, y: float, content: str, *, size: int = 13, anchor: str = "middle", weight: str = "normal") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">{content}</text>'


def panel(left: int, title: str, counts: dict[str, list[int]], most: int) -> list[str]:
    parts = [text(left + PANEL_WIDTH / 2, 66, title, size=14, weight="bold")]
    parts.append(f'<line x1="{left}" y1="{BASE}" x2="{left + PANEL_WIDTH}" y2="{BASE}" stroke="#444"/>')
    repetitions = len(next(iter(counts.values())))
    for repetition in range(repetitions):
        start = left + 14 + repetition * PAIR
        for at, (arm, _, colour) in enumerate(ARMS):
            count = counts[arm][repetition]
            height = TALLEST * count / most
            x = start + at * BAR
            bar = f'<rect x="{x}" y="{BASE - height:.1f}" width="{BAR - 2}" height="{height:.1f}" fill="{colour}"/>'
            parts += [bar, text(x + BAR / 2 - 1, BASE - height - 4, str(count), size=11)]
        parts.append(text(start + BAR, BASE + 18, f"run {repetition + 1}", size=12))
    return parts


def main() -> None:
    counts = {name: runs(name) for name, _ in PANELS}
    most = max(count for arms in counts.values() for arm in arms.values() for count in arm)
    title = "Allocations that had to reclaim for themselves, in each run"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="sans-serif" fill="#222" role="img">',
        f"<title>{title}: the kernel alone beside Warmset</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        text(PANEL_LEFT[0], 26, title, size=16, anchor="start", weight="bold"),
    ]
    for left, (name, heading) in zip(PANEL_LEFT, PANELS, strict=True):
        parts += panel(left, heading, counts[name], most)
    for at, (_, label, colour) in enumerate(ARMS):
        x = PANEL_LEFT[0] + at * 160
        parts.append(f'<rect x="{x}" y="305" width="12" height="12" fill="{colour}"/>')
        parts.append(text(x + 18, 316, label, anchor="start"))
    where = "storm, Linux 6.12, no swap, one CPU"
    parts += [text(PANEL_LEFT[1] + PANEL_WIDTH, 316, where, size=12, anchor="end"), "</svg>", ""]
    (ROOT / "docs/effect.svg").write_text("\n".join(parts))
    for name, _ in PANELS:
        print(name, counts[name])


if __name__ == "__main__":
    main()
