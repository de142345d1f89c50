"""The laboratory of working sets, and recorded memory incidents, for notebooks.

A reference trace in, and how large the working set is, what each replacement policy would miss at each size, and what
another configuration of the guard would have done, out. Everything is computed by the same code as in the command
``warmset``, and equal to what that prints.

>>> import warmset
>>> trace = warmset.synth("zipf:pages=500", 10_000)
>>> trace
<warmset.Trace: 10000 references to 496 pages>
>>> misses = warmset.curve(trace)
>>> scores = warmset.simulate(trace, "lru,arc,opt", ["10%"])
>>> bool(scores["misses"][0] == misses[50])
True

Numbers come as NumPy arrays. The interpreter's lock is released while Rust computes; Ctrl-C ends the wait at once.
"""

from importlib.metadata import version as _version

from warmset._warmset import (
    Error,
    Lifetime,
    Recording,
    Trace,
    WorkingSet,
    curve,
    lifetime,
    policies,
    replay,
    simulate,
    synth,
    working_set,
)

__all__ = [
    "Error",
    "Lifetime",
    "Recording",
    "Trace",
    "WorkingSet",
    "curve",
    "lifetime",
    "policies",
    "replay",
    "simulate",
    "synth",
    "working_set",
]
__version__ = _version("warmset")
