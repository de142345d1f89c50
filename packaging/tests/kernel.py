#!/usr/bin/env python3
"""Checks the kernel series, patch by patch and configuration by configuration: kernel.py PROGRAMS [CHECK...]

A check is one of:

    6.12, 7.3         Each patch applies without fuzz, and the files it touches compile after it. If it touches a header,
                      the kernel's whole mm/ compiles. At the end W=1 and sparse warn of nothing new. The touched files
                      compile for arm64 and 32-bit ARM, and with each optional feature off.
    6.12-messages …   checkpatch --strict has nothing against the patches and their messages; neither they nor the series
                      are too long for a reviewer; and the tests in them are those of kernel/selftests.
    6.12-boot …       Only if `boot` is named, because it takes most of an hour: the kernel is built whole, and its tests run in
                      machines of one node, two nodes, and two unequal nodes.
    newest            Only if named: each series applies to the newest source that its suite has. Nothing is written.

A check that passed is written to kernel/CHECKED with a sum over its input, and is not repeated while the sum is the same.
Commit messages are no input of the first kind: a kernel does not compile them.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECKED = ROOT / "kernel/CHECKED"
SERIES = ["6.12", "7.3"]
BOOT = "-boot"
NEWEST = "newest"
MESSAGES = "-messages"
HEAD = "# Written by `make kernel-check`: each check, the sum of its input, and its result."
# Part of every sum: raise it when a check below changes, so that all of them run again.
CHECKS = 2
FRAGMENTS = ["crates/vmlab/src/kernel/lab.config", "kernel/config/protection.config"]
# What a reviewer reads at once, in lines of code and in words. The series is to be judged as a whole, so it has a bound, too.
MOST_LINES = 250
MOST_LINES_PATCH = 100
MOST_WORDS = 250
# Where the series has the tests of kernel/selftests.
TESTS = "tools/testing/selftests/mm/wsp/"
# Architectures, with the prefix of Debian's compiler, and what is asked for besides the architecture's own configuration.
MACHINES = {"arm64": "aarch64-linux-gnu-", "arm": "arm-linux-gnueabi-"}
FOREIGN = "MEMCG NUMA LRU_GEN WORKINGSET_PROTECTION"
# What a kernel may be without, and the options that are off then.
WITHOUT = {
    "SWAP": "SWAP ZRAM ZSMALLOC",
    "NUMA": "NUMA",
    "MEMCG": "MEMCG",
    "LRU_GEN": "LRU_GEN",
    "the series": "WORKINGSET_PROTECTION",
}
# New files are not in MAINTAINERS yet, all trace events are laid out like this, a line of the kernel's log is quoted, and a
# copy of a sysctl's table is written to.
STYLE_IGNORED = "FILE_PATH_CHANGES,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,COMMIT_LOG_LONG_LINE,CONST_STRUCT"


def checked_sum(inputs: dict[str, bytes]) -> str:
    """The sum of these inputs by name, of the files that say how a kernel is built, and of the checks' version."""
    files = [ROOT / "kernel/BASES", *(ROOT / fragment for fragment in FRAGMENTS)]
    everything = inputs | {file.name: file.read_bytes() for file in files}
    total = hashlib.sha256(f"checks {CHECKS}\n".encode())
    for name, content in sorted(everything.items()):
        total.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()


def patches(series: str) -> list[Path]:
    return sorted((ROOT / f"kernel/series-{series}").glob("*.patch"))


def diffs(series: str) -> dict[str, bytes]:
    """What the patches of a series change, without their messages."""
    return {patch.name: patch.read_bytes().partition(b"\ndiff --git ")[2] for patch in patches(series)}


def messages(series: str) -> dict[str, bytes]:
    """The patches of a series whole, as checkpatch reads them."""
    return {patch.name: patch.read_bytes() for patch in patches(series)}


def selftests() -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (ROOT / "kernel/selftests").glob("*.[ch]")}


def code_lines(diff: str) -> int:
    """Lines added or removed, without documentation, tests, blank lines, comments and the help of options."""
    file = ""
    count = 0
    comment = False
    in_help = False
    for line in diff.splitlines():
        if line.startswith(("--- ", "+++ ", "@@")):
            file = line.split()[1] if line.startswith("+++") else file
            comment = in_help = False
            continue
        text = line[1:].strip()
        if not text or "/Documentation/" in file or "/selftests/" in file:
            continue
        in_help = in_help and line[1:].startswith("\t  ")
        if comment or text.startswith(("/*", "* ", "*/", "//")) or text == "*":
            comment = "*/" not in text and (comment or text.startswith("/*"))
        elif not in_help and line[0] in "+-":
            count += 1
        in_help = in_help or (file.endswith("Kconfig") and text == "help")
    return count


class Tree:
    """The source of one kernel and its series."""

    def __init__(self, name: str, lab: Path, work: Path, *, newest: bool = False):
        self.name = name
        self.patches = patches(name)
        words = [lab, "kernels", "source", "--series", name, *(["--newest"] if newest else []), work]
        self.root = Path(subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip())
        text = "".join(patch.read_text() for patch in self.patches)
        self.touched = sorted(set(re.findall(r"^\+\+\+ b/(\S+)$", text, re.M)))
        self.objects = [file[:-1] + "o" for file in self.touched if file.endswith(".c") and not file.startswith("tools/")]
        self.machine: list[str] = []

    def run(self, *words: str, allow: bool = False) -> str:
        """Runs a program in the tree and gives what it said on both streams."""
        done = subprocess.run(words, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode and not allow:
            sys.exit(f"kernel: {self.name}: {' '.join(words)} failed\n{done.stdout[-4000:]}")
        return done.stdout

    def make(self, *words: str, allow: bool = False) -> str:
        return self.run("make", f"-j{os.cpu_count()}", *self.machine, *words, allow=allow)

    def configure(self, without: str = "") -> None:
        """The lab's configuration, or that of another machine, with the series on, and without some options."""
        if self.machine:
            self.make("defconfig")
            wishes = [word for option in FOREIGN.split() for word in ("-e", option)]
            self.run("scripts/config", *wishes)
        else:
            self.make("tinyconfig")
            fragments = [str(ROOT / fragment) for fragment in FRAGMENTS]
            self.run("scripts/kconfig/merge_config.sh", "-m", ".config", *fragments)
        for option in without.split():
            self.run("scripts/config", "-d", option)
        self.make("olddefconfig")
        config = (self.root / ".config").read_text().splitlines()
        for option in without.split():
            if f"CONFIG_{option}=y" in config:
                sys.exit(f"kernel: {self.name}: {option} cannot be turned off")
        if "WORKINGSET_PROTECTION" not in without and "CONFIG_WORKINGSET_PROTECTION=y" not in config and self.patched():
            sys.exit(f"kernel: {self.name}: the series is off in {self.machine or without}")

    def patched(self) -> bool:
        return (self.root / "mm/wsp.c").exists()

    def compile_touched(self) -> None:
        """Without the series, what it touches must want nothing of mm/wsp.c: such a kernel could not be linked."""
        objects = [name for name in self.objects if self.wanted(name)]
        self.make(*objects)
        if not self.machine and self.patched() and not self.wanted("mm/wsp.o"):
            missing = re.findall(r"\bU (wsp_\w+)", self.run("nm", *objects))
            if missing:
                sys.exit(f"kernel: {self.name}: {', '.join(sorted(set(missing)))} is wanted with the series off")

    def wanted(self, name: str) -> bool:
        """mm/wsp.c is for the series alone."""
        config = (self.root / ".config").read_text()
        is_on = name != "mm/wsp.o" or "CONFIG_WORKINGSET_PROTECTION=y" in config
        return is_on and (self.root / name.replace(".o", ".c")).exists()

    def complaints(self) -> set[str]:
        """What W=1 and sparse say of the files that the series touches, without line numbers."""
        for name in self.objects:
            (self.root / name).unlink(missing_ok=True)
        said = self.make("-k", "W=1", "C=1", *(name for name in self.objects if self.wanted(name)), allow=True)
        lines = [line for line in said.splitlines() if re.match(r"(mm|drivers|include)/\S+: (warning|error)", line)]
        return {re.sub(r":\d+", "", line) for line in lines if any(line.startswith(file) for file in self.touched)}

    def style(self) -> list[str]:
        """checkpatch --strict has nothing against any patch."""
        for patch in self.patches:
            words = ["--no-tree", "--strict", "--terse", "--show-types", "--no-summary", "--ignore", STYLE_IGNORED]
            said = self.run("scripts/checkpatch.pl", *words, str(patch), allow=True).strip()
            if said:
                sys.exit(f"kernel: {said}")
        lines, words = self.lengths()
        self.same_tests()
        return [
            f"checkpatch --strict has nothing against {len(self.patches)} patches",
            f"at most {lines} lines of code and {words} words of message in a patch",
            "its tests are those of kernel/selftests",
        ]

    def lengths(self) -> tuple[int, int]:
        """The most lines of code and the most words of message in a patch, if a reviewer can read that at once."""
        most_lines = most_words = 0
        for patch in self.patches:
            head, _, diff = patch.read_text().partition("\ndiff --git ")
            message = head.partition("\n\n")[2].partition("\nSigned-off-by:")[0]
            lines, words = code_lines("diff --git " + diff), len(message.split())
            if lines > MOST_LINES_PATCH or words > MOST_WORDS:
                sys.exit(f"kernel: {patch.name}: {lines} lines of code and {words} words of message")
            most_lines, most_words = max(most_lines, lines), max(most_words, words)
        return most_lines, most_words

    def same_tests(self) -> None:
        """The series has kernel/selftests, file by file."""
        self.apply(self.patches)
        for name, content in selftests().items():
            copy = self.root / TESTS / name
            if not copy.exists() or copy.read_bytes() != content:
                sys.exit(f"kernel: {self.name}: {TESTS}{name} differs from kernel/selftests/{name}")

    def apply(self, patches: list[Path]) -> None:
        for patch in patches:
            self.run("patch", "-s", "-p1", "--forward", "--fuzz=0", "-i", str(patch))

    def check(self) -> list[str]:
        """Applies and compiles all of it; the results, one a line."""
        originals = {file: (self.root / file).read_text() if (self.root / file).exists() else "" for file in self.touched}
        self.configure()
        before = self.complaints()
        for patch in self.patches:
            self.apply([patch])
            if patch == self.patches[0]:
                self.configure()
            if "+++ b/include/" in patch.read_text():
                self.make("mm/")
            self.compile_touched()
        new = self.complaints() - before
        if new:
            sys.exit(f"kernel: {self.name}: new complaints\n" + "\n".join(sorted(new)))
        for options in WITHOUT.values():
            self.configure(options)
            self.compile_touched()
        for arch, prefix in MACHINES.items():
            self.machine = [f"ARCH={arch}", f"CROSS_COMPILE={prefix}"]
            self.configure()
            self.compile_touched()
        self.machine = []
        size = self.size(originals)
        if size > MOST_LINES:
            sys.exit(f"kernel: {self.name}: {size} lines of code, of at most {MOST_LINES}")
        return [
            f"{len(self.patches)} patches, {size} lines of code, each compiled",
            f"W=1 and sparse warn of nothing new in {len(self.objects)} files",
            f"compiled for x86-64, {', '.join(MACHINES)}; without {', '.join(WITHOUT)}",
        ]

    def size(self, originals: dict[str, str]) -> int:
        """Lines of code of the series as a whole."""
        total = 0
        for file, text in originals.items():
            old = self.root / "before"
            old.write_text(text)
            diff = self.run("diff", "-U9999", "--label", f"a/{file}", "--label", f"b/{file}", "before", file, allow=True)
            total += code_lines(diff)
        return total


def boot(lab: Path, name: str) -> list[str]:
    """Builds the kernel through the lab's store, as a user does, and runs its tests: one node, two, two unequal ones."""
    said = []
    for nodes, tests in (("1", []), ("1,1", ["hot"]), ("3,1", ["nodes"])):
        words = [lab, "selftest", "--series", name, "--nodes", nodes, *tests]
        done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        lines = [line for line in done.stdout.splitlines() if re.match("(not )?ok ", line)]
        if done.returncode or not lines:
            sys.exit(f"kernel: the tests of {name}, nodes {nodes}:\n{done.stdout}")
        skipped = sum("# SKIP" in line for line in lines)
        said.append(f"nodes {nodes}: {len(lines) - skipped} tests passed, {skipped} skipped")
    return said


def newest(lab: Path) -> None:
    """Applies each series to the newest source of its suite, and says which that is."""
    for name in SERIES:
        with tempfile.TemporaryDirectory(prefix="warmset-kernel-") as work:
            tree = Tree(name, lab, Path(work), newest=True)
            tree.apply(tree.patches)
            print(f"kernel: {name} applies to {tree.run('make', '-s', 'kernelversion').strip()}")


def check(name: str, lab: Path) -> list[str]:
    """Runs one check; its results."""
    if name.endswith(BOOT):
        return boot(lab, name.removesuffix(BOOT))
    with tempfile.TemporaryDirectory(prefix="warmset-kernel-") as work:
        tree = Tree(name.removesuffix(MESSAGES), lab, Path(work))
        return tree.style() if name.endswith(MESSAGES) else tree.check()


def sums_now() -> dict[str, str]:
    """The sum of each check's input as it is now."""
    sums = {series: checked_sum(diffs(series)) for series in SERIES}
    sums |= {series + MESSAGES: checked_sum(messages(series) | selftests()) for series in SERIES}
    sums |= {series + BOOT: checked_sum(diffs(series) | selftests()) for series in SERIES}
    return sums


def results_before() -> dict[str, list[str]]:
    """What kernel/CHECKED holds: for each check its sum, then its results."""
    results: dict[str, list[str]] = {}
    for line in CHECKED.read_text().splitlines()[1:] if CHECKED.exists() else []:
        if line.startswith("  "):
            results[name].append(line.strip())
        else:
            name, _, total = line.partition(" ")
            results[name] = [total]
    return results


def main() -> None:
    lab = Path(sys.argv[1]).resolve() / "warmset-lab"
    if sys.argv[2:] == [NEWEST]:
        newest(lab)
        return
    sums = sums_now()
    results = results_before()
    changed = [name for name in sums if results.get(name, [""])[0] != sums[name]]
    named = sys.argv[2:]
    boots = [name for name in changed if name.endswith(BOOT)]
    todo = [name for name in changed if name in named or (not named and name not in boots)]
    if named == ["boot"]:
        todo = boots
    if todo:
        subprocess.run([ROOT / "packaging/bootstrap", "kernel"], check=True)
    for name in todo:
        print(f"kernel: {name}: changed since it was checked last", flush=True)
        results[name] = [sums[name], *check(name, lab)]
        blocks = ["\n  ".join([f"{known} {results[known][0]}", *results[known][1:]]) for known in sums if known in results]
        CHECKED.write_text("\n".join([HEAD, *blocks]) + "\n")
    for name in sums:
        for line in results.get(name, [])[1:]:
            print(f"kernel: {name}: {line}")
    for name in boots:
        if name not in todo:
            print(f"kernel: {name}: not run since its input changed; `make kernel-boot` runs it")


if __name__ == "__main__":
    main()
