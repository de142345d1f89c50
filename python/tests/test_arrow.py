"""Arrow tables in, from whoever makes them, and results out to them."""

import resource
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import warmset

PAGES = np.arange(200_000, dtype=np.uint64) % 777


def test_tables_are_read_where_they_are() -> None:
    before = pa.total_allocated_bytes()
    table = pa.table({"page": PAGES})
    trace = warmset.Trace.from_arrow(table)
    assert pa.total_allocated_bytes() == before
    assert np.array_equal(trace.pages, PAGES)


@pytest.mark.parametrize("kind", [pa.uint8(), pa.uint16(), pa.uint32(), pa.int16(), pa.int32(), pa.int64()])
def test_any_integers_will_do(kind: pa.DataType) -> None:
    trace = warmset.Trace.from_arrow(pa.table({"vpn": pa.array([7, 9, 7, 100], kind)}))
    assert trace.pages.tolist() == [7, 9, 7, 100]


def test_other_libraries_and_streams_will_do() -> None:
    assert np.array_equal(warmset.Trace.from_arrow(pl.DataFrame({"key": PAGES})).pages, PAGES)
    schema = pa.schema([("page", pa.uint64())])
    batches = [pa.record_batch([pa.array(part)], schema=schema) for part in np.split(PAGES, 8)]
    assert np.array_equal(warmset.Trace.from_arrow(pa.Table.from_batches(batches)).pages, PAGES)
    reader = pa.RecordBatchReader.from_batches(schema, iter(batches))
    assert np.array_equal(warmset.Trace.from_arrow(reader).pages, PAGES)


def test_runs_times_and_tasks_are_known() -> None:
    columns = {"time": [5, 9], "page": [1, 2], "run": [3, 1], "op": [2, 4], "task": [0, 9]}
    trace = warmset.Trace.from_arrow(pa.table(columns))
    assert trace.pages.tolist() == [1, 1, 1, 2]
    assert trace.time is not None
    assert trace.op is not None
    assert trace.task is not None
    assert (trace.time.tolist(), trace.op.tolist(), trace.task.tolist()) == ([5, 5, 5, 9], [2, 2, 2, 4], [0, 0, 0, 9])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pa.table({"page": [1.0, float("nan")]}), "the column page is no column of integers"),
        (pa.table({"page": ["a"]}), "no column of integers"),
        (pa.table({"page": pa.array([1, None, 2])}), "1 values of the column page are missing"),
        (pa.table({"page": [1, -2]}), "a negative value in the column page"),
        (pa.table({"number": [1]}), "no column is called one of page"),
        (pa.table({"page": pa.array([], pa.uint64())}), "the trace has no references"),
        (pa.table({"page": [1, 2], "time": [5, 4]}), "row 1: time goes back from 5 to 4"),
        (pa.table({"page": [1], "run": [0]}), "row 0: a run of 0 references"),
        (pa.table({"page": [1], "task": [70_000]}), "task 70000 is above 65535"),
    ],
)
def test_tables_that_are_no_trace_are_refused(table: pa.Table, words: str) -> None:
    with pytest.raises(warmset.Error, match=words):
        warmset.Trace.from_arrow(table)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match="list is no Arrow table"):
        warmset.Trace.from_arrow([1, 2])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"an Arrow array of Int64, and no table: Trace\(array\) takes one"):
        warmset.Trace.from_arrow(pa.array([1, 2]))
    assert warmset.Trace(pa.array([1, 2, 1])).distinct == 2
    assert warmset.Trace(pl.Series([1, 2, 1])).distinct == 2


class ArrayOnly:
    """What has a record batch, and no stream."""

    def __init__(self, batch: Any) -> None:  # noqa: ANN401
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        schema, array = self.batch.__arrow_c_array__(requested_schema)
        return schema, array


def test_a_batch_is_read_by_its_array() -> None:
    batch = pa.record_batch({"page": [7, 9, 7], "time": [1, 2, 2]})
    for batch_or_struct in (batch, batch.to_struct_array(), batch.slice(0, 3)):
        trace = warmset.Trace.from_arrow(ArrayOnly(batch_or_struct))
        assert (trace.pages.tolist(), trace.time is not None) == ([7, 9, 7], True)
    assert warmset.Trace.from_arrow(ArrayOnly(batch.slice(1, 1))).pages.tolist() == [9]
    missing = pa.StructArray.from_arrays([pa.array([1, 2])], names=["page"], mask=pa.array([False, True]))
    with pytest.raises(warmset.Error, match="1 rows of the table are missing"):
        warmset.Trace.from_arrow(ArrayOnly(missing))


def whole() -> warmset.Trace:
    """Make a trace of more than one batch, with every column."""
    n = 300_000
    columns = np.arange(n) // 3, np.array([1, 2, 4])[np.arange(n) % 3], np.arange(n) % 9
    return warmset.Trace(np.arange(n) * 17 % 1000 + 2**40, *columns, page_size=16_384, clock="nanoseconds")


def same(ours: warmset.Trace, theirs: warmset.Trace) -> bool:
    columns = ((getattr(one, name) for name in one.columns if name != "page") for one in (ours, theirs))
    return (
        ours.columns == theirs.columns
        and np.array_equal(ours.pages, theirs.pages)
        and all(np.array_equal(a, b) for a, b in zip(*columns, strict=True))
    )


def test_a_trace_goes_to_arrow_and_comes_back_the_same() -> None:
    for trace in (whole(), warmset.Trace([7, 9, 7]), warmset.synth("zipf", 1000, writes=0.3)):
        for arrow in (trace, pa.table(trace), pa.record_batch(trace), ArrayOnly(trace), trace.to_arrow()):
            back = warmset.Trace.from_arrow(arrow)
            assert same(back, trace)
            assert (back.page_size, back.clock) == (trace.page_size, trace.clock)
        assert same(warmset.Trace.from_polars(trace.to_polars()), trace)
        assert same(warmset.Trace.from_pandas(trace.to_pandas()), trace)
        assert same(warmset.Trace.from_arrow(trace.to_pandas()), trace)
        assert np.array_equal(np.asarray(trace), trace.pages)
    assert pa.schema(whole()).names == ["time", "page", "op", "task"]
    assert [str(kind) for kind in pa.schema(whole()).types] == ["uint64", "uint64", "uint8", "uint16"]


def test_a_trace_is_passed_on_batch_by_batch_and_outlives_itself() -> None:
    reader = pa.RecordBatchReader.from_stream(whole())
    batches = list(reader)
    assert len(batches) > 1
    assert sum(batch.num_rows for batch in batches) == 300_000
    kept = pa.table(whole())["page"]
    assert kept.to_numpy().tolist() == whole().pages.tolist()


def test_a_capsule_that_nobody_takes_is_released() -> None:
    trace = whole()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        trace.__arrow_c_array__()
        trace.__arrow_c_stream__()
    # An array is 5.7 MB: 200 that leaked would be a gigabyte.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_database_queries_traces_and_results() -> None:
    trace = whole()
    scores = warmset.simulate(trace, "lru,opt", [100, 500])
    with duckdb.connect() as database:
        database.register("trace", pa.table(trace))
        database.register("scores", pa.table(scores))
        assert database.sql("select count(*), count(distinct page) from trace").fetchall() == [(300_000, 1000)]
        assert database.sql("select count(*) from scores where policy = 'lru'").fetchall() == [(2,)]


def test_frames_of_pandas_are_read_like_tables() -> None:
    frame = pd.DataFrame({"comment": list("abc"), "vpn": [7, 9, 7], "time": [5, 5, 8], "run": [1, 2, 1]})
    trace = warmset.Trace.from_pandas(frame, page_size=65_536, clock="seconds")
    assert (trace.pages.tolist(), trace.page_size, trace.clock) == ([7, 9, 9, 7], 65_536, "seconds")
    assert trace.time is not None
    assert trace.time.tolist() == [5, 5, 5, 8]
    assert warmset.Trace.from_pandas({"page": np.array([1, 2])}).distinct == 2
    refused: list[tuple[Any, type[Exception], str]] = [
        (pd.DataFrame({"page": [1, None]}), TypeError, "page: an array of float64: integers are meant"),
        (pd.DataFrame({"number": [1]}), warmset.Error, "no column is called one of page"),
        (pd.DataFrame({"page": [1, 2], "time": [5, 4]}), warmset.Error, "time goes back from 5 to 4"),
        (pd.DataFrame({"page": [-1]}), warmset.Error, "page: -1 at place 0"),
        ({"page": [1, 2], "op": [1]}, warmset.Error, "must have the same length"),
    ]
    for table, kind, words in refused:
        with pytest.raises(kind, match=words):
            warmset.Trace.from_pandas(table)


def test_a_stream_that_fails_says_why() -> None:
    schema = pa.schema([("page", pa.uint64())])

    def failing() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([pa.array(PAGES)], schema=schema)
        raise RuntimeError("the query was lost")

    with pytest.raises(warmset.Error, match="the query was lost"):
        warmset.Trace.from_arrow(pa.RecordBatchReader.from_batches(schema, failing()))
