"""Every example runs: of the docstrings, of the README, and the notebook."""

import doctest
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import nbclient
import nbformat
import numpy as np
import pytest
from conftest import ROOT

import warmset

mpl.use("Agg")

DOCS = ROOT / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE
README = Path(__file__).resolve().parents[1] / "README.md"


def examples() -> Iterator[doctest.DocTest]:
    finder, names = doctest.DocTestFinder(exclude_empty=True), {**vars(warmset), "np": np, "warmset": warmset}
    yield from finder.find(warmset, "warmset", globs=dict(names))
    for name in warmset.__all__:
        yield from finder.find(getattr(warmset, name), name, module=False, globs=dict(names))
    yield doctest.DocTestParser().get_doctest(README.read_text(), {}, "README.md", None, 0)


EXAMPLES = [example for example in examples() if example.examples]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_give_what_they_say(example: doctest.DocTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert doctest.DocTestRunner(optionflags=FLAGS).run(example).failed == 0


@pytest.mark.parametrize("name", warmset.__all__)
def test_everything_has_an_example(name: str) -> None:
    with_examples = {example.name.split(".")[0] for example in EXAMPLES}
    assert name in with_examples | {"Error", "WorkingSet", "Together"}
    assert getattr(warmset, name).__doc__


# Each notebook, and its pictures.
NOTEBOOKS = {"working-sets.ipynb": 3, "gallery.ipynb": 6}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_notebooks_run(name: str) -> None:
    notebook = nbformat.read(DOCS / name, as_version=4)  # type: ignore[no-untyped-call]
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(DOCS)}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == NOTEBOOKS[name]
    assert not [output for output in outputs if output.get("name") == "stderr"]


def test_every_notebook_is_run() -> None:
    assert {path.name for path in DOCS.glob("*.ipynb")} == set(NOTEBOOKS)
