"""What makes a trace, what does not, and what it gives back."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import FIXTURES, STORM
from numpy.typing import NDArray

import warmset

PAGES = [7, 9, 7, 7, 2**40, 9]
INTEGERS = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", ">u4", ">i8", "<u2"]


def same(trace: warmset.Trace, pages: Any) -> bool:  # noqa: ANN401
    return bool(trace.pages.tolist() == [int(page) for page in pages])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_any_integers_will_do(dtype: str) -> None:
    pages = np.array([7, 9, 7, 100, 0], dtype=dtype)
    assert same(warmset.Trace(pages), pages)


def test_any_layout_will_do() -> None:
    numbers = np.arange(400_000, dtype=np.uint32) % 1000
    read_only = numbers.copy()
    read_only.setflags(write=False)
    packed = np.zeros(1000, dtype=[("flag", "u1"), ("page", "u8")])
    packed["page"] = numbers[:1000]
    table = numbers.reshape(-1, 4)
    for pages in (
        numbers,
        read_only,
        numbers[::-3],
        packed["page"],
        table[:, 2],
        table.T[1],
        np.asfortranarray(table)[3],
    ):
        assert same(warmset.Trace(pages), pages)
    assert same(warmset.Trace(PAGES), PAGES)
    assert same(warmset.Trace(range(5)), range(5))
    assert same(warmset.Trace(memoryview(b"\1\2\1")), [1, 2, 1])
    assert same(warmset.Trace(np.broadcast_to(np.uint64(5), 300_000)), [5] * 300_000)


def test_sizes_of_objects_come_back() -> None:
    trace = warmset.Trace([7, 9, 7], size=[512, 4096, 512])
    assert trace.size is not None
    assert (trace.size.tolist(), str(trace.size.dtype)) == ([512, 4096, 512], "uint32")
    assert trace.columns == ["page", "size"]
    assert pickle.loads(pickle.dumps(trace)).size.tolist() == [512, 4096, 512]  # noqa: S301
    table = trace.to_arrow()
    again = warmset.Trace.from_arrow(table, sizes=True)
    assert again.size is not None
    assert again.size.tolist() == [512, 4096, 512]
    assert warmset.Trace.from_arrow(table).size is None
    frame = trace.to_pandas()
    from_pandas = warmset.Trace.from_pandas(frame, sizes=True)
    assert from_pandas.size is not None
    assert from_pandas.size.tolist() == [512, 4096, 512]
    assert warmset.Trace.from_pandas(frame).size is None
    part = trace[1:].size
    assert part is not None
    assert part.tolist() == [4096, 512]
    with pytest.raises(warmset.Error, match="size: 4294967296 is above 4294967295"):
        warmset.Trace([7], size=[1 << 32])


def test_columns_come_back() -> None:
    time, op, task = [3, 3, 8, 8, 9, 2**50], [1, 2, 4, 6, 0, 7], [0, 1, 0, 65_535, 1, 1]
    trace = warmset.Trace(PAGES, time, op, task, page_size=65_536, clock="nanoseconds")
    assert (len(trace), trace.distinct, trace.page_size, trace.clock) == (6, 3, 65_536, "nanoseconds")
    assert trace.refs.tolist() == [0, 1, 0, 0, 2, 1]
    assert trace.names.tolist() == [7, 9, 2**40]
    copy = pickle.loads(pickle.dumps(trace))  # noqa: S301
    for one in (trace, copy):
        assert same(one, PAGES)
        assert [column.tolist() for column in (one.time, one.op, one.task) if column is not None] == [time, op, task]
        assert (one.page_size, one.clock) == (65_536, "nanoseconds")
    bare = warmset.Trace(PAGES)
    assert (bare.time, bare.op, bare.task, bare.clock) == (None, None, None, "references")


def test_views_are_read_only_and_outlive_their_trace() -> None:
    trace = warmset.synth("zipf:pages=100", 50_000)
    refs, expected = trace.refs, trace.refs.copy()
    assert trace.refs.ctypes.data == refs.ctypes.data
    with pytest.raises(ValueError, match="read-only"):
        refs[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        refs.setflags(write=True)
    del trace
    warmset.synth("zipf:pages=100", 50_000)
    assert np.array_equal(refs, expected)


@pytest.mark.parametrize(
    ("pages", "kind", "words"),
    [
        ([1.0, 2.0], TypeError, "pages: an array of float64: integers are meant"),
        ([1.0, float("nan")], TypeError, "float64"),
        (np.array([True, False]), TypeError, "bool"),
        (["a", "b"], TypeError, "<U1"),
        ([None, 3], TypeError, "object"),
        ([2**64, 1], TypeError, "pages: an array of"),
        (np.array(["2026-01-01"], dtype="M8[s]"), TypeError, "datetime64"),
        ([[1, 2, 3], [4, 5, 6]], warmset.Error, r"pages: an array of shape \(2, 3\): one dimension is meant"),
        (5, warmset.Error, r"shape \(\)"),
        (np.zeros((0, 4), int), warmset.Error, r"shape \(0, 4\)"),
        ([], warmset.Error, "the trace has no references"),
        (np.array([], dtype=np.uint64), warmset.Error, "the trace has no references"),
        ([3, 4, -1], warmset.Error, "pages: -1 at place 2: a number of 0 or more is meant"),
        (np.r_[np.arange(300_000), -9], warmset.Error, "-9 at place 300000"),
        (np.broadcast_to(np.uint8(0), 2**32), warmset.Error, r"more than 2\^32 references"),
        (np.broadcast_to(np.int64(-1), 2**40), warmset.Error, r"more than 2\^32 references"),
    ],
)
def test_what_is_no_trace_is_refused(pages: Any, kind: type[Exception], words: str) -> None:  # noqa: ANN401
    with pytest.raises(kind, match=words):
        warmset.Trace(pages)


@pytest.mark.parametrize(
    ("columns", "kind", "words"),
    [
        ({"time": [1, 2]}, warmset.Error, "time: 2 numbers for 3 references"),
        ({"time": [1, 5, 4]}, warmset.Error, "time: at place 2 it goes back from 5 to 4"),
        ({"time": [0.5, 1.5, np.nan]}, TypeError, "time: an array of float64"),
        ({"op": [1, 2, 8]}, warmset.Error, "op: 8 is above 7"),
        ({"task": [0, 1, 65_536]}, warmset.Error, "task: 65536 is above 65535"),
        ({"page_size": 4095}, warmset.Error, "a page of 4095 bytes: a power of two is meant"),
        ({"page_size": 0}, warmset.Error, "a page of 0 bytes"),
        ({"clock": "hours"}, warmset.Error, "no clock 'hours': there are references"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        warmset.Trace([1, 2, 3], **columns)


def test_time_may_not_go_back_between_blocks() -> None:
    time = np.arange(300_000)
    time[131_072:] -= 10
    with pytest.raises(warmset.Error, match="at place 131072 it goes back from 131071 to 131062"):
        warmset.Trace(np.zeros(300_000, int), time)


def test_files_that_are_none_are_python_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="cannot read"):
        warmset.Trace.read(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        warmset.Trace.read(tmp_path)
    with pytest.raises(FileNotFoundError):
        warmset.Recording(tmp_path / "none")
    with pytest.raises(warmset.Error, match="no recording in it"):
        warmset.Recording([STORM, FIXTURES / "lab" / "README.md"])
    with pytest.raises(warmset.Error, match="nothing is between"):
        warmset.Trace.read(STORM, window=(5, 5))
    with pytest.raises(warmset.Error, match="tells no tasks"):
        warmset.Trace.read(FIXTURES / "traces" / "web12.trace.xz", task=3)


def op_of(trace: warmset.Trace) -> NDArray[np.uint8]:
    assert trace.op is not None
    return trace.op


def test_a_part_is_a_trace() -> None:
    time, op, task = range(10, 60, 10), [1, 2, 4, 2, 4], [0, 1, 0, 1, 0]
    trace = warmset.Trace([7, 9, 7, 8, 9], time, op, task, page_size=8192, clock="seconds")
    part = trace[1:4]
    assert same(part, [9, 7, 8])
    assert part.time is not None
    assert part.op is not None
    assert part.task is not None
    assert [column.tolist() for column in (part.time, part.op, part.task)] == [[20, 30, 40], [2, 4, 2], [1, 0, 1]]
    assert (part.refs.tolist(), part.page_size, part.clock) == ([0, 1, 2], 8192, "seconds")
    assert same(trace[-2:], [8, 9])
    assert same(trace[::2], [7, 7, 9])
    assert same(trace[1:100:3], [9, 9])
    assert same(trace[:], [7, 9, 7, 8, 9])
    assert same(trace[op_of(trace) == 4], [7, 9])
    assert [trace[0], trace[-1], trace[np.int64(3)]] == [7, 9, 8]
    assert list(trace) == [7, 9, 7, 8, 9]
    long = warmset.synth("zipf:pages=5000", 400_000)
    assert np.array_equal(long[100_000:350_001].pages, long.pages[100_000:350_001])
    assert np.array_equal(long[5::1000].pages, long.pages[5::1000])


@pytest.mark.parametrize(
    ("key", "kind", "words"),
    [
        (slice(2, 2), warmset.Error, "the trace has no references"),
        (slice(None, None, -1), warmset.Error, "cannot be read backwards"),
        (6, IndexError, "reference 6 of a trace of 6"),
        (-7, IndexError, "reference -7"),
        ("page", TypeError, "references by number, slice or mask of bool: str is none"),
        (1.5, TypeError, "float is none"),
        (np.array([True, False]), warmset.Error, "a mask of 2 for 6 references"),
        (np.zeros(6, bool), warmset.Error, "the trace has no references"),
    ],
)
def test_parts_that_cannot_be_are_refused(key: Any, kind: type[Exception], words: str) -> None:  # noqa: ANN401
    with pytest.raises(kind, match=words):
        warmset.Trace(PAGES)[key]


def test_a_trace_shows_itself() -> None:
    trace = warmset.Trace.read(FIXTURES / "traces" / "gzip-lackey.txt.zst", clock="trace")
    assert trace.note is not None
    shown = trace._repr_html_()  # type: ignore[attr-defined]
    for words in (trace.note, f"{len(trace):,}", "time, page, op", "instructions"):
        assert words in shown
    assert "<script>" not in warmset.Trace(PAGES)._repr_html_()  # type: ignore[attr-defined]
    assert trace[:9].note is None


def test_numpy_makes_an_array_of_a_trace() -> None:
    trace = warmset.Trace(PAGES)
    assert np.asarray(trace).tolist() == PAGES
    assert np.array(trace, dtype=float).dtype == float
    with pytest.raises(ValueError, match="a new one"):
        np.array(trace, copy=False)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.0, 0.0])
def test_samples_that_are_none_are_refused(number: float) -> None:
    with pytest.raises(warmset.Error, match=r"sample|rate"):
        warmset.curve(warmset.Trace(PAGES), sample=number)


def test_numbers_out_of_range_are_refused() -> None:
    trace = warmset.Trace(PAGES)
    lru = warmset.lifetime(trace)
    for service in (float("nan"), -1.0, float("inf")):
        with pytest.raises(warmset.Error, match="a service time"):
            lru.knees(service)
        with pytest.raises(warmset.Error, match="a service time"):
            lru.space_time(service)
    for call in (
        lambda: warmset.working_set(trace, 0),
        lambda: warmset.lifetime(trace, "opt", points=1),
        lambda: warmset.lifetime(trace, "nothing"),
        lambda: warmset.synth("zipf:pages=0"),
        lambda: warmset.synth("zipf", writes=float("nan")),
        lambda: warmset.synth([]),
        lambda: warmset.replay(warmset.Recording(STORM), compare=["static:0"]),
        lambda: warmset.replay(warmset.Recording(STORM), compare=[], response=float("nan")),
        lambda: warmset.replay(warmset.Recording(STORM), compare=[], coverage=True),
    ):
        with pytest.raises(warmset.Error):
            call()
    with pytest.raises(OverflowError):
        warmset.working_set(trace, -5)


def test_a_window_longer_than_the_trace_holds_all() -> None:
    assert warmset.working_set(warmset.Trace(PAGES, range(6)), 2**64 - 1, pixels=1)["most"].tolist() == [3]


def test_a_recording_has_its_samples_as_columns() -> None:
    recording = warmset.Recording(STORM)
    free, at = recording["vmstat.nr_free_pages"], recording.at
    assert len(free) == len(at) == len(recording) == len(recording.wall)
    assert (np.diff(at) > 0).all()
    assert recording.wall.dtype == "datetime64[ms]"
    assert recording.columns["vmstat.nr_free_pages"] == "pages"
    assert np.isnan(recording["guard.rival_floor"]).all()
    assert [decision["sample"] for decision in recording.decisions] == list(range(len(recording)))
    assert recording.facts is not None
    assert recording.facts["kernel"].startswith("6.12.")
    assert recording.lost == 0
    for name in recording.columns:
        assert recording[name].shape == at.shape
    with pytest.raises(KeyError, match="no column"):
        recording["vmstat.nothing"]
