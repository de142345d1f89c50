#!/usr/bin/env python3
"""What of warmsetd is in memory once it runs: resident.py WARMSETD

Runs it for some ticks, observing, and reads its own pages in /proc/PID/pagemap:

- when it says that it is ready, every page of its code and constants is there that it may need while memory is short;
- after some ticks, none is there that only its start needs (packaging/startup.ld), and it has at most 3.5 MiB resident.

Says "not tested" where it was linked without packaging/startup.ld.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# 3.0 to 3.2 MiB were measured, by how much there is to sample; 3.9 MiB without packaging/startup.ld.
MOST_KIB = 3584
# Two ticks and more at the calm pace of 5 s.
TICKS_SECONDS = 12
# Far above what a start takes on a busy machine.
READY_SECONDS = 120
PAGE = os.sysconf("SC_PAGE_SIZE")
STARTUP = [".text.startup_apart", ".rela.dyn", ".eh_frame"]
LASTING = [".text", ".text.shared", ".rodata"]


def fail(why):
    sys.exit(f"resident.py: {why}")


def sections(program):
    """Address and length by name."""
    text = subprocess.run(["readelf", "-SW", program], check=True, capture_output=True, text=True).stdout
    line = re.compile(r"\]\s+(\.\S+)\s+\S+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)")
    return {name: (int(at, 16), int(length, 16)) for name, at, length in line.findall(text)}


def base(pid, program):
    """Where the program begins in memory."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith(str(program)):
            return int(line.split("-")[0], 16)
    fail(f"/proc/{pid}/maps does not name {program}")


def present(pid, begin, end):
    """Which pages of a range are in the process's memory: bit 63 of each word."""
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap:
        words = os.pread(pagemap.fileno(), 8 * ((end - begin) // PAGE), 8 * (begin // PAGE))
    return [words[at + 7] >> 7 for at in range(0, len(words), 8)]


def whole_pages(start, length):
    return -(-start // PAGE) * PAGE, (start + length) // PAGE * PAGE


def wait_until_ready(ready, guard):
    ready.settimeout(READY_SECONDS)
    while b"READY=1" not in ready.recv(4096):
        if guard.poll() is not None:
            fail(f"the guard ended with status {guard.returncode}")


def look(program, scratch):
    parts = sections(program)
    if STARTUP[0] not in parts:
        print(f"not tested: {program} is linked without packaging/startup.ld")
        return
    ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ready.bind(f"{scratch}/ready")
    guard = subprocess.Popen(
        [program, "--observe", "--state", f"{scratch}/state", "--run", f"{scratch}/run"],
        env=os.environ | {"NOTIFY_SOCKET": f"{scratch}/ready"},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until_ready(ready, guard)
        first = base(guard.pid, program)

        def pages(name):
            at, length = parts[name]
            begin, end = whole_pages(first + at, length)
            return present(guard.pid, begin, end)

        for name in LASTING:
            there = pages(name)
            if not all(there):
                fail(f"{name}: {len(there) - sum(there)} of {len(there)} pages are not in memory when the guard is ready")
        time.sleep(TICKS_SECONDS)
        for name in STARTUP:
            there = pages(name)
            if any(there):
                places = [hex(parts[name][0] // PAGE * PAGE + PAGE * at) for at, one in enumerate(there) if one]
                fail(f"{name}: {sum(there)} of {len(there)} pages came back, from {places[0]} to {places[-1]}: a tick ran something there")
        status = Path(f"/proc/{guard.pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s+(\d+)", status)[1])
        if resident > MOST_KIB:
            fail(f"{resident} KiB resident, and {MOST_KIB} at most")
        print(f"resident: {resident} KiB; all code that may be needed is there, and {parts[STARTUP[0]][1] // 1024} KiB of the start are not")
    finally:
        guard.send_signal(signal.SIGTERM)
        guard.wait()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        look(Path(sys.argv[1]).resolve(), scratch)
