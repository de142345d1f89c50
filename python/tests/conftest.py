"""Where the command is that Python is compared with, and its inputs."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
STORM = FIXTURES / "lab" / "storm-6.12-1024-warmset-1.rec.gz"

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def command() -> Command:
    """Run the command ``warmset``: of WARMSET, or the one that was built last."""
    built = [ROOT / "target" / profile / "warmset" for profile in ("release", "debug")]
    newest = max((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime, default=None)
    told = os.environ.get("WARMSET", newest)
    if told is None:
        pytest.fail("there is no command to compare with: cargo build -p warmset-cli -p warmset-tools, or set WARMSET")

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        line = [str(told), *map(str, arguments)]
        return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)

    return run


def printed(done: subprocess.CompletedProcess[str]) -> list[Any]:
    """Each line of JSON, or one value over many."""
    assert done.returncode == 0, done.stderr
    try:
        return [json.loads(done.stdout)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in done.stdout.splitlines()]
