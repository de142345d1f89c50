"""Arrow tables in, from whoever makes them, and results out to them."""

from collections.abc import Iterator

import numpy as np
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


def test_a_stream_that_fails_says_why() -> None:
    schema = pa.schema([("page", pa.uint64())])

    def failing() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([pa.array(PAGES)], schema=schema)
        raise RuntimeError("the query was lost")

    with pytest.raises(warmset.Error, match="the query was lost"):
        warmset.Trace.from_arrow(pa.RecordBatchReader.from_batches(schema, failing()))


def test_results_are_tables_for_others() -> None:
    scores = warmset.simulate(warmset.synth("zipf:pages=300", 5000, writes=0.5), "lru,arc", ["10%", "50%"])
    assert pa.table(scores).num_rows == pl.DataFrame(scores).height == 4
