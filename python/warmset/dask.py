"""The tasks of a sweep on a Dask cluster: ``python -m warmset.dask HOST:PORT DIRECTORY``.

Each task is a run of the command ``warmset sweep run`` on a worker. So a worker needs nothing but that command, the
directory and the traces, each at the same path as here. The tasks of a worker that dies are run by another. A task that
is done is not done again, and a result is there as a whole or not at all.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path


def tasks(directory: Path) -> list[Path]:
    """Return the paths of the tasks of the plan in a directory, in order."""
    ids: list[str] = json.loads((directory / "plan.json").read_text())
    return [directory.resolve() / "tasks" / f"{name}.json" for name in ids]


def same_version(address: str, patience: float) -> None:
    """Check that a scheduler has the same version of Dask as this Python: different versions are not always compatible.

    Args:
        address: HOST:PORT of the scheduler.
        patience: seconds to wait for it.

    Raises:
        OSError: no scheduler answers, or it has another version.

    """
    from distributed import rpc  # noqa: PLC0415 - the rest of the package does not need Dask

    async def theirs() -> str:
        async with rpc(f"tcp://{address}", timeout=patience) as scheduler:
            return str((await scheduler.versions())["packages"]["distributed"])

    version = asyncio.run(theirs())
    ours = metadata.version("distributed")
    if version != ours:
        raise OSError(
            f"the scheduler at {address} has distributed {version}, this Python {ours}: "
            f"pip install 'distributed=={version}' here, or the other there"
        )


def run(address: str, directory: Path, program: str, patience: float) -> list[str]:
    """Run all tasks of a plan on the workers of a scheduler.

    Args:
        address: HOST:PORT of the scheduler.
        directory: the directory of the plan, at the same path for all workers.
        program: the command ``warmset``, at the same path for all workers.
        patience: seconds to wait for the scheduler and for a first worker.

    Returns:
        One sentence for each task that failed.

    Raises:
        ImportError: Dask is not installed.
        OSError: no scheduler answers, it has another version, or it has no workers.

    """
    from distributed import Client, as_completed  # noqa: PLC0415 - the rest of the package does not need Dask

    failed = []
    same_version(address, patience)
    with Client(f"tcp://{address}", timeout=patience) as client:
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError as none:
            raise OSError(f"the scheduler at {address} has no workers") from none
        # A function of Python's library, so that workers need not have this package.
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
            for task in tasks(directory)
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
    """Run the plan that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m warmset.dask", description=str(__doc__).partition("\n")[0])
    parser.add_argument("address", metavar="HOST:PORT", help="the scheduler")
    parser.add_argument("directory", type=Path, metavar="DIRECTORY", help="the directory of the plan")
    parser.add_argument("--program", default="warmset", help="the path of warmset on the workers")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds to wait for the scheduler")
    arguments = parser.parse_args()
    try:
        failed = run(arguments.address, arguments.directory, arguments.program, arguments.patience)
    except ImportError as missing:
        failed = [f"Dask is not installed here: {missing}: pip install 'warmset[dask]'"]
    except OSError as unreached:
        failed = [f"Dask: {unreached}"]
    for what in failed:
        sys.stderr.write(f"error: {what}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
