"""The same input gives the same numbers, and the same words, as the command line."""

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from conftest import FIXTURES, STORM, Command, printed

import warmset

Resized = Literal["miss", "hit"]
LACKEY = FIXTURES / "traces" / "gzip-lackey.txt.zst"
WEB = FIXTURES / "traces" / "web12.trace.xz"
LS = FIXTURES / "traces" / "ls-lackey-pages.u32.zst"


def renamed(rows: list[dict[str, Any]], **names: str) -> list[dict[str, Any]]:
    """Return rows with other names for some columns."""
    return [{names.get(name, name): value for name, value in row.items()} for row in rows]


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without how long each took."""
    times = {"seconds", "references_per_second"}
    return [{name: row[name] for name in row.keys() - times} for row in rows]


def test_every_policy_misses_as_often(command: Command) -> None:
    sizes = ["2%", "500", "16MiB", "80MiB"]
    rows = printed(command("--json", "simulate", WEB, "--policy", "all", "--capacity", ",".join(sizes)))
    trace = warmset.Trace.read(WEB)
    scores = warmset.simulate(trace, "all", sizes)
    assert len(rows) == 4 * len(warmset.policies())
    assert any(row["above_footprint"] for row in rows)
    assert any(row["size_missed_by"] for row in rows)
    assert {json.dumps(row.pop("trace")) for row in rows} == {json.dumps(trace.source)}
    assert without_times(scores.rows()) == without_times(rows)


def test_write_backs_are_known_where_the_command_knows_them(command: Command) -> None:
    rows = printed(command("--json", "simulate", LACKEY, "--policy", "lru,2q:kin=0.3", "--capacity", "10%"))
    scores = warmset.simulate(warmset.Trace.read(LACKEY), "lru,2q:kin=0.3", "10%")
    assert list(scores["writebacks"]) == [row["writebacks"] for row in rows]
    unknown = warmset.simulate(warmset.Trace.read(WEB), "lru", "10%")
    assert (unknown[0]["writebacks"], np.isnan(unknown["writebacks"]).all()) == (None, True)


@pytest.mark.parametrize("resized", ["miss", "hit"])
def test_caches_of_objects_miss_as_often_and_as_many_bytes(command: Command, tmp_path: Path, resized: Resized) -> None:
    draws = np.random.default_rng(1)
    objects = draws.zipf(1.2, 5000) % 300
    sizes = 1 + objects * 37 % 900 + (draws.random(5000) < 0.01)
    path = tmp_path / "requests.csv"
    rows = "".join(f"{name},{size}\n" for name, size in zip(objects, sizes, strict=True))
    path.write_text("key,size\n" + rows)
    told = printed(command("--json", "simulate", path, "--objects", "--resized", resized, "-p", "all", "-c", "2%,8KiB"))
    trace = warmset.Trace.read(path, sizes=True)
    scores = warmset.simulate_objects(trace, "all", ["2%", "8KiB"], resized=resized)
    assert len(told) == 2 * len(warmset.policies(objects=True))
    assert {json.dumps(row.pop("trace")) for row in told} == {json.dumps(trace.source)}
    assert without_times(scores.rows()) == without_times(told)
    assert scores["resized"][0] > 0
    again = warmset.Trace(objects, size=sizes)
    same = warmset.simulate_objects(again, "all", ["2%", "8KiB"], resized=resized)
    assert list(same["misses"]) == list(scores["misses"])
    with pytest.raises(warmset.Error, match="changes its size"):
        warmset.simulate_objects(trace, resized="refuse")
    with pytest.raises(warmset.Error, match="no sizes of objects"):
        warmset.simulate_objects(warmset.Trace.read(path))


@pytest.mark.parametrize("clock", ["references", "trace", "bytes"])
def test_lifetimes_and_knees_are_the_same_by_every_clock(command: Command, clock: str) -> None:
    of = "lru,ws,vmin,opt,ws:theta=900"
    lines = printed(command("--json", "curve", LACKEY, "--clock", clock, "--of", of, "--points", 6, "--service", 500))
    trace = warmset.Trace.read(LACKEY, clock=clock)  # type: ignore[arg-type]
    for line in lines:
        curve = warmset.lifetime(trace, line["policy"], points=6)
        assert curve.rows() == line["points"]
        assert (curve.policy, curve.time, curve.knees(500)) == (line["policy"], line["time"], line["knees"])


def test_the_curve_of_lru_is_that_of_its_lifetimes(command: Command) -> None:
    [line] = printed(command("--json", "curve", LS, "--of", "lru"))
    misses = warmset.curve(warmset.Trace.read(LS))["misses"]
    assert list(misses[1:]) == [point["misses"] for point in line["points"]]
    [line] = printed(command("--json", "curve", WEB, "--of", "lru", "--sample", 0.2))
    sampled = warmset.curve(warmset.Trace.read(WEB), sample=0.2)["misses"]
    assert [sampled[point["parameter"]] for point in line["points"]] == [point["misses"] for point in line["points"]]


def test_the_size_of_the_working_set_is_the_same(command: Command) -> None:
    [line] = printed(command("--json", "curve", LACKEY, "--clock", "trace", "--show", "size", "--theta", 5000))
    size = warmset.working_set(warmset.Trace.read(LACKEY, clock="trace"), 5000)
    assert size.shape == line["shape"]
    assert renamed(size.rows(), begins="from") == line["pixels"]


def test_made_traces_are_the_same(command: Command, tmp_path: Path) -> None:
    kinds = ["zipf:pages=300,alpha=0.9", "phases:pages=20"]
    path = tmp_path / "made.parquet"
    made = command("synth", *kinds, "-n", 30_000, "--seed", 5, "--writes", 0.25, "--quantum", 70, "-o", path)
    assert made.returncode == 0, made.stderr
    theirs = warmset.Trace.read(path)
    ours = warmset.synth(kinds, 30_000, seed=5, writes=0.25, quantum=70)
    assert np.array_equal(ours.pages, theirs.pages)
    for name in ("op", "task"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


def test_analyses_are_the_same(command: Command) -> None:
    [[theirs]] = printed(command("--json", "analyze", LACKEY, "--theta", "5000,90000", "--points", 3, "--service", 500))
    trace = warmset.Trace.read(LACKEY, clock="trace")
    ours = warmset.analyze(trace, [5000, 90_000], points=3, service=500)
    assert trace.source == theirs.pop("trace")
    assert ours.to_dict() == theirs
    assert ours.needs.rows() == theirs["program"]["needs"]
    assert ours.regions.rows() == theirs["program"]["regions"]
    assert ours.map.ravel().tolist() == theirs["map"]["count"]
    for window, at in zip(ours.windows.rows(), theirs["windows"], strict=True):
        assert window["stays"] == at["residence"]["stays"]
        assert window.items() >= {name: at[name] for name in ("theta", "size", "peak", "enough", "faults")}.items()
    assert ours.lifetimes is not None
    assert ours.faults is not None
    assert ours.space_time is not None
    points = [{"policy": line["policy"], **at} for line in theirs["curves"]["lifetimes"] for at in line["points"]]
    assert ours.lifetimes.rows() == points
    assert ours.faults.rows() == theirs["curves"]["claims"]
    assert list(ours.space_time["value"]) == [row["value"] for row in theirs["curves"]["space_time"]]
    pixels = [{"theta": at["theta"], **pixel} for at in theirs["windows"] for pixel in at["sizes"]["pixels"]]
    assert renamed(ours.sizes.rows(), begins="from") == pixels
    assert list(zip(ours.intervals["up_to"], ours.intervals["references"], strict=True)) == [
        tuple(bin_) for bin_ in theirs["intervals"]
    ]
    assert renamed(ours.moves.rows(), begins="from") == theirs["moves"]


def test_programs_in_one_memory_are_the_same(command: Command) -> None:
    managers = "lru,linux,mglru:10,le9:5/0/10,ws:5000,pff:900,token,up-largest"
    times = ["--read", 50_000, "--write", 70_000, "--slice", 1_000_000, "--no-swap"]
    part = ["--window", "0..40000", "-m", "60%,90", "-p", managers]
    theirs = printed(command("--json", "together", LACKEY, "--with", LACKEY, *part, *times))
    trace = warmset.Trace.read(LACKEY, window=(0, 40_000))
    ours = warmset.together(
        [trace, trace], ["60%", 90], managers, swap=False, read=50_000, write=70_000, slice=1_000_000
    )
    assert len(ours) == len(theirs) == 16
    programs = []
    for row, run in zip(ours.rows(), theirs, strict=True):
        assert (row.pop("manager"), row.pop("refaults")) == (
            run["policy"],
            sum(one["refaults_file"] + one["refaults_anon"] for one in run["processes"]),
        )
        assert row == {name: run[name] for name in row}
        at = {"manager": run["policy"], "memory": run["memory"]}
        programs += [{**at, "program": one.pop("name"), **one} for one in run["processes"]]
    assert ours.programs.rows() == programs


def test_what_was_read_is_said_alike(command: Command, tmp_path: Path) -> None:
    table = tmp_path / "requests.csv"
    table.write_text("at,key,bytes,kind\n10,7,100,r\n20,9,100,w\n35,7,100,r\n")
    columns = "time=1:us,key=2,op=4"
    cases: list[tuple[Path, list[object], dict[str, Any]]] = [
        (table, ["--columns", columns], {"columns": columns}),
        (table, [], {}),
        (LS, [], {}),
        (
            LACKEY,
            ["--clock", "trace", "--window", "100..", "--page-size", "64KiB"],
            {"clock": "trace", "window": (100, None), "page_size": "64KiB"},
        ),
        (LACKEY, ["--format", "lackey", "--window", "..5000"], {"format": "lackey", "window": (None, 5000)}),
    ]
    for path, options, asked in cases:
        said = command("--json", "simulate", path, "--policy", "lru", "--capacity", 1, *options)
        [row] = printed(said)
        trace = warmset.Trace.read(path, **asked)
        assert f"{trace.note}\n" == said.stderr
        assert trace.source == row["trace"]
        assert warmset.simulate(trace, "lru", [1])["misses"][0] == row["misses"]
    with pytest.raises(warmset.Error, match="'columns' cannot be used with 'format'"):
        warmset.Trace.read(table, columns=columns, format="csv")
    for wrong in ("key=9", "shape=1"):
        with pytest.raises(warmset.Error) as refused:
            warmset.Trace.read(table, columns=wrong)
        assert str(refused.value) in command("simulate", table, "--columns", wrong).stderr


@pytest.mark.parametrize("part", [{"window": (1000, 90_000)}, {"split": True}, {"page_size": 65_536}])
def test_traces_are_read_with_the_same_options(command: Command, part: dict[str, object]) -> None:
    words = {"window": "1000..90000", "page_size": 65_536}
    options = [f"--{name.replace('_', '-')}" for name in part] + [str(words[name]) for name in part if name in words]
    [row] = printed(command("--json", "simulate", LACKEY, "--policy", "lru", "--capacity", 10, *options))
    trace = warmset.Trace.read(LACKEY, **part)  # type: ignore[arg-type]
    scores = warmset.simulate(trace, "lru", [10])
    assert (len(trace), scores["misses"][0]) == (row["references"], row["misses"])


def test_policies_are_listed_alike(command: Command) -> None:
    [listed] = printed(command("--json", "policies"))
    ours = warmset.policies()
    for policy in ours:
        policy["options"] = list(policy["options"])
    assert ours == listed


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ([], {}),
        (["--coverage"], {"coverage": True}),
        (["--compare", "static:1000,classic"], {"compare": ["static:1000", "classic"]}),
        (["--compare", "--response", "20ms"], {"compare": [], "response": 0.02}),
    ],
)
def test_replays_are_the_same(command: Command, options: list[str], asked: dict[str, object]) -> None:
    [theirs] = printed(command("--json", "replay", STORM, *options))
    recording = warmset.Recording(STORM)
    ours = warmset.replay(recording, **asked)  # type: ignore[arg-type]
    assert {**ours, "notes": recording.notes} == theirs


def test_a_configuration_is_replayed_and_a_wrong_one_refused_alike(command: Command, tmp_path: Path) -> None:
    recording, config = warmset.Recording([str(STORM)]), tmp_path / "w.toml"
    config.write_text("mode = 'tune'\n[gap]\nmax = '1 %'\n")
    [theirs] = printed(command("--json", "replay", STORM, "--config", config))
    assert warmset.replay(recording, config=config)["again"] == theirs["again"]
    config.write_text("[gap]\nmax = 'much'\n")
    with pytest.raises(warmset.Error) as wrong:
        warmset.replay(recording, config=config)
    assert str(wrong.value) in command("replay", STORM, "--config", config).stderr


def test_errors_have_the_same_words(command: Command, tmp_path: Path) -> None:
    broken, empty, binary = tmp_path / "broken.txt", tmp_path / "empty.txt", tmp_path / "binary.parquet"
    broken.write_text("1\n2\nthree\n")
    empty.write_text("")
    binary.write_bytes(b"PAR1 and nothing behind it")
    for path in (broken, empty, binary, tmp_path / "missing", tmp_path):
        with pytest.raises((warmset.Error, OSError)) as wrong:
            warmset.Trace.read(path)
        assert f"error: {wrong.value}\n" == command("simulate", path).stderr
    trace = warmset.Trace.read(WEB)
    calls = [
        (["--policy", "mru"], {"policies": "mru"}),
        (["--policy", "2q:kin=-1"], {"policies": ["2q:kin=-1"]}),
        (["--policy", "lru,2q:x=1"], {"policies": ["lru", "2q:x=1"]}),
        (["--capacity", "0"], {"capacities": [0]}),
        (["--capacity", "9999999"], {"capacities": [9_999_999]}),
        (["--capacity", "200%"], {"capacities": ["200%"]}),
        (["--capacity", "lots"], {"capacities": "lots"}),
        (["--capacity", "NaN"], {"capacities": [float("nan")]}),
        (["--policy", "2q:kin=2,kout=0"], {"policies": "2q:kin=2,kout=0"}),
    ]
    for options, asked in calls:
        said = command("simulate", WEB, "--quiet", *options)
        if said.returncode == 0:
            warmset.simulate(trace, **asked)  # type: ignore[arg-type]
            continue
        with pytest.raises(warmset.Error) as refused:
            warmset.simulate(trace, **asked)  # type: ignore[arg-type]
        assert f"error: {refused.value}\n".lower() == said.stderr.lower(), options
    with pytest.raises(warmset.Error) as untimed:
        warmset.Trace.read(WEB, clock="trace")
    assert f"error: {untimed.value}\n" == command("curve", WEB, "--quiet", "--clock", "trace").stderr
