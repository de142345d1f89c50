#!/usr/bin/env python3
"""Checks what wheels say of themselves: wheels.py WHEEL...

The name promises a machine and the oldest glibc. The extension must be for that machine, ask for no newer glibc, and link with nothing
else.
"""

import re
import struct
import sys
import zipfile
from pathlib import Path

# The machine's number in an ELF file's head.
MACHINES = {"x86_64": 62, "aarch64": 183}
# Libraries that manylinux2014 lets a wheel link with; glibc's own parts and the compiler's.
ALLOWED = {
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}


def check(path: Path) -> str:
    """Check a wheel, and say what it is."""
    for machine in MACHINES:
        # Both names of one promise, in either order.
        tags = {f"manylinux_2_17_{machine}", f"manylinux2014_{machine}"}
        name = re.fullmatch(r"warmset-[\d.]+-cp311-abi3-([\w.]+)\.whl", path.name)
        if name is not None and set(name[1].split(".")) == tags:
            break
    else:
        raise SystemExit(f"{path.name}: the name is not that of a wheel for any Python from 3.11 on and glibc 2.17")
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        for needed in ("warmset/py.typed", "warmset/_warmset.pyi", "warmset/_policy.py"):
            if needed not in names:
                raise SystemExit(f"{path.name}: {needed} is not in it")
        [extension] = [name for name in names if name.endswith(".so")]
        elf = wheel.read(extension)
    [number] = struct.unpack_from("<H", elf, 18)
    if number != MACHINES[machine]:
        raise SystemExit(f"{path.name}: {extension} is for the machine {number}, not for {machine}")
    asked = {tuple(map(int, version.split(b"."))) for version in re.findall(rb"\0GLIBC_([\d.]+)(?=\0)", elf)}
    newest = max(asked)
    if newest > (2, 17):
        raise SystemExit(f"{path.name}: {extension} needs glibc {'.'.join(map(str, newest))}, and the name says 2.17")
    linked = {name.decode() for name in re.findall(rb"\0((?:lib|ld-)[\w+.-]*\.so\.\d+)(?=\0)", elf)}
    if linked - ALLOWED:
        raise SystemExit(f"{path.name}: {extension} links with {', '.join(sorted(linked - ALLOWED))}")
    return f"{path.name}: {machine}, glibc {'.'.join(map(str, newest))}, {len(elf) / 2**20:.1f} MiB"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(check(Path(name)))
