"""Many traces, policies and sizes in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from warmset._policy import Policy
from warmset._warmset import Error, Table, Trace, policies, simulate

_Traces: TypeAlias = Mapping[str, Trace | str | PathLike[str]] | Iterable[Trace | str | PathLike[str]]
_Asked: TypeAlias = str | Callable[[int, Trace], Policy]


def named(traces: _Traces) -> dict[str, Trace | Path]:
    """Return the traces by name: of a list, by the path or the file, or by their place."""
    if isinstance(traces, Mapping):
        return {name: trace if isinstance(trace, Trace) else Path(trace) for name, trace in traces.items()}
    found: dict[str, Trace | Path] = {}
    for place, trace in enumerate(traces, 1):
        if isinstance(trace, Trace):
            name = str(place) if trace.source is None else str(trace.source["file"])
            found[name] = trace
        else:
            found[str(trace)] = Path(trace)
        if len(found) < place:
            raise Error(f"two traces are called {list(found)[-1]}: give a dict of names and traces")
    return found


def base_of(policy: _Asked) -> str | None:
    """Return the name of a built-in policy, without its options."""
    return policy.partition(":")[0].partition("(")[0].strip() if isinstance(policy, str) else None


def split(told: str) -> list[str]:
    """Return the policies in a text, of which each may have options with commas between."""
    found: list[str] = []
    for word in told.split(","):
        belongs = found and "=" in word and ":" not in word
        if belongs:
            found[-1] += f",{word}"
        else:
            found.append(word)
    return found


def listed(policies: Any) -> list[_Asked]:  # noqa: ANN401
    """Return the policies: of a text, of a list, or one of Python."""
    if isinstance(policies, str):
        return list(split(policies))
    return [policies] if callable(policies) else list(policies)


def combined(asked: Sequence[_Asked], parameters: Mapping[str, Mapping[str, Iterable[float]]]) -> list[_Asked]:
    """Return the policies, each with every combination of the values of its options."""
    every: list[_Asked] = []
    for policy in asked:
        every.extend([entry["name"] for entry in policies()] if policy == "all" else [policy])
    unused = set(parameters) - {base_of(policy) for policy in every}
    if unused:
        raise Error(f"parameters of {min(unused)}, which is not a policy of the sweep")
    found: list[_Asked] = []
    for policy in every:
        options = parameters.get(base_of(policy) or "", {})
        for values in product(*(options[name] for name in options)):
            label = policy
            for name, value in zip(options, values, strict=True):
                label = f"{label}{',' if ':' in str(label) else ':'}{name}={value:.17g}"
            found.append(label)
    return found


def sweep(  # noqa: PLR0913 - what simulate takes, and more
    traces: _Traces,
    policies: _Asked | Iterable[_Asked] = "lru,opt",
    capacities: str | Iterable[int | str] | None = None,
    *,
    parameters: Mapping[str, Mapping[str, Iterable[float]]] | None = None,
    jobs: int = 0,
    progress: Callable[[int, int], object] | None = None,
    **reading: Any,  # noqa: ANN401
) -> Table:
    """Run policies on many traces, with every combination of parameters, at every capacity.

    A trace that is given by its path is read when it is its turn, and not kept: one is in memory at a time. The rows
    are those that ``warmset sweep`` writes to result.parquet; that command also goes on where it was interrupted, and
    runs on a cluster.

    Args:
        traces: a dict of names and traces, or a list. A trace is a ``Trace`` or a path. In a list it is called as its
            file, or by its place.
        policies: as in ``simulate``.
        capacities: as in ``simulate``; a share is one of each trace's own footprint.
        parameters: values of the policies' options: ``{"2q": {"kin": [0.1, 0.25]}}``.
        jobs: run so many at once; 0: one for each CPU.
        progress: called as ``progress(traces done, traces in all)``.
        **reading: how files are read, as in ``Trace.read``.

    Returns:
        A table as of ``simulate``, with one column more, the first: trace (str).

    Raises:
        OSError: a file cannot be read.
        Error: no traces, no such policy or option, parameters of a policy that is not run.

    >>> traces = {"small": synth("zipf:pages=99", 9_000), "large": synth("zipf:pages=999", 9_000)}
    >>> rows = sweep(traces, "lru,2q", ["10%"], parameters={"2q": {"kin": [0.1, 0.5]}})
    >>> rows["trace"]
    ['small', 'small', 'small', 'large', 'large', 'large']
    >>> rows["policy"][:3]
    ['lru', '2q:kin=0.1', '2q:kin=0.5']

    """
    asked = combined(listed(policies), parameters or {})
    tables: dict[str, Table] = {}
    wanted = named(traces)
    for name, trace in wanted.items():
        loaded = trace if isinstance(trace, Trace) else Trace.read(trace, **reading)
        tables[name] = simulate(loaded, asked, capacities, jobs=jobs)
        if progress is not None:
            progress(len(tables), len(wanted))
    return Table.concat(tables, "trace")
