#!/usr/bin/env python3
"""docs/results/policies.tsv: what each policy misses, beside other programs.

    bench/policies.py --warmset PROGRAM [--libcachesim DIRECTORY] [--cachesim PROGRAM] [--lirs PROGRAM]
                      [--clock-pro PROGRAM] [--caffeine COMMAND] TRACE... [--objects TRACE]... > docs/results/policies.tsv

Each TRACE is read by warmset-tools and handed to the others as page numbers in the order of their first use, so formats
do not count. The other programs are built or installed by the reader; nothing is fetched here:

    --libcachesim  the directory that the Python package libcachesim is installed in
    --cachesim     libCacheSim's program of the S3-FIFO paper's artifact; it prints four decimals of the miss ratio
    --lirs         the program of the LIRS authors, from their lirs.c; it reads NAME.trc and NAME.par
    --clock-pro    the program of the CLOCK-Pro authors, from their clock-pro.c; it reads loop.trc and loop.par
    --caffeine     a command that starts Caffeine's simulator with what is in JAVA_TOOL_OPTIONS

A program that cannot run at a size, or is not given, has no row.

--objects is a trace with sizes of objects, for the policies of caches in bytes and libcachesim; `zipf` is one that is made
here, of 2,000,000 references to 100,000 objects. Each object has the size of its first reference, as libcachesim keeps
that. A cell has two rows, one of misses and one of missed bytes; its capacity is in bytes. Their draws at random go on
from run to run, so each run has a process of its own.
"""

import argparse
import array
import csv
import io
import json
import multiprocessing
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

# Of the footprint. Beside them the smallest size that all programs take.
SHARES = [0.01, 0.05, 0.2, 0.5]
SMALLEST = 10
# A reference of oracleGeneral: time, page, size, next reference.
RECORD = struct.Struct("<IQIq")

# Our policy, the class of libcachesim, and its options by the capacity.
LIBCACHESIM = [
    ("fifo", "FIFO", {}),
    ("lru", "LRU", {}),
    ("clock", "Clock", {}),
    ("gclock", "Clock", {"n_bit_counter": 2}),
    ("lfu", "LFU", {}),
    ("lru-k:retained=1", "LRUK", {}),
    ("2q", "TwoQ", {}),
    ("mq", "MQ", {"lifetime": lambda capacity: 4 * capacity}),
    ("arc", "ARC", {}),
    ("lirs", "LIRS", {}),
    ("clockpro", "ClockPro", {}),
    ("sieve", "Sieve", {}),
    ("s3fifo:fill=1", "S3FIFO", {}),
    ("wtinylfu", "WTinyLFU", {}),
    ("opt", "Belady", {}),
]
# Our policy, the artifact's name for it, and how its results call it.
CACHESIM = [
    ("fifo", "fifo", "FIFO"),
    ("lru", "lru", "LRU"),
    ("clock", "clock", "Clock"),
    ("2q", "twoq", "TwoQ"),
    ("arc", "arc", "ARC"),
    ("sieve", "sieve", "Sieve"),
    ("s3fifo", "s3fifo", "S3FIFO-0.1000-2"),
]
# Our policy, Caffeine's name, and its settings by the capacity.
CAFFEINE = [
    ("fifo", "linked.Fifo", {}),
    ("lru", "linked.Lru", {}),
    ("clock", "linked.Clock", {}),
    ("lfu", "linked.Lfu", {}),
    ("2q", "two-queue.TwoQueue", {}),
    ("mq", "linked.MultiQueue", {"multi-queue.lifetime": lambda capacity: 4 * capacity, "multi-queue.percent-out": 4.0}),
    ("arc-int-p", "adaptive.Arc", {}),
    ("car:whole=1", "adaptive.Car", {}),
    ("lirs", "irr.Lirs", {"lirs.non-resident-multiplier": 1000.0}),
    ("clockpro", "irr.ClockPro", {"clockpro.non-resident-multiplier": 1.0}),
    ("sieve", "linked.Sieve", {}),
    ("s3fifo:strict=1", "two-queue.S3Fifo", {}),
    ("wtinylfu:most=65535", "sketch.WindowTinyLfu", {"tiny-lfu.sketch": "perfect-table", "tiny-lfu.jitter.enabled": "false"}),
    ("wtinylfu", "sketch.WindowTinyLfu", {}),
    ("linux", "irr.DClock", {"dclock.percent-active.0": 0.5}),
]
# Our policy of objects, the class of libcachesim, and its admission.
OBJECTS = [
    ("fifo", "FIFO", None),
    ("lru", "LRU", None),
    ("clock", "Clock", None),
    ("sieve", "Sieve", None),
    ("s3fifo:fill=1", "S3FIFO", None),
    ("gdsf", "GDSF", None),
    ("gdsf:enters=1", "GDSF", None),
    ("lhd", "LHD", None),
    ("lecar", "LeCaR", None),
    ("lecar:bytes=1", "LeCaR", None),
    ("adaptsize:interval=30000,wait=1000", "LRU", "AdaptSizeAdmissioner"),
]
AUTHORS_CLOCK_PRO = "clockpro:cold=0.05,most=0.05,again=0"


class Trace:
    """A trace in the forms that the other programs read."""

    def __init__(self, path, warmset, scratch):
        self.path = Path(path)
        self.name = self.path.name.split(".")[0]
        self.words = scratch / f"{self.name}.u32"
        subprocess.run([warmset, "convert", "--quiet", "--force", path, self.words], check=True, capture_output=True)
        pages = array.array("I", self.words.read_bytes())
        number = {}
        self.refs = [number.setdefault(page, len(number)) for page in pages]
        self.pages = len(number)
        self.text = scratch / "loop.trc"
        self.text.write_text("\n".join(map(str, self.refs)) + "\n")
        self.records = scratch / f"{self.name}.oracleGeneral"
        self.write_records()

    def write_records(self):
        later = {}
        nexts = [-1] * len(self.refs)
        for at in range(len(self.refs) - 1, -1, -1):
            nexts[at] = later.get(self.refs[at], -1)
            later[self.refs[at]] = at
        with open(self.records, "wb") as out:
            for at, page in enumerate(self.refs):
                out.write(RECORD.pack(at, page + 1, 1, nexts[at]))

    def capacities(self):
        shares = {int(self.pages * share) for share in SHARES}
        return sorted({SMALLEST} | {size for size in shares if size > SMALLEST})


class SizedTrace:
    """A trace of objects, each of one size, as oracleGeneral."""

    def __init__(self, told, warmset, scratch):
        self.path = told
        if told == "zipf":
            self.name = told
            self.refs = list(zipf_with_sizes())
        else:
            path = Path(told)
            self.name = path.name.split(".")[0]
            read = scratch / "read.oracleGeneral"
            subprocess.run([warmset, "convert", "--quiet", "--force", path, read], check=True, capture_output=True)
            self.refs = [(object, size) for _, object, size, _ in RECORD.iter_unpack(read.read_bytes())]
        sizes = {}
        self.refs = [(object, sizes.setdefault(object, size)) for object, size in self.refs if size]
        self.objects = len(sizes)
        self.footprint = sum(sizes.values())
        self.bytes = sum(size for _, size in self.refs)
        self.records = scratch / f"{self.name}.oracleGeneral"
        with open(self.records, "wb") as out:
            for at, (object, size) in enumerate(self.refs):
                out.write(RECORD.pack(at, object + 1, size, -1))

    def capacities(self):
        return [int(self.footprint * share) for share in SHARES]


def zipf_with_sizes():
    """Objects of a popularity like 1/rank, and of sizes like those of a web cache: a median of 8 KB, some of megabytes."""
    objects = 100_000
    draws = random.Random(59)
    sizes = [1 + int(draws.lognormvariate(9, 1.5)) for _ in range(objects)]
    weights = [1 / (rank + 1) for rank in range(objects)]
    for object in draws.choices(range(objects), weights, k=2_000_000):
        yield object, sizes[object]


def ours(warmset, trace, capacity, policies):
    """Our misses, by policy."""
    command = [warmset, "simulate", "--quiet", "--json", "-c", str(capacity)]
    for policy in policies:
        command += ["-p", policy]
    ran = subprocess.run(command + [trace.words], capture_output=True, text=True, check=True)
    runs = [json.loads(line) for line in ran.stdout.splitlines()]
    return {policy: run["misses"] for policy, run in zip(policies, runs, strict=True)}


def ours_of_objects(warmset, trace, capacity):
    """Our misses and missed bytes, by policy."""
    command = [warmset, "simulate", "--objects", "--quiet", "--json", "-c", str(capacity)]
    for policy, _, _ in OBJECTS:
        command += ["-p", policy]
    ran = subprocess.run(command + [trace.records], capture_output=True, text=True, check=True)
    runs = [json.loads(line) for line in ran.stdout.splitlines()]
    return {run["policy"]: (run["misses"], run["missed_bytes"]) for run in runs}


def object_miss_ratios(directory, records, capacity, name, admission):
    """What libcachesim says: misses per reference, and missed bytes per byte."""
    sys.path.insert(0, directory)
    import libcachesim

    filters = {"admissioner": getattr(libcachesim, admission)()} if admission else {}
    cache = getattr(libcachesim, name)(capacity, hashpower=18, **filters)
    reader = libcachesim.TraceReader(str(records), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    return cache.process_trace(reader)


def object_rows(arguments, trace, capacity):
    """A row for the misses and one for the missed bytes of each policy of objects."""
    own = ours_of_objects(arguments.warmset, trace, capacity)
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(1, maxtasksperchild=1) as pool:
        for policy, name, admission in OBJECTS:
            told = pool.apply(object_miss_ratios, (arguments.libcachesim, str(trace.records), capacity, name, admission))
            missed = round(told[0] * len(trace.refs)), round(told[1] * trace.bytes)
            program = f"libcachesim {name}" + (f" with {admission}" if admission else "")
            for ours, theirs, what in zip(own[policy], missed, ("", ", bytes"), strict=True):
                yield f"--objects {policy}", ours, program + what, theirs


def by_libcachesim(directory, trace, capacity):
    sys.path.insert(0, directory)
    import libcachesim

    for policy, name, options in LIBCACHESIM:
        given = {key: value(capacity) if callable(value) else value for key, value in options.items()}
        cache = getattr(libcachesim, name)(capacity, hashpower=18, **given)
        reader = libcachesim.TraceReader(str(trace.records), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
        ratio, _ = cache.process_trace(reader)
        yield policy, f"libcachesim {name}", round(ratio * len(trace.refs))


def by_cachesim(program, trace, capacity):
    # All in one run: with one policy alone it prints intermediate ratios.
    names = ",".join(name for _, name, _ in CACHESIM)
    command = [Path(program).resolve(), trace.records, "oracleGeneral", names, str(capacity), "--ignore-obj-size", "1", "--num-thread", "1"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=trace.text.parent)
    for policy, _, called in CACHESIM:
        ratio = re.search(rf" {re.escape(called)} cache size .*, miss ratio (\d\.\d+)", ran.stdout + ran.stderr)
        if ratio:
            yield policy, f"cachesim {called}", float(ratio[1])


def by_authors(program, trace, capacity, policy, arguments):
    scratch = trace.text.parent
    (scratch / "loop.par").write_text(f"{capacity}\n")
    ran = subprocess.run([Path(program).resolve(), *arguments], capture_output=True, text=True, cwd=scratch)
    misses = re.search(r"number of misses = *(\d+)", ran.stdout)
    if misses:
        yield policy, Path(program).name, int(misses[1])


def by_caffeine(command, trace, capacity):
    """A policy that is listed twice, with other settings, has a run of its own."""
    batches = []
    for policy, name, options in CAFFEINE:
        given = {key: value(capacity) if callable(value) else value for key, value in options.items()}
        batch = next((batch for batch in batches if name not in [other for _, other, _ in batch]), None)
        if batch is None:
            batch = []
            batches.append(batch)
        batch.append((policy, name, given))
    for batch in batches:
        settings = {
            "files.format": "lirs",
            "files.paths.0": f"lirs:{trace.text}",
            "maximum-size": capacity,
            "report.format": "csv",
            "admission.0": "Always",
        }
        for at, (_, name, given) in enumerate(batch):
            settings[f"policies.{at}"] = name
            settings |= given
        told = " ".join(f"-Dcaffeine.simulator.{key}={value}" for key, value in settings.items())
        ran = subprocess.run(command.split(), capture_output=True, text=True, env=os.environ | {"JAVA_TOOL_OPTIONS": told})
        rows = [row for row in csv.DictReader(io.StringIO(ran.stdout)) if row.get("Misses")]
        for policy, name, _ in batch:
            for row in rows:
                if row["Policy"].split(" (")[0] == name:
                    yield policy, f"caffeine {name}", int(row["Misses"].replace(",", ""))


def others(arguments, trace, capacity):
    if arguments.libcachesim:
        yield from by_libcachesim(arguments.libcachesim, trace, capacity)
    if arguments.cachesim:
        yield from by_cachesim(arguments.cachesim, trace, capacity)
    if arguments.lirs:
        yield from by_authors(arguments.lirs, trace, capacity, "lirs", ["loop"])
    if arguments.clock_pro:
        yield from by_authors(arguments.clock_pro, trace, capacity, AUTHORS_CLOCK_PRO, [])
    if arguments.caffeine:
        yield from by_caffeine(arguments.caffeine, trace, capacity)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warmset", required=True)
    for name in ("libcachesim", "cachesim", "lirs", "clock-pro", "caffeine"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--objects", action="append", default=[])
    parser.add_argument("trace", nargs="*")
    arguments = parser.parse_args()
    print("trace", "references", "pages", "capacity", "policy", "misses", "program", "its_misses", "equal", sep="\t")
    with tempfile.TemporaryDirectory() as scratch:
        for path in arguments.trace:
            trace = Trace(path, arguments.warmset, Path(scratch))
            for capacity in trace.capacities():
                rows = list(others(arguments, trace, capacity))
                own = ours(arguments.warmset, trace, capacity, sorted({row[0] for row in rows}))
                for policy, program, misses in rows:
                    told = own[policy]
                    if isinstance(misses, float):
                        equal = round(told / len(trace.refs), 4) == misses
                    else:
                        equal = told == misses
                    cell(trace.name, len(trace.refs), trace.pages, capacity, policy, told, program, misses, equal)
        for told in arguments.objects:
            trace = SizedTrace(told, arguments.warmset, Path(scratch))
            for capacity in trace.capacities():
                for policy, own, program, theirs in object_rows(arguments, trace, capacity):
                    cell(trace.name, len(trace.refs), trace.objects, capacity, policy, own, program, theirs, own == theirs)


def cell(*columns):
    *rest, equal = columns
    print(*rest, "yes" if equal else "no", sep="\t", flush=True)


if __name__ == "__main__":
    main()
