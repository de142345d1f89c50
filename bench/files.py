#!/usr/bin/env python3
"""Compares `warmset files` with vmtouch: the pages that both call resident, and what each costs.

    bench/files.py target/release/warmset [ROUNDS]     (a minute; needs vmtouch, and 700 MiB on the disk of /var/tmp)

Each round runs both programs on each set of files, one after the other. A set is written, and of every second file, or of every
second MiB, nothing is in the cache. CPU time is user and system of the whole program.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 7
PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20


def written(path: Path, size: int) -> None:
    path.write_bytes(b"7" * size)


def drop(path: Path) -> None:
    """Writes a file to the disk, and drops it from the cache."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def one_large(place: Path) -> None:
    path = place / "large"
    written(path, 512 * MIB)
    drop(path)
    # Of a large folio no part can be dropped, so a part is read instead, without readahead.
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for begin in range(0, 512, 2):
            os.pread(file.fileno(), MIB, begin * MIB)


def many_small(place: Path) -> None:
    for index in range(10_000):
        directory = place / f"{index // 100:02}"
        directory.mkdir(exist_ok=True)
        path = directory / f"{index:05}"
        written(path, 10_000)
        if index % 2:
            drop(path)


def many_empty(place: Path) -> None:
    for index in range(100_000):
        written(place / f"{index:06}", 0)


SETS = {
    "a file of 512 MiB": one_large,
    "10,000 files of 10,000 bytes": many_small,
    "100,000 empty files": many_empty,
}


def measured(command: list[str]) -> tuple[str, float]:
    """Output, and CPU time in milliseconds."""
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            raise SystemExit(f"{command}: ended with {status}")
        out.seek(0)
        return out.read(), 1000 * (usage.ru_utime + usage.ru_stime)


def pages_by_vmtouch(text: str) -> int:
    found = re.search(r"Resident Pages: (\d+)/", text)
    # Of empty files it says nothing.
    return int(found[1]) if found else 0


def pages_by_warmset(text: str) -> int:
    return json.loads(text)["total"]["resident"] // PAGE


def spread(values: list[float]) -> str:
    return f"{min(values):.1f} / {statistics.median(values):.1f} / {max(values):.1f}"


def main() -> None:
    warmset = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    loads = [os.getloadavg()[0]]
    programs = {
        "vmtouch": (["vmtouch"], pages_by_vmtouch),
        "warmset files": ([warmset, "files", "--json"], pages_by_warmset),
    }
    print("| files | program | resident pages | CPU ms, min / median / max |")
    print("|---|---|---:|---:|")
    for name, make in SETS.items():
        with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
            make(Path(place))
            os.sync()
            pages: dict[str, set[int]] = {program: set() for program in programs}
            times: dict[str, list[float]] = {program: [] for program in programs}
            for _ in range(rounds):
                for program, (command, read) in programs.items():
                    text, time = measured([*command, place])
                    pages[program].add(read(text))
                    times[program].append(time)
            for program in programs:
                told = ", ".join(str(count) for count in sorted(pages[program]))
                print(f"| {name} | {program} | {told} | {spread(times[program])} |")
        loads.append(os.getloadavg()[0])
    print(f"\nload of the machine while it ran: {min(loads):.1f} to {max(loads):.1f}")


if __name__ == "__main__":
    main()
