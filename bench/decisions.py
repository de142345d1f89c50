"""docs/results/decisions.md: decisions.py LINES <TABLES, where TABLES is what `warmset-lab decisions --table` prints.

The text around the tables stands here. What it says of the runs is read from their lines.
"""

import json
import statistics
import sys

TITLE = "# Who decides right: 24 situations beside the kernel and other guards"

CLAIM = """
**Claim.** The tables tell, for each situation and each guard, whether it did what the situation's own text calls right:
the right process, at the right time, or nobody. The same texts run in milliseconds in a model (`situations/`), and its
judge is the judge here.
"""

HOW = """
## What was measured

Each cell is one machine: Debian 13 with systemd and its kernel 6.12, and one CPU under QEMU. A situation says a large
machine. Its amounts and rates are divided so that memory becomes 400 or 512 MiB, and times stay. The machine has 110 MiB
more, which the kernel, systemd and the journal take.

Programs run from their own files, as their users, in cgroups with the paths of real units, some with a terminal. They grow,
touch, stream, fork and ignore SIGTERM as the text says. The guard starts three seconds before.

| arm | what runs |
|---|---|
| none | the kernel alone; its OOM kill is what is judged |
| earlyoom | Debian's service with Debian's settings |
| nohang | the same |
| systemd-oomd | Debian's service; `ManagedOOMMemoryPressure=kill` with 50 % on `user.slice`, for 20 s; `ManagedOOMSwap=kill` on the root slice |
| warmset | `warmsetd` as packaged, in the mode `guard` |

Signals come from the kernel's own record (`signal:signal_generate`), OOM kills from its messages. Limits are read from the
cgroups ten times a second. No guard is believed.

- **right**: what the text asks for was done in time, and nothing else.
- **late**: it was done after its deadline. Deadlines are twice the text's, as an emulated machine is slower. So are the
  times for which all tasks may stall. An act may come in half of the text's earliest time.
- **wrong**: another process was signalled, or none that had to be, or the kernel killed first.

Throttling, questions and notices are asked of Warmset alone. The other arms know none of them, and are judged by whom they
signal. SIGKILL counts as SIGTERM for them.

    bench/decisions.sh target/release
"""

# Situations and arms.
CELLS = 24 * 5

LIMITS = """
## Limits

- One run each, in small emulated machines. A guard with thresholds in percent meets the same shares here as in a large
  machine, one with thresholds in bytes does not.
- The situations are from reports about other guards and were chosen by us. A guard is wrong here by what its users asked
  for, which may not be what its authors promise. The texts name their sources.
- systemd does not know the cgroups. No unit is stopped because one of its processes ended (`OOMPolicy=`), in no arm.
- Debian sets pressure kills of systemd-oomd on `user@.service` and leaves swap to `auto`. The settings here let it act more
  often.
- All programs are one program of the lab under many names. What its authors' rules say of real browsers is not tried.
- What was seen in single cells, and the founding demonstration by the same guard: [kills.md](kills.md).
"""


def main():
    lines = newest(sys.argv[1])
    tables = sys.stdin.read().strip()
    good = [line for line in lines if line["seen"] and not line["seen"]["faults"]]
    print(TITLE)
    print(CLAIM)
    if len(good) < CELLS:
        print(f"**Not complete**: {len(good)} of {CELLS} runs are made. The others' cells are empty.\n")
    print(tables)
    print(HOW)
    if good:
        print(facts(lines, good))
    print(LIMITS.strip())


def newest(path):
    """The last line of each cell, the earlier ones taken out of the file: a cell is played again with a new build."""
    cells = {}
    with open(path) as file:
        for text in file:
            line = json.loads(text)
            cells[line["situation"], line["arm"]] = (text, line)
    with open(path, "w") as file:
        file.writelines(text for text, _ in cells.values())
    return [line for _, line in cells.values()]


def facts(lines, good):
    commits = sorted({line["commit"] or "unknown" for line in good})
    walls = [line["wall_s"] for line in good]
    loads = [line["host_load"] for line in good if line["host_load"] is not None]
    rows = [
        ("runs with a result", f"{len(good)} of {CELLS}"),
        ("commit", ", ".join(commits)),
        ("kernel", ", ".join(sorted({line["kernel"] for line in good}))),
        ("QEMU", ", ".join(sorted({f"{line['qemu']}, {line['accel']}" for line in good}))),
        ("seconds of a run, median and most", f"{statistics.median(walls):.0f}, {max(walls):.0f}"),
    ]
    if loads:
        rows.append(("load of the host, median and most", f"{statistics.median(loads):.1f}, {max(loads):.1f}"))
    text = ["## The runs", "", "| | |", "|---|---|"]
    text += [f"| {name} | {value} |" for name, value in rows]
    text += ["", *builds(good), controls(good), ""]
    return "\n".join(text)


def builds(good):
    """Names the cells of Warmset that were not played with the build of most of them."""
    names = {}
    for line in good:
        if line["build"]:
            names.setdefault(line["build"], []).append(line["situation"])
    others = sorted(names.values(), key=len)[:-1]
    if not others:
        return []
    apart = ", ".join(f"`{name}`" for some in others for name in some)
    return [f"Beside Warmset, {apart} was played with another build than the rest.", ""]


# Where each guard must act, the plainest first: systemd-oomd does nothing about one hog where there is no swap.
CONTROLS = ["lone-hog-session", "thrash-swap-free"]


def controls(good):
    """That each guard acts at all: its first signal in the plainest situation in which it sends one."""
    said = {}
    for name in CONTROLS:
        for line in good:
            act = first_act(line)
            if line["situation"] == name and act:
                said.setdefault(line["arm"], f"- {line['arm']}, `{name}`: {act}.")
    if not said:
        return "The controls, " + " and ".join(CONTROLS) + ", were not run."
    return "**Controls.** Each guard acts, in one of the plainest situations:\n\n" + "\n".join(said.values())


def first_act(line):
    seen = line["seen"]
    if seen["signals"]:
        one = seen["signals"][0]
        name = {15: "SIGTERM", 9: "SIGKILL"}[one["signal"]]
        return f"{one['by']} sends {name} at {one['at'] / 1000:.1f} s"
    if line["arm"] == "none" and seen["kernel_kills"]:
        one = seen["kernel_kills"][0]
        return f"the kernel kills {one['name']} at {one['at'] / 1000:.1f} s"
    return None


main()
