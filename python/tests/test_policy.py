"""Policies that are written in Python: as many misses as those of Rust, and their errors."""

import random
import signal
import subprocess
import sys
import time
from collections import OrderedDict, deque
from functools import partial
from typing import Any

import pytest
from conftest import FIXTURES

import warmset

ZIPF = warmset.synth("zipf:pages=400", 20_000, seed=3)
PHASES = warmset.synth("phases:pages=60", 20_000, writes=0.4, seed=4)


class Lru(warmset.Policy):
    """The least recently used goes."""

    def __init__(self, capacity: int, trace: warmset.Trace) -> None:
        super().__init__(capacity, trace)
        self.order: OrderedDict[int, None] = OrderedDict()

    def hit(self, page: int, now: int) -> None:  # noqa: ARG002
        self.order.move_to_end(page)

    def evict(self, page: int, now: int) -> int:  # noqa: ARG002
        return self.order.popitem(last=False)[0]

    def load(self, page: int, now: int) -> None:  # noqa: ARG002
        self.order[page] = None


class Fifo(warmset.Policy):
    """The first that came goes: nothing is done at a hit."""

    name = "first-in"

    def __init__(self, capacity: int, trace: warmset.Trace) -> None:
        super().__init__(capacity, trace)
        self.queue: deque[int] = deque()

    def evict(self, page: int, now: int) -> int:  # noqa: ARG002
        return self.queue.popleft()

    def load(self, page: int, now: int) -> None:  # noqa: ARG002
        self.queue.append(page)


class Optimum(warmset.Policy):
    """The one that is used last goes: it reads the trace ahead."""

    def __init__(self, capacity: int, trace: warmset.Trace) -> None:
        super().__init__(capacity, trace)
        pages = trace.refs.tolist()
        self.next = [len(pages)] * len(pages)
        later: dict[int, int] = {}
        for at in reversed(range(len(pages))):
            self.next[at] = later.get(pages[at], len(pages))
            later[pages[at]] = at
        self.due: dict[int, int] = {}

    def hit(self, page: int, now: int) -> None:
        self.due[page] = self.next[now]

    def evict(self, page: int, now: int) -> int:  # noqa: ARG002
        last = max(self.due, key=lambda page: self.due[page])
        del self.due[last]
        return last

    load = hit


class Chance(warmset.Policy):
    """Any goes, by a seed."""

    def __init__(self, capacity: int, trace: warmset.Trace, *, seed: int = 1) -> None:
        super().__init__(capacity, trace)
        self.random, self.pages = random.Random(seed), list[int]()  # noqa: S311

    def evict(self, page: int, now: int) -> int:  # noqa: ARG002
        return self.pages.pop(self.random.randrange(len(self.pages)))

    def load(self, page: int, now: int) -> None:  # noqa: ARG002
        self.pages.append(page)


COUNTED = ("capacity", "references", "distinct", "misses", "miss_ratio", "writebacks", "mean_size", "above_footprint")


@pytest.mark.parametrize("trace", [ZIPF, PHASES], ids=["zipf", "phases"])
@pytest.mark.parametrize(("mine", "built_in"), [(Lru, "lru"), (Fifo, "fifo"), (Optimum, "opt")])
def test_a_policy_counts_as_the_built_in_one(trace: warmset.Trace, mine: Any, built_in: str) -> None:  # noqa: ANN401
    sizes: list[int | str] = [1, 2, 17, "25%", trace.distinct, 100_000]
    ours = warmset.simulate(trace, mine, sizes)
    theirs = warmset.simulate(trace, built_in, sizes)
    # Of two pages that are not used again either may go, so the optimum's write-backs are not one number.
    counted = set(COUNTED) - ({"writebacks"} if built_in == "opt" else set())
    for one, other in zip(ours.rows(), theirs.rows(), strict=True):
        assert {name: one[name] for name in counted} == {name: other[name] for name in counted}


def test_real_references_miss_as_often() -> None:
    trace = warmset.Trace.read(FIXTURES / "traces" / "web12.trace.xz")
    scores = warmset.simulate(trace, [Lru, "lru"], ["1%", "10%"])
    assert scores["misses"][:2].tolist() == scores["misses"][2:].tolist()


def test_policies_of_both_kinds_stay_in_their_order() -> None:
    told = list[tuple[int, int | None]]()
    policies: list[Any] = ["lru,2q:kin=0.25,kout=0.5", Fifo, "arc", Lru, partial(Chance, seed=7)]
    scores = warmset.simulate(ZIPF, policies, [9, 90], progress=lambda done, total: told.append((done, total)))
    labels = ["lru", "2q:kin=0.25,kout=0.5", "first-in", "arc", "Lru", "Chance:seed=7"]
    assert scores["policy"] == [label for label in labels for _ in range(2)]
    assert scores["capacity"].tolist() == [9, 90] * 6
    assert told[-1] == (12, 12)


def test_options_make_a_difference_and_a_seed_the_same() -> None:
    runs: list[Any] = [partial(Chance, seed=seed) for seed in (1, 1, 2)]
    first, again, other = warmset.simulate(ZIPF, runs, [40])["misses"]
    assert first == again != other
    rows = warmset.sweep({"a": ZIPF, "b": PHASES}, [Lru, "lru"], ["10%"])
    assert rows["misses"][0] == rows["misses"][1]
    assert rows["misses"][2] == rows["misses"][3]


def test_times_are_those_of_the_trace() -> None:
    seen = list[int]()

    class Watching(Fifo):
        """Fifo that looks at the clock."""

        def hit(self, page: int, now: int) -> None:
            seen.append(now)
            assert self.trace.refs[0] == page

    warmset.simulate(warmset.Trace([5, 5, 6, 5], [10, 20, 20, 70]), Watching, [2])
    assert seen == [20, 70]


class Broken(Lru):
    """A policy with a defect, which a test chooses."""

    gives: Any = None

    def evict(self, page: int, now: int) -> int:  # noqa: ARG002
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives  # type: ignore[no-any-return]


class Nothing(warmset.Policy):
    """A policy without a method."""


@pytest.mark.parametrize(
    ("gives", "kind", "words"),
    [
        (None, TypeError, r"Broken\.evict returned None: the number of a page in memory is meant"),
        ("7", TypeError, r"returned '7'"),
        (399, warmset.Error, r"Broken\.evict returned 399: this page is not in memory"),
        (-1, warmset.Error, "returned -1: this page is not in memory"),
        (2**40, warmset.Error, "this page is not in memory"),
        (ZeroDivisionError("mine"), ZeroDivisionError, "mine"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_a_defect_is_told(gives: Any, kind: type[BaseException], words: str | None) -> None:  # noqa: ANN401
    broken = type("Broken", (Broken,), {"gives": gives})
    if isinstance(gives, KeyboardInterrupt):

        def evict(*_: object) -> int:
            raise KeyboardInterrupt

        broken.evict = evict  # type: ignore[attr-defined]
    with pytest.raises(kind, match=words):
        warmset.simulate(ZIPF, ["lru", broken], [20])


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"Nothing has no method evict\(self, page, now\)"):
        warmset.simulate(ZIPF, Nothing, [20])
    with pytest.raises(TypeError, match="positional"):
        warmset.simulate(ZIPF, lambda: None, [20])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"<lambda> made an object of the class int: a subclass of warmset\.Policy"):
        warmset.simulate(ZIPF, lambda *_: 5, [20])  # type: ignore[arg-type]
    with pytest.raises(warmset.Error, match="no policy '5': there are fifo"):
        warmset.simulate(ZIPF, [Lru, 5], [20])  # type: ignore[list-item]


FOREVER = """
import warmset
class Slow(warmset.Policy):
    def evict(self, page, now):
        return next(iter(self.pages))
    def __init__(self, capacity, trace):
        self.pages = dict.fromkeys(range(capacity))
    def hit(self, page, now):
        for _ in range(1000):
            pass
trace = warmset.Trace([1, 2] * 2_000_000)
print("ready", flush=True)
try:
    warmset.simulate(trace, [Slow, "lru"], [5])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_control_c_ends_a_policy_in_python() -> None:
    with subprocess.Popen([sys.executable, "-c", FOREVER], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert child.stdout.readline() == "interrupted\n"
        assert child.wait(timeout=10) == 0
        assert time.monotonic() - began < 5


def test_a_method_that_is_not_defined_costs_no_call() -> None:
    calls = list[str]()

    class Counting(Lru):
        """LRU that notes each call."""

        def hit(self, page: int, now: int) -> None:
            calls.append("hit")
            super().hit(page, now)

        def evict(self, page: int, now: int) -> int:
            calls.append("evict")
            return super().evict(page, now)

        def load(self, page: int, now: int) -> None:
            calls.append("load")
            super().load(page, now)

    [misses] = warmset.simulate(ZIPF, Counting, [40])["misses"]
    assert calls.count("load") == misses
    assert calls.count("evict") == misses - 40
    assert calls.count("hit") == len(ZIPF) - misses
