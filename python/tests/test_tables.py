"""Results as tables: for Arrow, for data frames, and drawn."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import warmset

mpl.use("Agg")

TRACE = warmset.synth("zipf:pages=300", 5000)
WRITING = warmset.synth("phases:pages=40", 9000, writes=0.5)


def results() -> Iterator[tuple[str, warmset.Table]]:
    """Make a result of every kind."""
    yield "simulate", warmset.simulate(TRACE, "lru,ws:theta=90,opt", ["10%", 9999])
    yield "simulate, writing", warmset.simulate(WRITING, "lru", ["10%"])
    yield "curve", warmset.curve(TRACE)
    yield "lifetime", warmset.lifetime(TRACE)
    yield "working_set", warmset.working_set(TRACE, 100)
    yield "sweep", warmset.sweep({"a": TRACE, "b": WRITING}, "lru,fifo", ["10%"])
    both = warmset.together({"a": TRACE, "b": WRITING}, ["50%"], "lru,share")
    yield "together", both
    yield "together, programs", both.programs
    analysis = warmset.analyze(WRITING)
    for name in ("needs", "regions", "windows", "sizes", "lifetimes", "faults", "space_time", "moves", "intervals"):
        yield f"analyze, {name}", getattr(analysis, name)


RESULTS = dict(results())
EACH = pytest.mark.parametrize("table", RESULTS.values(), ids=RESULTS.keys())


@EACH
def test_every_library_has_the_same_rows(table: warmset.Table) -> None:
    rows = table.rows()
    assert len(rows) == len(table) > 0
    assert pa.table(table).to_pylist() == rows
    assert pa.record_batch(table).to_pylist() == rows
    assert table.to_arrow().to_pylist() == rows
    assert table.to_polars().rows(named=True) == rows
    assert pl.DataFrame(table).rows(named=True) == rows
    assert pa.schema(table).names == table.columns == list(table) == table.keys()
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    known = frame.astype(object).where(frame.notna(), None)
    assert known.to_dict("records") == rows
    for name, values in dict(table).items():
        assert [None if value != value else value for value in values] == [row[name] for row in rows]  # noqa: PLR0124


@EACH
def test_rows_and_columns_are_found(table: warmset.Table) -> None:
    rows = table.rows()
    assert (table[0], table[-1], table[np.int64(0)]) == (rows[0], rows[-1], rows[0])
    assert table[1:].rows() == rows[1:]
    assert table[::-1].rows() == rows[::-1]
    assert table[5:2].rows() == []
    assert "no such" not in table
    assert all(name in table for name in table.columns)
    with pytest.raises(KeyError, match=f'no column "size of it": there are {table.columns[0]}'):
        table["size of it"]
    with pytest.raises(IndexError, match=f"row 99999 of a table of {len(rows)} rows"):
        table[99_999]
    with pytest.raises(TypeError, match="float is neither"):
        table[1.5]  # type: ignore[call-overload]


@EACH
def test_every_result_is_drawn_by_both_libraries(table: warmset.Table) -> None:
    own = table.axes
    drawn = table.plot()
    assert (drawn.get_xlabel(), drawn.get_ylabel()) == (own["x"], own["y"])
    lines = drawn.get_lines()
    names = set(table[own["by"]]) if "by" in own else {None}
    assert len(lines) == len(names)
    assert sum(len(line.get_xdata()) for line in lines) == len(table)
    plt.close(drawn.figure)
    chart = table.plot(library="altair").to_dict()
    assert chart["encoding"]["x"]["field"] == own["x"]
    assert chart["encoding"]["y"]["field"] == own["y"]
    [values] = [data["values"] for data in [chart["data"]]]
    assert 0 < len(values) <= len(table)


def test_a_picture_is_as_it_is_asked_for() -> None:
    table = RESULTS["simulate"]
    _, ax = plt.subplots()
    assert table.plot("capacity", "misses", "policy", log="y", ax=ax) is ax
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    assert RESULTS["curve"].plot().get_xscale() == "log"
    assert (RESULTS["working_set"]["begins"][-1], RESULTS["working_set"].plot().get_xscale()) == (4993, "linear")
    for asked, words in (
        ({"x": "nothing"}, "no column 'nothing' to draw: there are policy"),
        ({"log": "z"}, "log='z'"),
        ({"library": "gnuplot"}, "no library 'gnuplot' to draw with: there are matplotlib, altair"),
    ):
        with pytest.raises(warmset.Error, match=words):
            table.plot(**asked)  # type: ignore[arg-type]
    plt.close("all")


def test_an_analysis_is_drawn() -> None:
    figure = warmset.analyze(WRITING).plot()
    assert len(figure.axes) == 4
    plt.close(figure)


def test_what_is_not_known_is_missing_and_not_zero() -> None:
    unknown, known = RESULTS["simulate"], RESULTS["simulate, writing"]
    assert pa.table(unknown)["writebacks"].null_count == len(unknown)
    assert np.isnan(unknown["writebacks"]).all()
    assert known["writebacks"].dtype == np.int64
    assert known["writebacks"][0] > 0


def test_tables_are_shown_as_text_and_in_notebooks() -> None:
    table = RESULTS["simulate"]
    text = repr(table)
    assert text.splitlines()[0] == "<warmset.Table: 6 rows>"
    assert len(text.splitlines()) == 2 + 6
    assert repr(RESULTS["curve"]).count("\n") == 1 + 11
    escaped = warmset.sweep({"<b>": TRACE}, "lru", [9])._repr_html_()  # type: ignore[attr-defined]
    assert "&lt;b&gt;" in escaped
    assert "<b>" not in escaped
    assert "Lifetime: " in RESULTS["lifetime"]._repr_html_()  # type: ignore[attr-defined]
    assert "floor" in warmset.analyze(WRITING)._repr_html_()  # type: ignore[attr-defined]


@EACH
def test_tables_go_to_other_processes(table: warmset.Table) -> None:
    copy = pickle.loads(pickle.dumps(table))  # noqa: S301
    assert copy.rows() == table.rows()
    assert copy.axes == table.axes


def test_tables_are_put_under_each_other() -> None:
    table = RESULTS["simulate"]
    both = warmset.Table.concat({"one": table, "two": table[:1]}, "run")
    assert both["run"] == ["one"] * 6 + ["two"]
    assert both[6]["misses"] == table[0]["misses"]
    with pytest.raises(warmset.Error):
        warmset.Table.concat({"one": table, "two": RESULTS["curve"]}, "run")


WITHOUT = """
import sys
import warmset
for name in {hidden!r}:
    sys.modules[name] = None
table = warmset.curve(warmset.Trace([1, 2, 1]))
try:
    {call}
except ImportError as missing:
    print(missing)
"""


@pytest.mark.parametrize(
    ("hidden", "call", "words"),
    [
        (["pandas"], "table.to_pandas()", "to_pandas needs pandas: pip install pandas"),
        (["polars"], "table.to_polars()", "to_polars needs polars: pip install polars"),
        (["pyarrow"], "table.to_arrow()", "to_arrow needs pyarrow: pip install pyarrow"),
        (["pandas"], "warmset.Trace([1]).to_pandas()", "to_pandas needs pandas: pip install pandas"),
        (["matplotlib"], "table.plot(library='matplotlib')", "plot needs matplotlib: pip install matplotlib"),
        (["altair"], "table.plot(library='altair')", "plot needs altair: pip install altair"),
        (
            ["altair", "matplotlib"],
            "table.plot()",
            "plot needs matplotlib or Altair: pip install matplotlib, or pip install altair",
        ),
        (["matplotlib"], "print(type(table.plot()).__module__.split('.')[0])", "altair"),
        (["pyarrow"], "print(table.to_polars().shape, table.to_pandas().shape)", "(3, 3) (3, 3)"),
    ],
)
def test_a_library_that_is_missing_is_told(hidden: list[str], call: str, words: str, tmp_path: Path) -> None:
    script = WITHOUT.format(hidden=hidden, call=call)
    line: list[Any] = [sys.executable, "-c", script]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path)
    assert done.stdout.strip() == words
