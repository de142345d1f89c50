"""Trace analysis, and recorded memory incidents, for notebooks.

From a reference trace the package computes how large the working set is, and what each replacement policy would miss at
each size. From a recording of the guard it computes what another configuration would have done. The code is that of the
command ``warmset``, so the numbers are the same.

>>> import warmset
>>> trace = warmset.synth("zipf:pages=500", 10_000)
>>> trace
<warmset.Trace: 10000 references to 496 pages>
>>> misses = warmset.curve(trace)
>>> scores = warmset.simulate(trace, "lru,arc,opt", ["10%"])
>>> bool(scores["misses"][0] == misses["misses"][50])
True

Results are Arrow tables, with NumPy arrays as columns; a trace is one, too. The interpreter's lock is released while
Rust computes, and Ctrl-C ends the wait at once.
"""

from importlib.metadata import version as _version

from warmset._policy import Policy
from warmset._sweep import sweep
from warmset._warmset import (
    Analysis,
    Error,
    Lifetime,
    Recording,
    Table,
    Together,
    Trace,
    WorkingSet,
    analyze,
    curve,
    lifetime,
    policies,
    replay,
    simulate,
    simulate_objects,
    synth,
    together,
    working_set,
)

__all__ = [
    "Analysis",
    "Error",
    "Lifetime",
    "Policy",
    "Recording",
    "Table",
    "Together",
    "Trace",
    "WorkingSet",
    "analyze",
    "curve",
    "lifetime",
    "policies",
    "replay",
    "simulate",
    "simulate_objects",
    "sweep",
    "synth",
    "together",
    "working_set",
]
__version__ = _version("warmset")
