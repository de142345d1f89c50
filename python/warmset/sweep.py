"""The tasks of a sweep on a Dask cluster: ``python -m warmset.sweep HOST:PORT FOLDER``.

Each task is a run of the command ``warmset sweep run`` on a worker, so workers need nothing of ours but the command, at
the same path, and the folder and the traces, at theirs. Who dies in the middle is replaced by another: a task that is
done is not done again, and a part is there as a whole or not at all.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path


def tasks(folder: Path) -> list[Path]:
    """Where the tasks of the plan in a folder are, in their order."""
    ids: list[str] = json.loads((folder / "plan.json").read_text())
    return [folder.resolve() / "tasks" / f"{name}.json" for name in ids]


def same_version(address: str, patience: float) -> None:
    """Check that a scheduler is of this Python's version of Dask: those of others do not always understand each other.

    Args:
        address: HOST:PORT of the scheduler.
        patience: seconds to wait for it.

    Raises:
        OSError: no scheduler answers, or it is of another version.

    """
    from distributed import rpc  # noqa: PLC0415 - the rest of the package does without

    async def theirs() -> str:
        async with rpc(f"tcp://{address}", timeout=patience) as scheduler:
            return str((await scheduler.versions())["packages"]["distributed"])

    version, ours = asyncio.run(theirs()), metadata.version("distributed")
    if version != ours:
        raise OSError(
            f"the scheduler at {address} has distributed {version}, this Python {ours}: "
            f"pip install 'distributed=={version}' here, or the other there"
        )


def run(address: str, folder: Path, program: str, patience: float) -> list[str]:
    """Run all tasks of a plan on the workers of a scheduler.

    Args:
        address: HOST:PORT of the scheduler.
        folder: where the plan is; workers see it at the same path.
        program: the command ``warmset``, the same path on all workers.
        patience: seconds to wait for the scheduler and for a first worker.

    Returns:
        What failed: one sentence each.

    Raises:
        ImportError: Dask is not installed.
        OSError: no scheduler answers, it is of another version, or it has no workers.

    """
    from distributed import Client, as_completed  # noqa: PLC0415 - the rest of the package does without

    failed = []
    same_version(address, patience)
    with Client(f"tcp://{address}", timeout=patience) as client:
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError as none:
            raise OSError(f"the scheduler at {address} has no workers") from none
        # A function of Python's own: workers need no package of ours.
        futures = {
            client.submit(
                subprocess.run,
                [program, "sweep", "run", str(task)],
                capture_output=True,
                text=True,
                check=False,
                key=f"warmset-{task.stem}",
                pure=False,
            ): task
            for task in tasks(folder)
        }
        for future in as_completed(futures):
            task = futures[future]
            error = future.exception()
            if error is not None:
                failed.append(f"{task}: {error!r}")
            elif future.result().returncode != 0:
                failed.append(future.result().stderr.strip().removeprefix("error: "))
    return failed


def main() -> int:
    """Run the plan that the command line tells."""
    parser = argparse.ArgumentParser(prog="python -m warmset.sweep", description=str(__doc__).partition("\n")[0])
    parser.add_argument("address", metavar="HOST:PORT", help="the scheduler")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the plan")
    parser.add_argument("--program", default="warmset", help="the command, as the workers find it")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds to wait for the scheduler")
    told = parser.parse_args()
    try:
        failed = run(told.address, told.folder, told.program, told.patience)
    except ImportError as missing:
        failed = [f"Dask is not installed here: {missing}: pip install 'warmset[dask]'"]
    except OSError as unreached:
        failed = [f"Dask: {unreached}"]
    for what in failed:
        sys.stderr.write(f"error: {what}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
