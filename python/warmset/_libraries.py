"""What is done with other libraries: data frames, pictures, and tables as text. Each is imported when it is needed."""

from __future__ import annotations

import html
import math
from importlib import import_module
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from warmset._warmset import Error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from warmset._warmset import Analysis, Table, Trace

# Rows of a longer table that are shown at its start and at its end.
SHOWN = 5
# A picture of an axis shows no more than this between its ends by a linear scale.
LINEAR = 100.0
# The column that has times: a course of time is seen by a linear scale, however long it is.
TIME = "begins"
# Points that have a mark of their own on a line: with more of them the marks hide it.
MARKED = 100


def needed(name: str, what: str, package: str | None = None) -> Any:
    """Import a library, or say how to install it."""
    try:
        return import_module(name)
    except ImportError as missing:
        library = name.partition(".")[0]
        if missing.name is None or missing.name.partition(".")[0] != library:
            raise
        raise ImportError(f"{what} needs {library}: pip install {package or library}", name=library) from None


def to_arrow(table: Table | Trace) -> Any:
    """Return a ``pyarrow.Table``."""
    return needed("pyarrow", "to_arrow").table(table)


def to_polars(table: Table | Trace) -> Any:
    """Return a ``polars.DataFrame``."""
    return needed("polars", "to_polars").DataFrame(table)


def to_pandas(table: Table) -> Any:
    """Return a ``pandas.DataFrame`` of a table's columns."""
    return needed("pandas", "to_pandas").DataFrame(dict(table))


def trace_to_pandas(trace: Trace) -> Any:
    """Return a ``pandas.DataFrame`` of a trace's columns."""
    columns = {"time": trace.time, "page": trace.pages, "op": trace.op, "task": trace.task, "size": trace.size}
    known = {name: column for name, column in columns.items() if column is not None}
    return needed("pandas", "to_pandas").DataFrame(known)


def words(value: object) -> str:
    """Return a value as a table shows it."""
    if value is None:
        return "\u2013"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def shown(table: Table) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, and the first and the last rows as text."""
    places: list[int | None] = list(range(len(table)))
    if len(places) > 2 * SHOWN + 1:
        places = [*places[:SHOWN], None, *places[-SHOWN:]]
    rows = []
    for place in places:
        row = None if place is None else table[place]
        rows.append(["…" if row is None else words(row[name]) for name in table.columns])
    return table.columns, rows


def as_text(table: Table) -> str:
    """Return a table as text, for ``repr``."""
    names, rows = shown(table)
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = [f"<warmset.{type(table).__name__}: {len(table)} rows>"]
    lines.extend("  ".join(map(str.rjust, row, widths)) for row in [names, *rows])
    return "\n".join(lines)


def as_html(table: Table) -> str:
    """Return a table as HTML, for notebooks."""
    names, rows = shown(table)
    caption = f"{type(table).__name__}: {len(table)} rows"
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def facts_as_html(caption: str, facts: Mapping[str, object]) -> str:
    """Return names and values as HTML, for notebooks."""
    body = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(words(value))}</td></tr>" for name, value in facts.items()
    )
    return f"<table><caption>{html.escape(caption)}</caption><tbody>{body}</tbody></table>"


def trace_as_html(trace: Trace) -> str:
    """Return what is known of a trace as HTML, for notebooks."""
    facts: dict[str, object] = {
        "references": f"{len(trace):,}",
        "pages": f"{trace.distinct:,} of {trace.page_size:,} bytes",
    }
    if trace.time is not None:
        facts["time"] = f"{trace.time[0]:,} to {trace.time[-1]:,} {trace.clock}"
    facts["columns"] = ", ".join(trace.columns)
    if trace.note is not None:
        facts["read"] = trace.note
    return facts_as_html("Trace", facts)


def analysis_as_html(analysis: Analysis) -> str:
    """Return an analysis as HTML, for notebooks."""
    program = analysis.program
    facts = {name: program[name] for name in ("references", "uses", "pages", "page_size", "clock", "time")}
    floor = program["floor"]
    facts["floor"] = (
        "none: no locality" if floor is None else f"{floor['pages']} pages, at a window of {floor['theta']}"
    )
    parts = [facts_as_html(f"Analysis: {program['name']}", facts)]
    parts += [as_html(table) for table in (analysis.windows, analysis.faults, analysis.needs) if table is not None]
    return "".join(parts)


def plot_analysis(analysis: Analysis) -> Any:
    """Draw an analysis; see ``Analysis.plot``."""
    pyplot = needed("matplotlib.pyplot", "plot")
    figure, panels = pyplot.subplots(2, 2, figsize=(11, 7), layout="constrained")
    (uses, sizes), (lifetimes, intervals) = panels
    start, time = analysis.program["start"], analysis.program["time"]
    cells = np.log1p(analysis.map)
    uses.imshow(
        cells, aspect="auto", origin="lower", extent=(start, start + time, 0, analysis.program["pages"]), cmap="magma"
    )
    uses.set(title="uses", xlabel="begins", ylabel="pages by rank")
    analysis.sizes.plot(log="", ax=sizes).set_title("working set")
    if analysis.lifetimes is not None:
        analysis.lifetimes.plot(ax=lifetimes)
    lifetimes.set_title("lifetime")
    analysis.intervals.plot(log="xy", ax=intervals).set_title("times between uses")
    return figure


def scale(values: Iterable[float]) -> str:
    """Return the scale on which values are seen: logarithmic if they are spread widely."""
    positive = [value for value in values if value > 0 and math.isfinite(value)]
    return "log" if positive and max(positive) > LINEAR * min(positive) else "linear"


def scales(table: Table, across: str, upwards: str, log: str | None) -> tuple[str, str]:
    """Return the scales of both axes."""
    if log is None:
        return "linear" if across == TIME else scale(table[across]), scale(table[upwards])
    if log not in ("", "x", "y", "xy"):
        raise Error(f"log={log!r}: '', 'x', 'y' or 'xy' is meant")
    return "log" if "x" in log else "linear", "log" if "y" in log else "linear"


def axes_of(table: Table, x: str | None, y: str | None, by: str | None) -> tuple[str, str, str | None]:
    """Return the columns that are drawn: those that were said, or the table's own."""
    own = table.axes
    across, upwards = x or own.get("x"), y or own.get("y")
    if across is None or upwards is None:
        raise Error(f"this table has no picture of its own: say x and y, of {', '.join(table.columns)}")
    if by is None and "by" in own and own["by"] not in (across, upwards):
        by = own["by"]
    for name in (across, upwards, by):
        if name is not None and name not in table:
            raise Error(f"no column {name!r} to draw: there are {', '.join(table.columns)}")
    return across, upwards, by


def drawing_library(told: str | None) -> str:
    """Return the library that draws: the one that was said, or the first that is installed."""
    known = {"matplotlib": "matplotlib.pyplot", "altair": "altair"}
    if told is not None:
        if told not in known:
            raise Error(f"no library {told!r} to draw with: there are {', '.join(known)}")
        needed(known[told], "plot")
        return told
    for name, module in known.items():
        try:
            import_module(module)
        except ImportError:
            continue
        return name
    raise ImportError(
        "plot needs matplotlib or Altair: pip install matplotlib, or pip install altair", name="matplotlib"
    )


def plot(  # noqa: PLR0913 - what Table.plot takes
    table: Table,
    *,
    x: str | None,
    y: str | None,
    by: str | None,
    log: str | None,
    ax: Any,
    library: str | None,
) -> Any:
    """Draw a table; see ``Table.plot``."""
    columns = axes_of(table, x, y, by)
    scale_of = scales(table, columns[0], columns[1], log)
    library = "matplotlib" if ax is not None else drawing_library(library)
    if library == "altair":
        return by_altair(table, columns, scale_of)
    return by_matplotlib(table, columns, scale_of, ax)


def by_matplotlib(
    table: Table,
    columns: tuple[str, str, str | None],
    scale_of: tuple[str, str],
    ax: Any,
) -> Any:
    """Draw a line for each name, on axes of matplotlib."""
    pyplot = needed("matplotlib.pyplot", "plot")
    x, y, by = columns
    if ax is None:
        _, ax = pyplot.subplots()
    names = list(dict.fromkeys(table[by])) if by else [None]
    markers = cycle("osv^D*PX")
    band = band_of(table, y)
    for name in names:
        which = np.array([own == name for own in table[by]]) if by else np.ones(len(table), dtype=bool)
        few = which.sum() < MARKED
        across = np.asarray(table[x])[which]
        ax.plot(across, np.asarray(table[y])[which], marker=next(markers) if few else None, markersize=3, label=name)
        if band is not None:
            ax.fill_between(across, *(np.asarray(table[edge])[which] for edge in band), alpha=0.3)
    ax.set(xlabel=x, ylabel=y, xscale=scale_of[0], yscale=scale_of[1])
    ax.grid(visible=True, alpha=0.3)
    if by:
        ax.legend(title=by)
    return ax


def band_of(table: Table, y: str) -> tuple[str, str] | None:
    """Return the columns between which a band is drawn around the table's own line."""
    own = table.axes
    if y != own.get("y") or "band" not in own:
        return None
    low, _, high = own["band"].partition("..")
    return low, high


def by_altair(table: Table, columns: tuple[str, str, str | None], scale_of: tuple[str, str]) -> Any:
    """Draw a line for each name, as a chart of Altair."""
    altair = needed("altair", "plot")
    x, y, by = columns
    rows = table.rows()
    # By a logarithm there is no place for 0.
    rows = [row for row in rows if not (scale_of[0] == "log" and row[x] <= 0)]
    rows = [row for row in rows if not (scale_of[1] == "log" and row[y] <= 0)]
    encoded = {
        "x": altair.X(x, type="quantitative", scale=altair.Scale(type=scale_of[0])),
        "y": altair.Y(y, type="quantitative", scale=altair.Scale(type=scale_of[1])),
    }
    if by:
        encoded["color"] = altair.Color(by, type="nominal", sort=None)
    return altair.Chart(altair.Data(values=rows)).mark_line(point=len(rows) < MARKED).encode(**encoded)
