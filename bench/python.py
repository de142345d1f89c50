"""What Python adds to the Rust calls: python.py CALLS [REFERENCES [RUNS]].

CALLS is the program of ``cargo build --release -p warmset-traces --example calls``, which makes the same calls on the
same references without Python. Both take turns, RUNS (7) times each, on REFERENCES (20,000,000) by Zipf's law to a
million pages; the table has the least and the median. A second table has what a policy in Python costs beside the
built-in one. Needs the package: ``pip install ./python``.
"""

# ruff: noqa: INP001, T201
import resource
import statistics
import subprocess
import sys
import time
from collections import OrderedDict, defaultdict, deque
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


class Lru(warmset.Policy):
    """LRU: a call at each hit, and two at a miss."""

    def __init__(self, capacity: int, trace: warmset.Trace) -> None:
        """Begin with no page."""
        super().__init__(capacity, trace)
        self.order: OrderedDict[int, None] = OrderedDict()

    def hit(self, page: int, now: int) -> None:  # noqa: ARG002
        """Make it the last to go."""
        self.order.move_to_end(page)

    def evict(self, page: int, now: int) -> int:  # noqa: ARG002
        """Give the least recently used."""
        return self.order.popitem(last=False)[0]

    def load(self, page: int, now: int) -> None:  # noqa: ARG002
        """Make it the last to go."""
        self.order[page] = None


class Fifo(warmset.Policy):
    """FIFO: no call at a hit."""

    def __init__(self, capacity: int, trace: warmset.Trace) -> None:
        """Begin with no page."""
        super().__init__(capacity, trace)
        self.queue: deque[int] = deque()

    def evict(self, page: int, now: int) -> int:  # noqa: ARG002
        """Give the one that came first."""
        return self.queue.popleft()

    def load(self, page: int, now: int) -> None:  # noqa: ARG002
        """Queue it."""
        self.queue.append(page)


def processor_time(call: Callable[[], object]) -> float:
    """Seconds of the processor that a call takes: on a busy machine, too."""
    began = resource.getrusage(resource.RUSAGE_SELF)
    call()
    ended = resource.getrusage(resource.RUSAGE_SELF)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


def policies(runs: int) -> None:
    """Print what policies in Python cost, of a million references to 100,000 pages, of which memory holds a tenth."""
    trace = warmset.synth("zipf:pages=100000,alpha=1", 1_000_000)
    print("| policy | misses | Python, ns a reference | built in, ns | times |\n|---|---:|---:|---:|---:|")
    for name, own in (("lru", Lru), ("fifo", Fifo)):
        [misses] = warmset.simulate(trace, name, [10_000])["misses"]
        seconds = []
        for policy in (own, name):
            times = [processor_time(lambda: warmset.simulate(trace, policy, [10_000], jobs=1)) for _ in range(runs)]  # noqa: B023
            seconds.append(min(times) / len(trace))
        python, rust = seconds
        print(f"| {name} | {misses} | {python * 1e9:.0f} | {rust * 1e9:.1f} | {python / rust:.0f} |")


def main() -> None:
    """Print the tables."""
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
    print()
    policies(runs)


if __name__ == "__main__":
    main()
