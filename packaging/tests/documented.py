#!/usr/bin/env python3
"""Runs the commands that the pages of this repository tell people to run: documented.py PROGRAMS

Each line of a shell block, and each indented line that begins with our command, in a folder with fixtures under the names that
the pages use, one after the other. What needs a system, a cluster or hours is named with the test that runs it or its
like, or with what it wants; a line that is neither run nor named is an error, and so is a name that no line has any more.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "docs/guide/desktop.md",
    "docs/guide/server.md",
    "docs/guide/researcher.md",
    "docs/guide/kernel.md",
    "docs/guide/packager.md",
    "docs/fleet.md",
    "docs/reference/formats.md",
    "docs/releasing.md",
    "docs/sweeps.md",
]
TRACES = ROOT / "fixtures/traces"
# What begins so is run by another test, or cannot be run by one.
ELSEWHERE = {
    "make run": "the first job itself; `make live` runs the same guard for ten seconds, watching only",
    "make test": "this is a part of it",
    "make build": "a step of make test",
    "make deb": "packaging/tests/deb.sh builds and installs them",
    "make kubernetes": "a step of make test",
    "make kernel": "builds a kernel, half an hour for each series",
    "make kernel-check": "a step of make test",
    "apt install": "packaging/tests/deb.sh",
    "cargo install": "packaging/tests/install.sh",
    "warmset-lab run": "packaging/tests/machines.sh runs a small one; these take hours",
    "warmset-lab kernels build": "make kernel",
    "warmset-lab selftest": "make kernel",
    "warmset doctor": "crates/cli/tests/program.rs; its code says whether this very machine is well",
    "warmset-lab demo": "two machines beside each other for minutes, to be looked at",
    "install -D -m 644 /usr/share/doc/warmset/protect.conf": "packaging/tests/unit.sh reads the same drop-in",
    "systemctl": "wants a system that systemd runs",
    "for host in": "wants other hosts",
    "skopeo copy": "wants a registry; packaging/tests/kubernetes.sh starts the image",
    "kubectl": "wants a cluster; packaging/tests/kubernetes.sh validates what is applied",
    "helm install": "wants a cluster; packaging/tests/kubernetes.sh renders the chart",
    "warmset sweep all sweep.toml --on dask": "python/tests/test_sweep.py, with a cluster of its own",
}
# A running program, as the pages call it.
BUSY = "import time; m = bytearray(64 << 20); e = time.time() + {}\nwhile time.time() < e: m[::4096] = m[::4096]; time.sleep(.05)"


def lines(text: str) -> list[str]:
    """The commands of a page."""
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M))
    indented = re.findall(r"^    (?:\$ )?(warmset.*)$", text, re.M)
    return [line.split(" #")[0].rstrip() for line in [*blocks.splitlines(), *indented] if line.strip()]


def prepare(folder: Path) -> None:
    """Put the files there that the pages speak of."""
    for name in ("web07", "web12"):
        shutil.copy(TRACES / f"{name}.trace.xz", folder)
        (folder / "rec" / name).mkdir(parents=True)
    shutil.copy(TRACES / "gzip-lackey.txt.zst", folder / "lackey.txt.zst")
    sweep = re.search(r"```toml\n# sweep.toml\n(.*?)```", (ROOT / "docs/sweeps.md").read_text(), re.S)
    (folder / "sweep.toml").write_text(sweep[1])
    recording = next((ROOT / "fixtures").rglob("*.rec.gz"))
    for place in (folder / "warmset-1.rec.gz", folder / "rec/web07/a.rec.gz", folder / "rec/web12/b.rec.gz"):
        shutil.copy(recording, place)


def run(line: str, folder: Path, programs: Path) -> None:
    """Run one line; what it names by a stand-in is put in."""
    line = re.sub(r"\bTRACE\b", "web07.trace.xz", line)
    line = re.sub(r"\bOTHER\b", "web12.trace.xz", line)
    busy = None
    if "$(pidof" in line:
        busy = subprocess.Popen([sys.executable, "-c", BUSY.format(40 if "--for" in line else 5)])
        line = re.sub(r"\$\(pidof [^)]*\)", str(busy.pid), line)
    begin = time.monotonic()
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    if busy:
        busy.kill()
        busy.wait()
    if done.returncode != 0:
        raise SystemExit(f"documented: {line}: ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    print(f"documented: {time.monotonic() - begin:5.1f} s  {line}")


def main() -> None:
    programs = (ROOT / sys.argv[1]).resolve()
    unused, count = set(ELSEWHERE), 0
    with tempfile.TemporaryDirectory() as scratch:
        prepare(Path(scratch))
        for page in PAGES:
            for line in lines((ROOT / page).read_text()):
                asked = line.removeprefix("sudo ")
                named = max((name for name in ELSEWHERE if asked.startswith(name)), key=len, default=None)
                if named:
                    unused.discard(named)
                else:
                    run(line, Path(scratch), programs)
                    count += 1
    if unused:
        raise SystemExit(f"documented: no page has these any more: {sorted(unused)}")
    print(f"documented: {count} commands of {len(PAGES)} pages do what they should; for the others see ELSEWHERE")


if __name__ == "__main__":
    main()
