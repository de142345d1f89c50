"""Compares what Prometheus stores with what a guard exports: fleet.py GUARD PROMETHEUS PID TEXTFILE (called by fleet.sh)."""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

guard, prometheus, pid, textfile = sys.argv[1:]
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def wait(what, seconds=30):
    """The first true result of `what`, tried for `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if answer := what():
                return answer
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"fleet.py: waited {seconds} s for {what.__doc__}")


def scrape(accept="*/*"):
    """Response and body of /metrics. A body that is cut short raises an error."""
    connection = http.client.HTTPConnection(guard, timeout=5)
    try:
        connection.request("GET", "/metrics", headers={"Accept": accept})
        answer = connection.getresponse()
        return answer, answer.read().decode()
    finally:
        connection.close()


def ask(path, **parameters):
    """The data of Prometheus's answer."""
    url = f"http://{prometheus}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    with urllib.request.urlopen(url, timeout=5) as answer:
        told = json.load(answer)
    assert told["status"] == "success", told
    return told["data"]


def value(expression):
    """The value of `expression` now; None unless it is one number."""
    result = ask("query", query=expression)["result"]
    return float(result[0]["value"][1]) if len(result) == 1 else None


def check_text(text):
    """Checks that promtool accepts `text` without a message."""
    said = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert said.returncode == 0 and not said.stdout + said.stderr, said


def queries():
    """Every query of the dashboard, with its variables replaced, and of the alerts."""
    variables = {"$job": "warmset", "$instance": ".*", "$__rate_interval": "1m", "$__range": "1h"}
    dashboard = json.loads(pathlib.Path("packaging/grafana/warmset.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}", panel["title"]
            expression = target["expr"]
            for name, filling in variables.items():
                expression = expression.replace(name, filling)
            yield panel["title"], expression
    for rule in ask("rules")["groups"][0]["rules"]:
        assert rule["health"] == "ok", rule
        yield rule["name"], rule["query"]


def exported():
    """Checks that the exported text is valid in both formats and not too long."""
    head, text = scrape()
    assert head.headers["Content-Type"].startswith("text/plain; version=0.0.4"), head.headers
    check_text(text)
    check_text(wait(pathlib.Path(textfile).read_text))
    head, text = scrape(OPENMETRICS)
    assert head.headers["Content-Type"].startswith(OPENMETRICS) and text.endswith("\n# EOF\n"), head.headers
    series = [line for line in text.splitlines() if not line.startswith("#")]
    assert 50 < len(series) < 2000, len(series)
    return len(series)


def stored():
    """Checks that Prometheus has the guard's values, types, units and help texts."""

    def scraped():
        """a second scrape"""
        return (value("warmset_samples_total") or 0) > 1

    wait(scraped)
    assert value('up{job="warmset"}') == 1
    metadata = ask("targets/metadata", match_target='{job="warmset"}')
    kinds = {it["metric"]: it for it in metadata}
    assert len(kinds) > 40 and all(it["help"] and it["type"] != "unknown" for it in metadata), metadata
    assert kinds["warmset_mode"]["type"] == "stateset" and kinds["warmset_pressure_stall_seconds"]["unit"] == "seconds"
    assert value("warmset_mode{warmset_mode='observe'}") == 1
    total = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) * 1024
    assert value("warmset_memory_size_bytes") == total
    asked = answered = 0
    for title, expression in queries():
        asked, answered = asked + 1, answered + bool(ask("query", query=expression)["result"])
    # On a calm machine, forecasts have no value and no alert fires.
    assert answered > asked // 3, (answered, asked)
    firing = [it["labels"]["alertname"] for it in ask("alerts")["alerts"] if it["state"] == "firing"]
    assert not firing, firing
    return len(kinds), asked, answered


def ends():
    """Scrapes without pause while the guard ends: each answer must be whole or absent, and the guard must end at once."""
    whole, refused, cut = [0], [0], []

    def hammer():
        until = time.monotonic() + 5
        while time.monotonic() < until and not refused[0]:
            try:
                _, text = scrape(OPENMETRICS)
                whole[0] += 1
                if not text.endswith("# EOF\n"):
                    cut.append(text[-80:])
            except http.client.IncompleteRead as half:
                cut.append(str(half))
            except (OSError, http.client.HTTPException):
                # The guard has ended, or closed the connection before the first byte.
                refused[0] += 1

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    begun = time.monotonic()
    os.kill(int(pid), signal.SIGTERM)
    for thread in threads:
        thread.join()
    took = time.monotonic() - begun
    assert whole[0] > 4 and refused[0] and not cut, (whole, refused, cut)
    assert took < 3, f"it answered for {took:.1f} s after SIGTERM"

    def seen():
        """Prometheus to notice that the guard has ended"""
        return value('up{job="warmset"}') == 0 and ask("query", query="warmset_samples_total")["result"] == []

    wait(seen)
    assert not os.path.exists(textfile), "the textfile was not removed"
    return whole[0], took


def listening():
    """the guard to respond"""
    return scrape()


def ready():
    """Prometheus to be ready"""
    return urllib.request.urlopen(f"http://{prometheus}/-/ready", timeout=5)


wait(listening)
wait(ready)
series = exported()
metrics, asked, answered = stored()
whole, took = ends()
print(f"fleet: {metrics} metrics in {series} series; {asked} queries, {answered} with a result on this machine; "
      f"{whole} whole scrapes until {took:.2f} s after SIGTERM")
