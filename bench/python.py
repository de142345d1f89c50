"""What Python adds to the Rust calls: python.py CALLS [REFERENCES [RUNS]].

CALLS is the program of ``cargo build --release -p warmset-traces --example calls``, which makes the same calls on the
same references without Python. Both take turns, RUNS (7) times each, on REFERENCES (20,000,000) by Zipf's law to a
million pages; the table has the least and the median. Needs the package: ``pip install ./python``.
"""

# ruff: noqa: INP001, T201
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable

import warmset


def timed(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def argument(place: int, default: int) -> int:
    """Return an argument of the command line, or its default."""
    return int(sys.argv[place]) if place < len(sys.argv) else default


def more(ours: float, theirs: float) -> str:
    """How much longer theirs takes, in percent."""
    return f"{(theirs / ours - 1) * 100:+.1f} %"


def main() -> None:
    """Print the table."""
    program = sys.argv[1]
    references = argument(2, 20_000_000)
    runs = argument(3, 7)
    trace = warmset.synth("zipf:pages=1000000,alpha=1", references)
    pages = trace.pages
    calls: dict[str, Callable[[], object]] = {
        "Trace": lambda: warmset.Trace(pages),
        "simulate": lambda: warmset.simulate(trace, "lru", [100_000], jobs=1),
        "curve": lambda: warmset.curve(trace),
    }
    rust = defaultdict[str, list[float]](list)
    python = defaultdict[str, list[float]](list)
    for _ in range(runs):
        done = subprocess.run([program, str(references)], check=True, capture_output=True, text=True)  # noqa: S603
        for line in done.stdout.splitlines():
            name, seconds = line.split()
            rust[name].append(float(seconds))
        for name, call in calls.items():
            python[name].append(timed(call))
    print("| call | Rust, s | Python, s | more, by the least | more, by the median |\n|---|---:|---:|---:|---:|")
    for name in calls:
        rust_least = min(rust[name])
        python_least = min(python[name])
        by_least = more(rust_least, python_least)
        by_median = more(statistics.median(rust[name]), statistics.median(python[name]))
        print(f"| `{name}` | {rust_least:.3f} | {python_least:.3f} | {by_least} | {by_median} |")


if __name__ == "__main__":
    main()
