"""Replacement policies that are written in Python."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset._warmset import Trace


class Policy:
    """A replacement policy in Python: the base class of your own.

    ``simulate(trace, Mine, …)`` makes a ``Mine(capacity, trace)`` for each size of memory, with no page in it, and
    runs it over the trace. The engine knows which pages are in memory, and counts. A policy chooses what goes: it has
    ``evict``, and may have ``hit`` and ``load``. Pages are the numbers of ``trace.refs``, 0 to ``trace.distinct -
    1``, so that lists can be indexed by them; ``trace.names[page]`` is a page's number in the source. Times are the
    trace's, or references.

    Memory is fixed: a page goes when memory is full, and only then. What a method raises ends ``simulate``, and comes
    out of it. So it is if ``evict`` returns a page that is not in memory.

    Cost: LRU in Python takes 0.44 µs a reference, 44 times as much as the built-in one; FIFO, which has no ``hit``,
    takes 0.11 µs, 16 times as much (docs/results/python.md). A call with its own work is about 0.3 µs, and a method
    that is not defined costs nothing. Runs of such policies take turns, beside the runs of built-in ones, which need
    no interpreter.

    Attributes:
        capacity: pages of memory; at most the footprint, as what is more is never used.
        trace: the trace, for policies that know the future. Single items of its arrays are slow to get: take
            ``trace.refs.tolist()``.
        name: what results call the policy; by default the name of the class.

    >>> from collections import OrderedDict
    >>> class Mine(Policy):
    ...     def __init__(self, capacity, trace):
    ...         super().__init__(capacity, trace)
    ...         self.order = OrderedDict()
    ...     def hit(self, page, now):
    ...         self.order.move_to_end(page)
    ...     def evict(self, page, now):
    ...         return self.order.popitem(last=False)[0]
    ...     def load(self, page, now):
    ...         self.order[page] = None
    >>> scores = simulate(synth("zipf:pages=500", 10_000), [Mine, "lru"], [50])
    >>> scores["policy"], bool(scores["misses"][0] == scores["misses"][1])
    (['Mine', 'lru'], True)

    """

    name: str

    def __init__(self, capacity: int, trace: Trace) -> None:
        """Begin with an empty memory of ``capacity`` pages."""
        self.capacity = capacity
        self.trace = trace

    def hit(self, page: int, now: int) -> None:
        """Note that a page in memory is used."""

    def evict(self, page: int, now: int) -> int:
        """Return the page that goes, as memory is full and ``page`` is to be loaded. It is no longer in memory then."""
        raise NotImplementedError(f"{type(self).__name__} has no method evict(self, page, now)")

    def load(self, page: int, now: int) -> None:
        """Note that a page is now in memory, and is used."""


def label_of(make: Callable[..., Policy]) -> str:
    """Return the name that results have for a policy: of the class; with its options if it is a partial of one."""
    if isinstance(make, partial):
        options = ",".join([*map(str, make.args), *(f"{name}={value}" for name, value in make.keywords.items())])
        return f"{label_of(make.func)}:{options}"
    name = getattr(make, "name", None)
    return name if isinstance(name, str) else getattr(make, "__name__", type(make).__name__)
