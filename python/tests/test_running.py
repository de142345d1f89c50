"""Long calls let others run, tell how far they are, and can be ended."""

import multiprocessing
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import warmset


def test_progress_is_told_to_its_end() -> None:
    trace, runs = warmset.synth("zipf:pages=2000", 300_000), list[tuple[int, int | None]]()
    warmset.simulate(trace, "lru,arc,lirs", ["1%", "10%"], progress=lambda done, total: runs.append((done, total)))
    assert runs[-1] == (6, 6)
    assert runs == sorted(runs)
    loaded = list[tuple[int, int | None]]()
    warmset.Trace(np.arange(300_000), progress=lambda done, total: loaded.append((done, total)))
    assert loaded == [(131_072, 300_000), (262_144, 300_000), (300_000, 300_000)]


class Enough(Exception):  # noqa: N818
    """What a callback ends a call with."""


def test_an_exception_of_the_callback_ends_the_call() -> None:
    def stop(*_: object) -> None:
        raise Enough

    trace = warmset.synth("zipf:pages=2000", 100_000)
    for call in (
        lambda: warmset.simulate(trace, progress=stop),
        lambda: warmset.Trace([1, 2], progress=stop),
        lambda: warmset.synth("zipf", 10_000_000, progress=stop),
    ):
        with pytest.raises(Enough):
            call()


def test_other_threads_run_meanwhile() -> None:
    trace, ticks, over = warmset.synth("zipf:pages=50000", 2_000_000), list[float](), threading.Event()

    def tick() -> None:
        while not over.wait(0.005):
            ticks.append(time.monotonic())

    other = threading.Thread(target=tick)
    other.start()
    began = time.monotonic()
    warmset.simulate(trace, "lirs,arc,opt,ws", ["1%", "10%", "30%"])
    took = time.monotonic() - began
    over.set()
    other.join()
    assert len([at for at in ticks if began < at < began + took]) >= took / 0.1


def test_calls_of_several_threads_do_not_disturb_each_other() -> None:
    trace = warmset.synth("zipf:pages=1000", 200_000)
    expected, results = warmset.curve(trace)["misses"], list[bool]()

    def compare() -> None:
        results.append(bool((warmset.curve(trace)["misses"] == expected).all()))

    check = [threading.Thread(target=compare) for _ in "123"]
    for thread in check:
        thread.start()
    for thread in check:
        thread.join()
    assert results == [True] * 3


LONG = """
import sys, warmset
trace = warmset.synth("zipf:pages=100000", 4_000_000)
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "warmset.simulate(trace, 'all', ['1%', '2%', '5%', '20%', '50%'])",
        "warmset.synth('zipf:pages=100000', 4_000_000_000)",
        "[warmset.curve(trace) for _ in range(1000)]",
    ],
)
def test_control_c_ends_the_wait_at_once(call: str) -> None:
    line = [sys.executable, "-c", LONG.format(call=call)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert child.stdout.readline() == "interrupted\n"
        assert time.monotonic() - began < 5
        child.kill()


def misses(seed: int) -> float:
    return float(warmset.curve(warmset.synth("zipf:pages=500", 400_000, seed=seed))["misses"][50])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_that_are_forked_work(method: str) -> None:
    expected = [misses(seed) for seed in (1, 2)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(misses, (1, 2)).get(timeout=60) == expected


def test_traces_go_to_other_processes() -> None:
    trace = warmset.synth("zipf:pages=500", 20_000)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(len, (trace,)).get(timeout=60) == 20_000
