"""Modules of a fork come alive name by name, without its dependencies, and a stand-in decides nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from poolproof.forks.loader import SHIMS, Core, Patch, PatchError, Patches, StubUsedError, load_core

Toy = Callable[..., Path]
Load = Callable[..., Core]


@pytest.fixture
def load(toy: Toy) -> Iterator[Load]:
    """Load a toy fork into this process under a name of its own, and take it out again."""
    before, modules = list(sys.meta_path), set(sys.modules)

    def start(files: dict[str, str] | None = None, patches: Patches | None = None, package: str = "toyllm") -> Core:
        return load_core(toy(files, package), package, patches)

    yield start
    sys.meta_path[:] = before
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] == "toyllm":
            del sys.modules[name]


def lines(*text: str) -> str:
    """Join the lines of a module."""
    return "".join(f"{line}\n" for line in text)


def test_the_root_package_is_never_run(load: Load) -> None:
    load({"__init__.py": "raise SystemExit('the engine starts')\n"})


def test_only_the_statement_that_binds_a_name_is_run(load: Load) -> None:
    core = load(
        {
            "lazy.py": lines(
                "import nowhere.at_all",
                "raise SystemExit",
                "A = 1",
                "def f():",
                "    return A + helper()",
                "def helper():",
                "    return B",
                "B = A + 1",
            )
        }
    )
    assert core.module("lazy").f() == 3
    assert core.modules_run["lazy"] == "lazy"
    assert core.modules_run["v1.request"] == "eager"


def test_the_branch_for_type_checkers_is_not_taken(load: Load) -> None:
    text = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from nowhere import A\n    B = 1\nelse:\n    A = 2\n"
    )
    module = load({"lazy.py": text}).module("lazy")
    assert module.A == 2
    assert not hasattr(module, "B")


def test_names_of_a_class_body_are_bound_first(load: Load) -> None:
    text = lines(
        "from dataclasses import dataclass",
        "from typing import ClassVar",
        "@dataclass",
        "class C:",
        "    kind: ClassVar[str] = NAME",
        "    size: int = SIZE",
        "NAME = 'c'",
        "SIZE = len(NAME)",
    )
    module = load({"lazy.py": text}).module("lazy")
    assert (module.C().size, module.C.kind) == (1, "c")


def test_postponed_annotations_stay_postponed(load: Load) -> None:
    text = lines(
        "from __future__ import annotations",
        "from dataclasses import dataclass",
        "from typing import ClassVar",
        "@dataclass",
        "class C:",
        "    kind: ClassVar[Absent] = 1",
        "    size: Absent = 2",
    )
    assert load({"lazy.py": text}).module("lazy").C().size == 2


def test_try_and_with_are_run_whole(load: Load) -> None:
    text = lines(
        "try:",
        "    import importlib.util",
        "    FOUND = importlib.util.find_spec('pytest') is not None",
        "except ImportError:",
        "    FOUND = None",
    )
    assert load({"lazy.py": text}).module("lazy").FOUND is False


def test_star_imports_submodules_and_module_getattr(load: Load) -> None:
    files = {
        "inner/__init__.py": lines(
            "from .names import *",
            "def __getattr__(name):",
            "    if name == 'made':",
            "        return 'made'",
            "    raise AttributeError(name)",
        ),
        "inner/names.py": "starred = 1\n",
        "inner/other.py": "X = 2\n",
        "v1/request.py": lines(
            "from toyllm.inner import starred, other, made",
            "from toyllm.inner.names import *",
            "class Request: pass",
        ),
    }
    core = load(files)
    assert core.module("v1.request").starred == 1
    assert core.module("v1.request").other.X == 2
    assert core.module("v1.request").made == "made"
    with pytest.raises(AttributeError):
        core.module("inner").absent  # noqa: B018 - looking it up is the test


def test_a_submodule_does_not_hide_a_name_of_its_package(load: Load) -> None:
    files = {"inner/__init__.py": "from .thing import thing\n", "inner/thing.py": "def thing():\n    return 1\n"}
    core = load(files)
    core.module("inner.thing")
    assert core.module("inner").thing() == 1


def test_relative_imports_and_several_bindings(load: Load) -> None:
    files = {"pkg/__init__.py": "", "pkg/a.py": "from .b import X\nL = [X]\nL += [2]\n", "pkg/b.py": "X = 1\n"}
    assert load(files).module("pkg.a").L == [1, 2]


# -- stand-ins -------------------------------------------------------------------------------------------------------

DECLARED = """
import numpy as np
from zmq.asyncio import Socket
from typing import Optional, Union
class Base(np.ndarray): pass
@np.vectorize
def decorated(x): pass
Alias = Union[Socket, None]
Other = Optional[np.ndarray[int]] | None
SIZE = np.prod(3)
def is_array(x):
    return isinstance(x, np.ndarray)
def decide():
    return 1 if np.prod(3) else 2
def size():
    return len(SIZE)
class Request: pass
"""


def test_declarations_over_absent_packages_are_silent(load: Load) -> None:
    core = load({"v1/request.py": DECLARED})
    assert core.module("v1.request").Base()
    assert core.stubs_touched == {}


def test_a_decision_from_an_absent_package_is_loud_and_recorded(load: Load) -> None:
    core = load({"v1/request.py": DECLARED})
    with pytest.raises(StubUsedError, match=r"numpy\.prod"):
        core.module("v1.request").decide()
    with pytest.raises(StubUsedError):
        core.module("v1.request").size()
    assert core.stubs_touched["numpy.prod"] == 1


def test_nothing_is_an_instance_of_an_absent_class(load: Load) -> None:
    assert load({"v1/request.py": DECLARED}).module("v1.request").is_array(1) is False


def test_an_installed_package_is_not_used(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this environment has of torch, pydantic or others, the fork gets the shims."""
    for name in ("torch", "pydantic", "msgspec", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    core = load({"v1/request.py": "import torch, pydantic, msgspec, numpy, hypothesis\nclass Request: pass\n"})
    assert core.module("v1.request").torch.bfloat16.itemsize == 2
    assert type(core.module("v1.request").hypothesis).__name__ == "Stub"
    assert type(sys.modules["pytest"]).__name__ == "module"


SHIMMED = """
import torch, msgspec, regex
from pydantic import Field, field_validator
from pydantic.dataclasses import dataclass
from typing_extensions import deprecated, override, TypeVar
T = TypeVar("T", default=int)
class S(msgspec.Struct, omit_defaults=True):
    a: int
    b: list = []
    c: dict = msgspec.field(default_factory=dict)
    def __post_init__(self):
        self.a += 1
@dataclass(config=dict(extra="forbid"))
class D:
    x: int = Field(default=1, ge=0)
    y: list = Field(default_factory=list)
    z: int = Field(ge=0)
    @field_validator("x")
    def check(cls, value):
        raise SystemExit
@deprecated("old")
def old():
    return torch.tensor([], dtype=torch.float32).element_size()
class Request: pass
"""


def test_shims_compute_what_the_core_needs(load: Load) -> None:
    module = load({"v1/request.py": SHIMMED}).module("v1.request")
    assert module.old() == 4
    assert (module.S(1).a, module.S(1).b, module.S(1).c) == (2, [], {})
    assert module.S(1).b is not module.S(1).b
    assert (module.D(z=3).x, module.D(z=3).y, module.D(z=3).z) == (1, [], 3)
    with pytest.raises(TypeError, match="required field 'a'"):
        module.S()
    with pytest.raises(TypeError, match="no field"):
        module.S(1, d=2)
    with pytest.raises(NotImplementedError):
        module.torch.tensor([1], dtype=module.torch.int8)


def test_a_forks_log_is_kept_and_not_printed(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "logger.py": "raise SystemExit\n",
        "v1/request.py": lines(
            "from toyllm.logger import init_logger",
            "logger = init_logger(__name__)",
            "logger.info_once('%d blocks', 3)",
            "logger.warning('%d', 'x')",
            "class Request: pass",
        ),
    }
    core = load(files)
    assert list(core.logger.messages) == ["info_once: 3 blocks", "warning: %d ['x']"]
    assert capsys.readouterr() == ("", "")


def test_every_shim_says_why_it_is_harmless() -> None:
    assert len({shim.where for shim in SHIMS}) == len(SHIMS)
    assert all(shim.why for shim in SHIMS)


# -- patches ---------------------------------------------------------------------------------------------------------


def test_a_patch_changes_what_is_loaded_and_no_file(load: Load, tmp_path: Path) -> None:
    core = load(patches=Patches((Patch("v1/request.py", "pass", "patched = True"),)))
    assert core.module("v1.request").Request.patched
    assert "patched" not in (tmp_path / "toy/toyllm/v1/request.py").read_text()


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        (Patch("v1/request.py", "absent", ""), "occurs 0 times"),
        (Patch("v1/request.py", "s", ""), "occurs [2-9] times"),
        (Patch("v1/nowhere.py", "a", "b"), "not part of the core: v1/nowhere.py"),
    ],
)
def test_a_patch_that_does_not_apply_once_is_an_error(load: Load, patch: Patch, reason: str) -> None:
    with pytest.raises(PatchError, match=reason):
        load(patches=Patches((patch,)))
