"""docs/results/local-replacement.md from the rows of `warmset together --json`."""

import json
import math
import subprocess
import sys

from markdown import table

rows = [json.loads(line) for line in open(sys.argv[1])]
command = sys.argv[2]
memories = sorted({row["memory"] for row in rows}, reverse=True)
managers = list(dict.fromkeys(row["policy"] for row in rows))
at = {(row["policy"], row["memory"]): row for row in rows}


def refaults(row):
    """Refaults of all processes."""
    return sum(process["refaults_file"] + process["refaults_anon"] for process in row["processes"])


def seconds(row):
    """Time until the last process has ended."""
    return row["makespan_ns"] / 1e9


def ratio(manager, memory):
    """Time over that of the clock without pressure."""
    return seconds(at[manager, memory]) / seconds(at["clock", memory])


def confirmed(is_so):
    """The word for a finding of the founding report."""
    return "confirmed" if is_so else "not confirmed"


def exponent(manager):
    """Least squares of log time over log memory: the slope, and twice its standard error."""
    points = [(math.log(memory), math.log(at[manager, memory]["makespan_ns"])) for memory in memories]
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    return slope, 2 * math.sqrt(rest / (n - 2) / spread)


commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
ease = memories[0]
tight = memories[-1]
print("# Local and global replacement\n")
print("## In the simulator\n")
print(f"Made by `bench/local-replacement.sh target/release`, at {commit}: four programs recorded by `bench/working-sets.sh` (ls, cc1,")
print("sqlite3, python3) on one simulated CPU with one device that reads or writes a page in 100 µs, swap included. It counts; there is no noise:")
print("a second run gives the same. `warmset together --help` says what each manager is.\n")
print(f"    {command}\n")
print("Refaults, by memory in pages:\n")
table(["manager"] + [str(memory) for memory in memories], [[manager] + [refaults(at[manager, memory]) for memory in memories] for manager in managers])
print("Seconds until the last has ended:\n")
table(["manager"] + [str(memory) for memory in memories], [[manager] + [f"{seconds(at[manager, memory]):.2f}" for memory in memories] for manager in managers])
print("Memory × time, in thousands of page-seconds: what the run costs a machine that could have given the memory to others.\n")
table(
    ["manager"] + [str(memory) for memory in memories],
    [[manager] + [f"{seconds(at[manager, memory]) * memory / 1e3:.2f}" for memory in memories] for manager in managers],
)

print("### What the founding report found, asked again\n")
pressed = [manager for manager in managers if manager.startswith(("up-", "down-"))]
print("Its pressure acts on the clock, on one program, when free memory is at a watermark. Time over that of the clock without it:\n")
table(["pressure"] + [str(memory) for memory in memories], [[manager] + [f"{ratio(manager, memory):.2f}" for memory in memories] for manager in pressed])


def worst_at(memory):
    """The pressure that takes longest."""
    return max(pressed, key=lambda manager: ratio(manager, memory))


sharp = ratio(worst_at(ease), ease) < 1.1 and ratio(worst_at(tight), tight) > 1.2
print(f"- A small loss at ease, a sharp loss when tight: {confirmed(sharp)}. At {ease} pages the worst is {worst_at(ease)} ({ratio(worst_at(ease), ease):.2f} times the clock's time), at {tight} it is")
print(f"  {worst_at(tight)} ({ratio(worst_at(tight), tight):.2f} times).")
worst = max(((ratio(manager, memory), manager, memory) for manager in pressed for memory in memories))
best = min(((ratio(manager, memory), manager, memory) for manager in pressed for memory in memories))
right = max((ratio(manager, memory), memory, manager) for manager in pressed if "rightmost" in manager for memory in memories)
print(f"- Catastrophe for the rightmost: {confirmed(right[0] > 2)}. Its worst is {right[0]:.2f} times the clock's time ({right[2]} at {right[1]} pages). The worst of all is {worst[1]} at {worst[2]}")
print(f"  pages, {worst[0]:.2f} times; the best {best[1]} at {best[2]} pages, {best[0]:.2f} times.")
linux = [at["linux", memory] for memory in memories]
print(f"- The next program to run is the largest at {min(row['leftmost_is_largest'] for row in linux):.0%} to {max(row['leftmost_is_largest'] for row in linux):.0%} of faults, and the largest has")
print(f"  {min(row['largest_over_second'] for row in linux):.2f} to {max(row['largest_over_second'] for row in linux):.2f} times the pages of the second (Linux's lists).")
print("- Time against memory, T ~ M^e; the report has e = -4 for a build of the kernel. Least squares over these sizes, with twice the standard error:\n")
table(["manager", "exponent", "±"], [[manager] + [f"{value:.2f}" for value in exponent(manager)] for manager in managers])

local = [manager for manager in managers if manager.startswith(("share", "ws:", "pff:"))]
shares = ["lru", "clock", "linux"]
wins = []
for memory in memories:
    one = min(local, key=lambda manager: seconds(at[manager, memory]))
    other = min(shares, key=lambda manager: seconds(at[manager, memory]))
    wins.append([memory, one, f"{seconds(at[one, memory]):.2f}", other, f"{seconds(at[other, memory]):.2f}"])
print("### Local against global\n")
print("The fastest of each kind, by seconds:\n")
table(["memory", "local", "s", "global", "s"], wins)
print("A local working set gives memory back that others could use only if there are others to use it: with a window shorter than the programs' own")
print("phases it faults where nothing was short.\n")
