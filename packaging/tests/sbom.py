"""Tests the list of what is linked into our programs: sbom.py TARGET (called by sbom.sh)."""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TARGET = pathlib.Path(sys.argv[1])
PROGRAMS = TARGET / "release"
# A crate that each program of ours has, with a message that names its file.
COMMON = "serde_json"
# The calls of cargo in packaging/compile that make what is packaged.
STATIC = ["--target", "HOST", "--profile"]
CALLS = [
    [*STATIC, "guard", "-p", "warmset-daemon", "-p", "warmset-hold", "-p", "warmset-cli"],
    [*STATIC, "desktop", "-p", "warmset-low-memory"],
    [*STATIC, "release", "-p", "warmset-tools", "-p", "warmset-cli", "--bin", "warmset-tools", "--example", "pages"],
]
# Used by build scripts and tests.
NEVER_LINKED = {"cc", "proptest", "expect-test", "divan", "allocation-counter", "warmset-testsupport"}


def write(file, **environment):
    """Writes the document for the programs that are built."""
    command = ["packaging/sbom", "write", str(PROGRAMS), str(file)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return file.read_text()


def check(file, *programs):
    return subprocess.run(["packaging/sbom", "check", str(file), *map(str, programs)], capture_output=True, text=True, check=False)


def shipped():
    """The programs that packaging/files installs."""
    names = re.findall(r"PROGRAMS/([a-z-]+)$", pathlib.Path("packaging/files").read_text(), re.MULTILINE)
    assert len(names) >= 5, names
    return [PROGRAMS / name for name in names]


def refused(told, scratch, programs, because):
    """Checks that a document is refused with a message that says why."""
    file = scratch / "wrong.json"
    file.write_text(json.dumps(told))
    done = check(file, *programs)
    assert done.returncode == 1 and because in done.stderr, (because, done)


def without(told, name):
    """The document without the components of a name."""
    told = copy.deepcopy(told)
    before = len(told["components"])
    told["components"] = [it for it in told["components"] if it["name"] != name]
    assert len(told["components"]) < before, name
    return told


def check_refusals(told, scratch):
    programs = [PROGRAMS / "warmsetd"]
    refused(without(told, COMMON), scratch, programs, f"it contains {COMMON}@")
    refused(without(told, "warmsetd"), scratch, programs, "warmsetd: it is not listed")
    older = copy.deepcopy(told)
    next(it for it in older["components"] if it["name"] == COMMON)["bom-ref"] = f"{COMMON}@0.0.1"
    refused(older, scratch, programs, f"it contains {COMMON}@")
    foreign = copy.deepcopy(told)
    next(it for it in foreign["dependencies"] if it["ref"] == "program:warmsetd")["dependsOn"] = []
    refused(foreign, scratch, programs, "which is listed for other programs only")
    changed = scratch / "warmsetd"
    changed.write_bytes((PROGRAMS / "warmsetd").read_bytes() + b"\0")
    done = check(scratch / "one.json", changed)
    assert done.returncode == 1 and "other bytes" in done.stderr, done


def check_schema(text):
    """Compares the document with the published schema; returns what to say about it."""
    try:
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
    except ImportError:
        return "schema not compared"
    validator = JsonStrictValidator(SchemaVersion.V1_5)
    fault = validator.validate_str(text)
    assert fault is None, fault
    assert validator.validate_str(text.replace('"components"', '"componets"', 1)) is not None, "the schema accepts a misspelt field"
    return "as the schema of CycloneDX 1.5 asks"


def check_fields(told):
    """Checks that each crate has what a reader looks for."""
    lock = pathlib.Path("Cargo.lock").read_text()
    for it in told["components"]:
        assert it["version"] and it["licenses"], it
        if it["type"] != "library" or not it["purl"].startswith("pkg:cargo/") or "vcs_url" in it["purl"]:
            continue
        entry = f'name = "{it["name"]}"\nversion = "{it["version"]}"\n'
        assert f'checksum = "{it["hashes"][0]["content"]}"' in lock.partition(entry)[2].partition("[[package]]")[0], it
    names = {it["name"] for it in told["components"]}
    macros = {it["name"] for it in metadata() if any("proc-macro" in each["kind"] for each in it["targets"])}
    assert len(macros) > 3 and not names & (macros | NEVER_LINKED), names & (macros | NEVER_LINKED)
    for it in told["dependencies"]:
        if it["ref"].startswith("program:"):
            # What a bus starts, and the lab, which may be built as well, are linked with the C library of their machine.
            static = it["ref"] not in ("program:warmset-low-memory", "program:warmset-lab")
            assert "rust-std" in it["dependsOn"] and ("glibc" in it["dependsOn"]) is static, it["ref"]


def metadata():
    command = ["cargo", "metadata", "--locked", "--format-version=1"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["packages"]


def unit_graph(call, host):
    """What cargo would hand to the compiler, without compiling it; None where this cargo does not tell."""
    options = [host if it == "HOST" else it for it in call]
    command = ["cargo", "build", "--locked", "--unit-graph", "-Zunstable-options", *options]
    # The option is of nightly. A stable cargo knows it as well, and nothing is built with it here.
    done = subprocess.run(command, env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def linked_units(units, root):
    """The crates in a program: what its units depend on, without build scripts and procedural macros, as NAME@VERSION."""
    found, waiting, seen = set(), [root], set()
    while waiting:
        index = waiting.pop()
        unit = units[index]
        if index in seen or unit["mode"] != "build" or {"proc-macro", "custom-build"} & set(unit["target"]["kind"]):
            continue
        seen.add(index)
        # Ends with NAME@VERSION, or with DIRECTORY#VERSION where the directory has the name.
        path, _, name = unit["pkg_id"].rpartition("#")
        found.add(name if "@" in name else f"{path.rpartition('/')[2]}@{name}")
        waiting += [it["index"] for it in unit["dependencies"]]
    return found


def check_units(told):
    """Compares each program's crates with the units that cargo would compile and link; returns what to say about it."""
    uses = {it["ref"]: {ref for ref in it["dependsOn"] if "@" in ref} for it in told["dependencies"]}
    host = next(it["value"] for it in told["metadata"]["properties"])
    compared = 0
    for call in CALLS:
        graph = unit_graph(call, host)
        if graph is None:
            print("SKIPPED: sbom: this cargo tells no unit graph", file=sys.stderr)
            return "units not compared"
        for root in graph["roots"]:
            target = graph["units"][root]["target"]
            if "bin" not in target["kind"]:
                continue
            linked = linked_units(graph["units"], root)
            assert linked == uses[f"program:{target['name']}"], (target["name"], linked ^ uses[f"program:{target['name']}"])
            compared += 1
    assert compared == len(shipped()), compared
    return "the same as cargo's units"


def check_daemon(told):
    """Compares the guard's crates with the list that a reviewer keeps."""
    listed = next(set(it["dependsOn"]) for it in told["dependencies"] if it["ref"] == "program:warmsetd")
    names = {it.partition("@")[0] for it in listed} - {"rust-std", "glibc"}
    expected = set(pathlib.Path("crates/daemon/tests/dependencies.expected").read_text().split())
    # The command and the holder are compiled in the same call, and can add features, but no crate.
    assert names == expected, names ^ expected
    return len(names)


def main():
    programs = shipped()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        told = write(scratch / "one.json", TZ="UTC", LC_ALL="C", SOURCE_DATE_EPOCH="1")
        again = write(scratch / "two.json", TZ="Asia/Tokyo", LC_ALL="C.UTF-8", SOURCE_DATE_EPOCH="1", PYTHONHASHSEED="7")
        assert told == again and str(pathlib.Path.cwd()) not in told, "the document depends on where or when it is written"
        schema = check_schema(told)
        done = check(scratch / "one.json", *programs)
        assert done.returncode == 0, done.stderr
        told = json.loads(told)
        check_fields(told)
        crates = check_daemon(told)
        units = check_units(told)
        check_refusals(told, scratch)
    count = sum(it["type"] == "library" for it in told["components"])
    print(f"sbom: {count} libraries in {len(programs)} programs, {crates} crates in warmsetd, {units}, {schema}; five wrong documents are refused")


main()
