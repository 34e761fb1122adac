"""The house stands as it was drawn: every package is mapped, every link is there, rooms import one way."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("spec", "oracle", "proofs", "forks")


@pytest.fixture(scope="module")
def setuptools_table() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def packages_on_disk() -> set[str]:
    """Name every folder that holds an `__init__.py`, as it is imported."""
    found = {
        "poolproof." + ".".join(init.parent.relative_to(ROOT).parts)
        for room in ROOMS
        for init in (ROOT / room).rglob("__init__.py")
    }
    for init in (ROOT / "poolproof").rglob("__init__.py"):
        parts = init.parent.relative_to(ROOT / "poolproof").parts
        if not parts or parts[0] not in ROOMS:
            found.add(".".join(("poolproof", *parts)))
    return found


def test_every_package_goes_into_the_wheel(setuptools_table: dict[str, object]) -> None:
    assert set(setuptools_table["packages"]) == packages_on_disk()


def test_every_package_is_mapped_to_its_folder(setuptools_table: dict[str, object]) -> None:
    mapping = setuptools_table["package-dir"]
    assert set(mapping) == set(setuptools_table["packages"])
    for package, folder in mapping.items():
        assert (ROOT / folder / "__init__.py").is_file(), package


@pytest.mark.parametrize("room", ROOMS)
def test_static_tools_see_one_package_through_the_links(room: str) -> None:
    link = ROOT / "poolproof" / room
    assert link.resolve() == ROOT / room


def test_the_formulas_need_no_solver_on_integers() -> None:
    """The integer path imports neither z3 nor networkx nor hypothesis."""
    code = (
        "import sys; from poolproof.spec import *;"
        "d = Deployment((Group(FullAttention(16)), Group(SlidingWindow(16, 32))), 512, 64);"
        "assert never_admitted(d, named('vllm-0.19'), 39)[0].first == 305;"
        "print(sorted({'z3', 'networkx', 'hypothesis', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_face_has_five_names_and_loads_them_when_asked() -> None:
    code = (
        "import sys, poolproof; before = {name for name in sys.modules if name.startswith('poolproof.')};"
        "print(sorted(before), [getattr(poolproof, name).__name__ for name in poolproof.__all__])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] ['Deployment', 'Group', 'Implementation', 'explore', 'never_admitted']"
