"""Evaluates the alert rules on samples of a machine: alerts.py SAMPLES DIRECTORY (called by alerts.sh).

The samples become the input of a promtool test, at the interval of a usual scrape. What fires is asked by the series ALERTS, because
the texts of alerts have values that are not known before.
"""

import json
import pathlib
import re
import subprocess
import sys

SAMPLES, DIRECTORY = map(pathlib.Path, sys.argv[1:])
RULES = pathlib.Path("packaging/prometheus/warmset.rules.yml").resolve()
# Seconds between scrapes.
INTERVAL = 10
# Alerts that must fire, and the phase before which they must not.
EXPECTED = {
    "WarmsetMemoryShort": "storm",
    "WarmsetRoomRunsOut": "storm",
    "WarmsetKilled": "runaway",
    "WarmsetKernelKilled": "limit",
}
# Series that the rules read.
READ = (
    "pressure_stall_seconds_total", "allocation_stalls_total", "kills_total", "asked_to_end_total", "oom_kills_total", "room_left_seconds",
    "exhaustion_seconds", "writes_refused_total", "signals_missed_total", "rivals", "sample_timestamp_seconds",
)
LABELS = 'job="warmset",instance="machine"'


def parse(text):
    """Samples by time, and where each phase begins."""
    samples, phases, current = {}, {}, {}
    for line in text.splitlines():
        mark = re.fullmatch(r"@ (\d+)(?: ([a-z]+))?\s*", line)
        if mark and mark[2]:
            phases[mark[2]] = int(mark[1])
        elif mark:
            current = samples.setdefault(int(mark[1]), {})
        elif found := re.fullmatch(r"warmset_(\w+)(?:\{(.*)\})? (\S+)\s*", line):
            if found[1] in READ:
                current[(found[1], found[2] or "")] = float(found[3])
    return samples, phases


def alerts():
    return re.findall(r"alert: (\w+)", RULES.read_text())


def series(samples, end):
    """The input series of promtool: at each scrape the last sample, if it is not older than a scrape."""
    steps = range(0, end + INTERVAL, INTERVAL)
    latest = {at: max((it for it in samples if at - INTERVAL < it <= at), default=None) for at in steps}
    # The rules compare the guard's clock with Prometheus's, which begins at 0 in a test.
    offset = next(it[("sample_timestamp_seconds", "")] - at for at, it in sorted(samples.items()) if it)
    lines = [{"series": f"up{{{LABELS}}}", "values": " ".join("1" if latest[at] is not None else "0" for at in steps)}]
    for name, labels in sorted({key for it in samples.values() for key in it}):
        values = []
        for at in steps:
            value = samples[latest[at]].get((name, labels)) if latest[at] is not None else None
            if value is not None and name == "sample_timestamp_seconds":
                value -= offset
            values.append("_" if value is None else repr(value))
        inside = ",".join(it for it in (labels, LABELS) if it)
        lines.append({"series": f"warmset_{name}{{{inside}}}", "values": " ".join(values)})
    return lines


def fires(name, since, until):
    """A promtool test that an alert fires at some time of an interval."""
    return firing(name, since, until, [{"labels": f'{{alertname="{name}"}}', "value": 1}])


def never(name, since, until):
    return firing(name, since, until, [])


def firing(name, since, until, expected):
    expression = f'max by (alertname) (max_over_time(ALERTS{{alertname="{name}",alertstate="firing"}}[{max(until - since, 1)}s]))'
    return {"expr": expression, "eval_time": f"{until}s", "exp_samples": expected}


def tests(phases):
    """What must fire, and what must not."""
    end = phases["end"]
    made = []
    for name in alerts():
        if name in EXPECTED:
            begin = phases[EXPECTED[name]]
            made += [never(name, 0, begin), fires(name, begin, end)]
        else:
            made.append(never(name, 0, end))
    return made


def evaluate(inputs, wanted, file):
    """Whether promtool finds what is wanted, and what it says."""
    # JSON is YAML, too.
    group = {"interval": f"{INTERVAL}s", "input_series": inputs, "promql_expr_test": wanted}
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": f"{INTERVAL}s", "tests": [group]}, indent=1))
    done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def first(name, inputs, phases):
    """When an alert first fires, by halving."""
    low, high = 0, phases["end"]
    while high - low > INTERVAL:
        middle = (low + high) // 2
        fired, _ = evaluate(inputs, [fires(name, 0, middle)], DIRECTORY / "first.json")
        low, high = (low, middle) if fired else (middle, high)
    return high


def main():
    samples, phases = parse(SAMPLES.read_text(errors="replace"))
    assert list(phases) == ["calm", "storm", "leak", "runaway", "limit", "end"], f"the machine did not come to its end: {phases}"
    assert len(samples) > phases["end"] / 15, f"{len(samples)} samples in {phases['end']} s"
    inputs = series(samples, phases["end"])
    good, said = evaluate(inputs, tests(phases), DIRECTORY / "alerts.json")
    assert good, said
    # On the same machine, had it stayed as it was at first, nothing fires, and the questions above fail.
    clock = ("sample_timestamp_seconds", "")
    calm = {at: {**samples[min(samples)], clock: it[clock]} for at, it in samples.items() if clock in it}
    quiet = series(calm, phases["end"])
    good, said = evaluate(quiet, [never(name, 0, phases["end"]) for name in alerts()], DIRECTORY / "calm.json")
    assert good, said
    good, _ = evaluate(quiet, tests(phases), DIRECTORY / "calm.json")
    assert not good, "the test passes without a storm"
    told = ", ".join(f"{name} {first(name, inputs, phases) - phases[begin]} s after the {begin} began" for name, begin in EXPECTED.items())
    others = len(alerts()) - len(EXPECTED)
    print(f"alerts: {len(samples)} samples of {phases['end']} s in a machine: {told}; {others} others never fire")


main()
