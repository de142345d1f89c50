#!/usr/bin/env python3
"""Runs the commands that the pages of this repository tell people to run: documented.py PROGRAMS

It runs each line of a shell block, and each indented line that begins with our command, in a directory with fixtures under the
names that the pages use. Commands that need a system, a cluster or hours are listed in ELSEWHERE, with the test that runs them or
with what they need. A listed command that is on no page any more is an error.
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
    "docs/guide/own-kernel.md",
    "docs/guide/packager.md",
    "docs/fleet.md",
    "docs/reference/formats.md",
    "docs/releasing.md",
    "docs/sweeps.md",
]
TRACES = ROOT / "fixtures/traces"
# Lines that begin so are run by another test, or cannot be run by a test.
ELSEWHERE = {
    "make run": "`make live` runs the same guard for 10 s, observing only",
    "make test": "it runs this test",
    "make build": "a step of make test",
    "make guard": "a step of make test",
    "make install": "packaging/tests/packages.sh",
    "make deb": "packaging/tests/deb.sh builds and installs them",
    "make dist": "compiles for other machines where it can; made for a release",
    "make supply-chain": "a step of make test",
    "make advisories": "needs the RustSec database; packaging/tests/crates.py runs it with small ones",
    "packaging/sbom check": "packaging/tests/sbom.sh",
    "ssh-keygen -Y verify": "packaging/tests/sign.sh runs these lines of the page",
    "sha256sum --check": "packaging/tests/sign.sh runs these lines of the page",
    "make kubernetes": "a step of make test",
    "make kernel": "builds a kernel, half an hour for each series",
    "make kernel-check": "a step of make test",
    "make kernel-deb": "builds a kernel; `make kernel-deb-test` boots its packages",
    "apt install": "packaging/tests/deb.sh",
    "apt install ./target/kernel-deb": "crates/vmlab/tests/kernel_package.rs",
    "install -m 644 packaging/kernel/60-workingset-protection.conf": "crates/vmlab/tests/kernel_package.rs",
    "reboot": "crates/vmlab/tests/kernel_package.rs boots the kernel",
    "cargo install": "packaging/tests/install.sh",
    "warmset-lab run": "takes hours; packaging/tests/machines.sh runs a small one",
    "warmset-lab trace": "packaging/tests/machines.sh trace",
    "warmset curve md5sum.parquet": "reads what the line above it writes; packaging/tests/machines.sh trace reads such a trace",
    "warmset-lab decisions": "takes hours; bench/decisions.sh runs all of it",
    "warmset-lab kernels build": "make kernel",
    "warmset-lab selftest": "make kernel",
    "warmset size postgresql.service": "crates/tools/tests/size.rs, and crates/vmlab/tests/size.rs in a machine",
    "warmset doctor": "crates/cli/tests/program.rs; its exit code depends on this machine's health",
    "warmset take-over": "crates/cli/tests/take_over.rs, with a systemctl of its own",
    "warmset-lab demo": "shows two machines side by side for minutes",
    "usermod -aG warmset": "crates/vmlab/tests/service.rs, with a user of its own",
    "systemctl": "needs a system that systemd runs",
    "for host in": "needs other hosts",
    "sh /usr/share/warmset-tools/valgrind/build": "crates/tools/tests/record.rs builds the tool, and records with it",
    "sh /usr/share/warmset-tools/qemu/build": "crates/tools/tests/emulated.rs builds the plugin, and records with it",
    "skopeo copy": "needs a registry; packaging/tests/kubernetes.sh starts the image",
    "kubectl": "needs a cluster; packaging/tests/cluster.sh has one, and applies, installs and executes this",
    "helm install": "needs a cluster; packaging/tests/cluster.sh has one, and installs the chart",
    "warmset sweep all sweep.toml --on dask": "python/tests/test_sweep.py, with a cluster of its own",
}
# A program that runs and uses 64 MiB, for pages that name one by $(pidof …).
BUSY = "import time; m = bytearray(64 << 20); e = time.time() + {}\nwhile time.time() < e: m[::4096] = m[::4096]; time.sleep(.05)"


def lines(text: str) -> list[str]:
    """The commands of a page."""
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M))
    indented = re.findall(r"^    (?:\$ )?(warmset.*)$", text, re.M)
    return [line.split(" #")[0].rstrip() for line in [*blocks.splitlines(), *indented] if line.strip()]


def prepare(directory: Path) -> None:
    """Put the files there that the pages name."""
    for name in ("web07", "web12"):
        shutil.copy(TRACES / f"{name}.trace.xz", directory)
        (directory / "rec" / name).mkdir(parents=True)
    shutil.copy(TRACES / "gzip-lackey.txt.zst", directory / "lackey.txt.zst")
    (directory / "requests.csv").write_text("time,url,size\n1,/a,10\n2,/b,20\n3,/a,10\n")
    sweep = re.search(r"```toml\n# sweep.toml\n(.*?)```", (ROOT / "docs/sweeps.md").read_text(), re.S)
    (directory / "sweep.toml").write_text(sweep[1])
    recording = next((ROOT / "fixtures/lab").glob("*.rec.gz"))
    for place in (directory / "warmset-1.rec.gz", directory / "rec/web07/a.rec.gz", directory / "rec/web12/b.rec.gz"):
        shutil.copy(recording, place)


def run(line: str, directory: Path, programs: Path) -> None:
    """Run one line, with its placeholders replaced."""
    line = re.sub(r"\bTRACE\b", "web07.trace.xz", line)
    line = re.sub(r"\bOTHER\b", "web12.trace.xz", line)
    busy = None
    if "$(pidof" in line:
        busy = subprocess.Popen([sys.executable, "-c", BUSY.format(40 if "--for" in line else 5)])
        line = re.sub(r"\$\(pidof [^)]*\)", str(busy.pid), line)
    begin = time.monotonic()
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line], cwd=directory, env=environment, capture_output=True, text=True, timeout=300
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
        raise SystemExit(f"documented: ELSEWHERE has commands that no page has: {sorted(unused)}")
    print(f"documented: {count} commands of {len(PAGES)} pages succeed; ELSEWHERE lists the others")


if __name__ == "__main__":
    main()
