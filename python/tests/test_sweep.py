"""Sweeps: planned, run here and on a Dask cluster, interrupted, damaged, and merged to the same result."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pytest
from conftest import FIXTURES, Command

import warmset

TRACES = [FIXTURES / "traces" / name for name in ("web07.trace.xz", "web12.trace.xz")]
SWEEP = """
traces = ["web07.trace.xz", "web12.trace.xz"]
policies = ["lru", "2q", "arc"]
capacities = ["1%", "10%", "500"]
[parameters.2q]
kin = [0.1, 0.25]
[curve]
chunks = 3
classes = 4
"""
TASKS = 2 * (4 + 3 + 4)


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    for trace in TRACES:
        shutil.copy(trace, tmp_path)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return tmp_path / "sweep.toml"


@dataclass
class Result:
    """The rows of a sweep's results, without where its traces were."""

    scores: list[tuple[object, ...]]
    curves: list[tuple[object, ...]]

    @classmethod
    def of(cls, directory: Path) -> "Result":
        """Read the files of a directory."""
        with duckdb.connect() as database:
            read = "select regexp_extract(trace, '[^/]*$') as name, * exclude trace from read_parquet(?)"
            files = (str(directory / name) for name in ("result.parquet", "curves.parquet"))
            rows = [database.execute(read, [file]).fetchall() for file in files]
        return cls(*rows)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, command: Command) -> Result:
    """Run all in one process."""
    directory = tmp_path_factory.mktemp("expected")
    for trace in TRACES:
        shutil.copy(trace, directory)
    (directory / "sweep.toml").write_text(SWEEP)
    done = command("sweep", "all", directory / "sweep.toml", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    return Result.of(directory / "sweep")


def done_at(directory: Path) -> dict[Path, int]:
    """Each part, and when it was written."""
    return {path: path.stat().st_mtime_ns for path in directory.glob("parts/*.zst")}


def planned(command: Command, sweep: Path) -> list[Path]:
    done = command("--json", "sweep", "plan", sweep)
    assert done.returncode == 0, done.stderr
    return [Path(path) for path in json.loads(done.stdout)]


def test_the_result_is_that_of_each_simulation_alone(expected: Result) -> None:
    rows = 0
    for path in TRACES:
        trace = warmset.Trace.read(path)
        scores = warmset.simulate(trace, "lru,2q:kin=0.1,2q:kin=0.25,arc", ["1%", "10%", "500"])
        for at, policy in enumerate(scores["policy"]):
            row = (path.name, policy, scores["options"][at], *(scores[name][at] for name in ("capacity", "references")))
            row += tuple(scores[name][at] for name in ("distinct", "misses", "miss_ratio", "mean_size"))
            assert (*row, None) in expected.scores
            rows += 1
        exact = warmset.curve(trace)["misses"]
        parts = {
            kind: np.array([row[3] for row in expected.curves if row[:2] == (path.name, kind)], dtype=float)
            for kind in ("time", "class")
        }
        assert (parts["time"] == exact).all()
        assert np.abs(parts["class"] - exact).mean() / len(trace) < 0.001
    assert len(expected.scores) == rows == 24


def test_a_sweep_in_python_has_the_same_rows(expected: Result) -> None:
    done = list[tuple[int, int]]()
    rows = warmset.sweep(
        TRACES,
        "lru,2q,arc",
        ["1%", "10%", "500"],
        parameters={"2q": {"kin": [0.1, 0.25]}},
        progress=lambda now, total: done.append((now, total)),
    )
    names = [
        "policy",
        "options",
        "capacity",
        "references",
        "distinct",
        "misses",
        "miss_ratio",
        "mean_size",
        "writebacks",
    ]
    ours = [(Path(row["trace"]).name, *(row[name] for name in names)) for row in rows.rows()]
    assert sorted(ours, key=str) == sorted(expected.scores, key=str)
    assert done == [(1, 2), (2, 2)]


def test_sweeps_that_cannot_be_are_refused() -> None:
    trace = warmset.Trace([1, 2, 1])
    with pytest.raises(warmset.Error, match="parameters of arc, which is not a policy of the sweep"):
        warmset.sweep({"one": trace}, "lru", [1], parameters={"arc": {"kin": [1]}})
    with pytest.raises(warmset.Error, match="2q has no option 'kim'"):
        warmset.sweep({"one": trace}, "2q", [1], parameters={"2q": {"kim": [1]}})
    with pytest.raises(warmset.Error, match="no tables"):
        warmset.sweep({}, "lru", [1])
    with pytest.raises(warmset.Error, match="two traces are called"):
        warmset.sweep([TRACES[0], TRACES[0]], "lru", [1])
    with pytest.raises(FileNotFoundError):
        warmset.sweep(["missing.csv"], "lru", [1])


def test_a_sweep_reads_files_as_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("9,5\n9,6\n9,5\n")
    rows = warmset.sweep([path], "lru,2q:kin=0.3,kout=0.4,fifo", [1], columns="key=2")
    assert rows["policy"] == ["lru", "2q:kin=0.3,kout=0.4", "fifo"]
    assert set(rows["distinct"]) == {2}


def test_tasks_are_run_once_and_in_any_order(command: Command, sweep: Path, expected: Result) -> None:
    tasks = planned(command, sweep)
    assert len(tasks) == len(set(tasks)) == TASKS
    unfinished = command("sweep", "merge", sweep.with_suffix(""))
    assert unfinished.returncode == 1
    assert f"{TASKS} of {TASKS} tasks are not done" in unfinished.stderr
    assert f"5 of {5} tasks were run\n" == command("sweep", "run", *tasks[::-1][:5]).stdout
    assert f"{TASKS - 5} of {TASKS} tasks were run\n" == command("sweep", "run", *tasks).stdout
    before = done_at(sweep.with_suffix(""))
    assert command("sweep", "all", sweep).returncode == 0
    assert done_at(sweep.with_suffix("")) == before
    assert Result.of(sweep.with_suffix("")) == expected


def test_a_trace_that_is_missing_or_changed_is_seen(command: Command, sweep: Path) -> None:
    tasks = planned(command, sweep)
    with (sweep.parent / "web07.trace.xz").open("ab") as trace:
        trace.write(b"\0")
    changed = command("sweep", "run", tasks[0])
    assert changed.returncode == 1
    assert "its content has changed since it was planned: plan again" in changed.stderr
    (sweep.parent / "web07.trace.xz").unlink()
    assert "web07.trace.xz: cannot read: No such file" in command("sweep", "run", tasks[0]).stderr
    assert "web07.trace.xz: cannot read: No such file" in command("sweep", "plan", sweep).stderr
    others = command("sweep", "run", *tasks[TASKS // 2 :])
    assert others.returncode == 0, others.stderr


def test_a_trace_may_move_and_keep_its_results(command: Command, sweep: Path, expected: Result, tmp_path: Path) -> None:
    assert command("sweep", "all", sweep).returncode == 0
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("web07.trace.xz", "web12.trace.xz", "sweep.toml"):
        shutil.move(tmp_path / name, moved / name)
    tasks = command("--json", "sweep", "plan", moved / "sweep.toml", "--into", sweep.with_suffix(""))
    assert f"0 of {TASKS} tasks" in command("sweep", "run", *json.loads(tasks.stdout)).stdout
    assert command("sweep", "merge", sweep.with_suffix("")).returncode == 0
    assert Result.of(sweep.with_suffix("")) == expected


def test_pieces_in_files_are_one_trace(command: Command, tmp_path: Path) -> None:
    trace = warmset.synth("phases:pages=80,length=3000", 50_000)
    pieces = [trace.pages[:20_000], trace.pages[20_000:20_001], trace.pages[20_001:], trace.pages[:20_000]]
    for at, piece in enumerate(pieces):
        piece.tofile(tmp_path / f"{at}.u64")
    (tmp_path / "one.toml").write_text('traces = ["0.u64", "1.u64", "2.u64", "3.u64"]\n[curve]\npieces = true\n')
    done = command("sweep", "all", tmp_path / "one.toml")
    assert done.returncode == 0, done.stderr
    whole = warmset.curve(warmset.Trace(np.concatenate(pieces)))["misses"]
    with duckdb.connect() as database:
        file = str(tmp_path / "one" / "curves.parquet")
        rows = database.execute("select pages, misses, parts from read_parquet(?)", [file]).fetchall()
    assert rows == [(pages, misses, "piece") for pages, misses in enumerate(whole)]


def test_what_is_damaged_is_named_and_done_again(command: Command, sweep: Path, expected: Result) -> None:
    tasks = planned(command, sweep)
    good = tasks[0].read_text()
    for bad, words in [
        (good.replace("lru", "arc"), "the content does not match the name"),
        (good[:40], "not a task of a sweep"),
        (good.replace('"task": 1', '"task": 2'), "the task has format 2; this program reads only format 1"),
    ]:
        tasks[0].write_text(bad)
        done = command("sweep", "run", tasks[0])
        assert done.returncode == 1
        assert words in done.stderr
    assert command("sweep", "all", sweep).returncode == 0, "planning again heals a task"
    part = sweep.with_suffix("") / "parts" / f"{tasks[0].stem}.json.zst"
    whole = part.read_bytes()
    for damaged in (
        whole[: len(whole) // 2],
        whole[:20] + b"?" + whole[21:],
        b"",
        (part.parent / f"{tasks[1].stem}.json.zst").read_bytes(),
    ):
        part.write_bytes(damaged)
        merged = command("sweep", "merge", sweep.with_suffix(""))
        assert merged.returncode == 1
        assert f"run it again: warmset sweep run {tasks[0]}" in merged.stderr
        assert command("sweep", "run", tasks[0]).stdout == "1 of 1 tasks were run\n"
    assert command("sweep", "merge", sweep.with_suffix("")).returncode == 0
    assert Result.of(sweep.with_suffix("")) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("traces = []", "no traces"),
        ("traces = ['web07.trace.xz']", "nothing to do"),
        ("traces = ['web07.trace.xz']\npolicies = ['lru']", "policies need capacities"),
        ("traces = ['web07.trace.xz']\npolicies = ['mru']\ncapacities = ['1%']", "no policy 'mru'"),
        (
            "traces = ['web07.trace.xz']\npolicies = ['lru']\ncapacities = ['1%']\n[parameters.arc]\nx = [1]",
            "parameters of arc",
        ),
        (
            "traces = ['web07.trace.xz']\npolicies = ['2q']\ncapacities = ['1%']\n[parameters.2q]\nx = [1]",
            "no option 'x'",
        ),
        ("traces = ['web07.trace.xz']\nafter = ['x']", "unknown field `after`"),
        ("traces = [", "sweep.toml"),
    ],
)
def test_sweeps_that_are_none_are_refused(command: Command, sweep: Path, text: str, words: str) -> None:
    sweep.write_text(text)
    done = command("sweep", "plan", sweep)
    assert done.returncode == 1
    assert words in done.stderr
    assert not sweep.with_suffix("").exists()


def test_a_task_that_fails_does_not_keep_the_others(command: Command, sweep: Path) -> None:
    sweep.write_text(SWEEP.replace('"500"', '"0"'))
    done = command("sweep", "all", sweep)
    assert done.returncode == 1
    assert f"8 of {TASKS} tasks failed; the first: task" in done.stderr
    assert "a policy needs a page of memory" in done.stderr
    assert len(list(sweep.with_suffix("").glob("parts/*.zst"))) == TASKS - 8


def test_a_full_disk_leaves_nothing_half_done(command: Command, sweep: Path, expected: Result, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "warmset", disk], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be made here: {mounted.stderr.decode().strip()}")
    try:
        tasks = command("--json", "sweep", "plan", sweep, "--into", disk)
        with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while filler.write(bytes(4096)):
                pass
        os.truncate(disk / "filler", (disk / "filler").stat().st_size - 20_000)
        full = command("sweep", "run", *json.loads(tasks.stdout)[::-1])
        assert full.returncode == 1
        assert "cannot write: No space left on device" in full.stderr
        assert list(disk.rglob(".warmset-*")) == []
        (disk / "filler").unlink()
        assert command("sweep", "all", sweep, "--into", disk).returncode == 0
        assert Result.of(disk) == expected
    finally:
        subprocess.run(["umount", disk], check=True)


@contextmanager
def started(*line: object) -> Iterator["subprocess.Popen[str]"]:
    """Run a process, and end it at last."""
    with subprocess.Popen([str(word) for word in line], stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def heard(process: "subprocess.Popen[str]", words: str) -> str:
    """Wait for the line that has the words; what comes after it is read and dropped."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if words in line:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return line
    pytest.fail(f"{words!r} was not heard: {lines}")


@dataclass
class Cluster:
    """A scheduler and its workers, each a process."""

    address: str
    scheduler: "subprocess.Popen[str]"
    workers: "list[subprocess.Popen[str]]"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with ExitStack() as stack:
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        scheduler = stack.enter_context(started(*dask, "--no-dashboard"))
        address = heard(scheduler, "Scheduler at").split("tcp://")[1].strip()
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", f"tcp://{address}", "--nthreads", "1"]
        workers = [stack.enter_context(started(*worker, "--no-dashboard", "--no-nanny")) for _ in range(2)]
        for one in workers:
            heard(one, "Registered to")
        yield Cluster(address, scheduler, workers)


def test_a_cluster_gives_the_same(command: Command, sweep: Path, expected: Result, cluster: Cluster) -> None:
    on = f"dask://{cluster.address}"
    done = command("sweep", "all", sweep, "--on", on, "--python", sys.executable)
    assert done.returncode == 0, done.stderr
    assert Result.of(sweep.with_suffix("")) == expected


def slowly(command: Command, directory: Path) -> Path:
    """Make a command of which each run takes half a second longer and leaves a line in a log."""
    found = command("--version").args[0]
    program = directory / "slow"
    program.write_text(f'#!/bin/sh\necho "$3" >>{directory}/log\nsleep 0.5\nexec {found} "$@"\n')
    program.chmod(0o755)
    return program


def test_a_worker_that_is_killed_loses_nothing(
    command: Command, sweep: Path, expected: Result, cluster: Cluster
) -> None:
    planned(command, sweep)
    directory, program = sweep.with_suffix(""), slowly(command, sweep.parent)
    line = ["-m", "warmset.dask", cluster.address, directory, "--program", program]
    with started(sys.executable, *line) as client:
        while len(list(directory.glob("parts/*.zst"))) < 4:
            assert client.poll() is None
            time.sleep(0.05)
        before = done_at(directory)
        cluster.workers[0].send_signal(signal.SIGKILL)
        assert client.wait(timeout=60) == 0
    # What Dask had of the dead worker it asks for again, and is told that it is done.
    assert len(set((sweep.parent / "log").read_text().split())) == TASKS
    assert done_at(directory).items() >= before.items()
    assert command("sweep", "merge", directory).returncode == 0
    assert Result.of(directory) == expected


def test_a_scheduler_that_dies_is_told_and_the_sweep_goes_on(
    command: Command, sweep: Path, expected: Result, cluster: Cluster
) -> None:
    planned(command, sweep)
    directory, program = sweep.with_suffix(""), slowly(command, sweep.parent)
    line = ["-m", "warmset.dask", cluster.address, directory, "--program", program, "--patience", 3]
    with started(sys.executable, *line) as client:
        while not list(directory.glob("parts/*.zst")):
            assert client.poll() is None
            time.sleep(0.05)
        cluster.scheduler.send_signal(signal.SIGKILL)
        assert client.wait(timeout=60) == 1
    done = command("sweep", "all", sweep)
    assert done.returncode == 0, done.stderr
    assert Result.of(directory) == expected


def test_a_corrupt_task_is_told_and_the_others_are_done(command: Command, sweep: Path, cluster: Cluster) -> None:
    tasks, directory = planned(command, sweep), sweep.with_suffix("")
    tasks[3].write_text("{}")
    program = command("--version").args[0]
    line = [sys.executable, "-m", "warmset.dask", cluster.address, directory, "--program", program]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert f"{tasks[3]}: not a task of a sweep" in done.stderr
    assert len(list(directory.glob("parts/*.zst"))) == TASKS - 1


def test_a_cluster_that_is_not_there_is_told(command: Command, sweep: Path, tmp_path: Path) -> None:
    planned(command, sweep)
    line = [sys.executable, "-m", "warmset.dask", "127.0.0.1:9", str(sweep.with_suffix("")), "--patience", "1"]
    absent = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    assert (absent.returncode, absent.stderr[:11]) == (1, "error: Dask")
    (tmp_path / "distributed.py").write_text("raise ImportError('No module named distributed')")
    without = {**os.environ, "PYTHONPATH": str(tmp_path)}
    missing = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, env=without)
    assert missing.returncode == 1
    assert "Dask is not installed here" in missing.stderr
    assert "pip install 'warmset[dask]'" in missing.stderr
    wrong = command("sweep", "all", sweep, "--on", "spark://here:1")
    assert wrong.returncode == 2
    assert "write local or dask://HOST:PORT" in wrong.stderr


def test_a_cluster_of_another_version_is_told(command: Command, sweep: Path, tmp_path: Path) -> None:
    planned(command, sweep)
    other = tmp_path / "other"
    packages = ["dask==2025.1.0", "distributed==2025.1.0"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", other, *packages], check=True
    )
    dask = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with started("env", f"PYTHONPATH={other}", sys.executable, *dask) as scheduler:
        address = heard(scheduler, "Scheduler at").split("tcp://")[1].strip()
        line = [sys.executable, "-m", "warmset.dask", address, str(sweep.with_suffix(""))]
        told = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    assert told.returncode == 1
    assert f"the scheduler at {address} has distributed 2025.1.0, this Python" in told.stderr
