"""What a user names becomes a tree of Python files, or one clear line."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from poolproof.forks import IndexUnreachableError, cache, fetch, resolve, source
from poolproof.forks.results import Results
from poolproof.spec.errors import UsageError

Toy = Callable[..., Path]

KEY = "f" * 64


@pytest.fixture
def wheel(toy: Toy, tmp_path: Path) -> Path:
    """Make a wheel of the toy, with a library, metadata, and a member that points outside."""
    path = tmp_path / "vllm-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(toy().rglob("*.py")):
            archive.write(file, file.relative_to(toy()))
        archive.writestr("vllm/_C.abi3.so", "not Python")
        archive.writestr("vllm-1.2.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: vllm\nVersion: 1.2.3\n")
        archive.writestr("../outside.py", "")
    return path


@pytest.fixture
def downloads(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answer every download with the toy wheel, and list what was asked for."""
    asked: list[str] = []

    def download(name: str, version: str, target: Path, on_progress: object) -> Path:
        asked.append(f"{name}=={version}")
        return Path(str(wheel.rename(target / wheel.name))) if not wheel.exists() else _copy(wheel, target)

    monkeypatch.setattr(source, "download_wheel", download)
    return asked


def _copy(wheel: Path, target: Path) -> Path:
    copy = target / wheel.name
    copy.write_bytes(wheel.read_bytes())
    return copy


# -- directories -----------------------------------------------------------------------------------------------------


def test_a_checkout_its_package_and_a_source_folder_are_found(toy: Toy) -> None:
    root = toy()
    found = [resolve(str(path)) for path in (root, root / "vllm", root.parent)]
    assert {(s.root, s.package) for s in found} == {(root, "vllm")}
    assert len({s.sha256 for s in found}) == 1


def test_the_root_package_may_have_another_name(toy: Toy) -> None:
    assert resolve(str(toy(package="nova_llm"))).package == "nova_llm"


def test_one_changed_byte_changes_the_identity(toy: Toy) -> None:
    before = resolve(str(toy())).sha256
    assert resolve(str(toy({"v1/request.py": "class Request: ..\n"}))).sha256 != before


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("nowhere", "there is nothing of this name"),
        ("nowhere@main", "there is nothing of this name"),
        ("nowhere.whl", "there is nothing of this name"),
        ("", "an empty name is none"),
    ],
)
def test_what_is_nothing_is_said_in_one_line(
    spec: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=reason) as error:
        resolve(spec)
    assert "\n" not in str(error.value)


def test_a_directory_without_a_kv_core_is_no_vllm(tmp_path: Path) -> None:
    (tmp_path / "vllm").mkdir()
    with pytest.raises(UsageError, match="no vLLM"):
        resolve(str(tmp_path))


def test_two_implementations_in_one_place_are_not_chosen_from(toy: Toy) -> None:
    toy(package="one")
    with pytest.raises(UsageError, match="several implementations"):
        resolve(str(toy(package="two")))


# -- wheels and the cache --------------------------------------------------------------------------------------------


def test_of_a_wheel_only_python_files_are_kept(wheel: Path, private_cache: Path) -> None:
    found = resolve(str(wheel))
    kept = {p.suffix for p in found.root.rglob("*") if p.is_file()}
    assert (found.package, found.version) == ("vllm", "1.2.3")
    assert kept == {".py", "", ".json"}
    assert not list(private_cache.rglob("outside.py"))
    assert found.root.is_relative_to(private_cache)


def test_a_file_that_only_looks_like_a_wheel(tmp_path: Path, private_cache: Path) -> None:
    (tmp_path / "x.whl").write_text("no zip")
    with pytest.raises(UsageError, match="it is no wheel"):
        resolve(str(tmp_path / "x.whl"))
    assert not list((private_cache / "trees").glob("*"))


def test_a_release_is_fetched_once(downloads: list[str], private_cache: Path) -> None:
    first, second = resolve("vllm==1.2.3"), resolve("vllm==1.2.3")
    assert first == second
    assert downloads == ["vllm==1.2.3"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda root: (root / "vllm/v1/request.py").write_text("class Request: evil = 1\n"),
        lambda root: (root / "vllm/v1/request.py").unlink(),
        lambda root: (root / "vllm/v1/core/more.py").write_text(""),
        lambda root: (root / "poolproof-tree.json").write_text("{"),
        lambda root: (root / "poolproof-tree.json").unlink(),
    ],
    ids=["changed", "missing", "added", "manifest damaged", "manifest missing"],
)
def test_a_damaged_entry_is_fetched_again(
    damage: Callable[[Path], object], downloads: list[str], private_cache: Path
) -> None:
    before = resolve("vllm==1.2.3")
    damage(before.root)
    after = resolve("vllm==1.2.3")
    assert after == before
    assert cache.load_tree(after.sha256) is not None
    assert len(downloads) == 2


def test_of_two_writers_the_first_wins(private_cache: Path) -> None:
    def fill(text: str) -> Callable[[Path], dict[str, str]]:
        def write(target: Path) -> dict[str, str]:
            (target / "a.py").write_text(text)
            return {}

        return write

    def slow(target: Path) -> dict[str, str]:
        cache.store_tree(KEY, fill("first"))
        return fill("second")(target)

    cache.store_tree(KEY, slow)
    tree = cache.load_tree(KEY)
    assert tree is not None
    assert (tree.root / "a.py").read_text() == "first"


# -- the package index -----------------------------------------------------------------------------------------------

_LISTED = "ERROR: Could not find a version that satisfies the requirement vllm==9 (from versions: {})\n"
_REFUSED = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError'\n"


@pytest.mark.parametrize(
    ("complaint", "kind", "reason"),
    [
        (_LISTED.format("0.1, 0.2"), UsageError, "no such version; the newest are 0.1, 0.2"),
        (_LISTED.format("none"), UsageError, "no such package"),
        (_REFUSED + _LISTED.format("none"), IndexUnreachableError, "no package index could be reached"),
        ("/usr/bin/python: No module named pip\n", UsageError, "No module named pip"),
        ("", UsageError, "pip could not fetch it"),
    ],
)
def test_why_a_release_cannot_be_had(
    complaint: str, kind: type[UsageError], reason: str, private_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_pip", lambda *_: complaint)
    with pytest.raises(UsageError, match=reason) as error:
        resolve("vllm==9")
    assert type(error.value) is kind


def test_a_long_download_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "PATIENCE", 0.0)
    said: list[str] = []
    fetch._pip("./no requirement", "3.12", tmp_path, said.append)
    assert said == ["fetching ./no requirement; only its Python files are kept"]


# -- git and installations -------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(toy: Toy, tmp_path: Path) -> Path:
    """Make a repository of two commits whose configuration would run a program that leaves a mark."""
    root = toy()
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    git(root, "init", "-q")
    commit(root, "first")
    git(root, "tag", "v1")
    (root / "vllm/v1/request.py").write_text("class Request: second = True\n")
    commit(root, "second")
    git(root, "config", "core.fsmonitor", str(trap))
    git(root, "config", "diff.external", str(trap))
    return root


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", message)


def test_a_revision_is_read_and_nothing_of_the_repository_runs(
    checkout: Path, private_cache: Path, tmp_path: Path
) -> None:
    old, new = resolve(f"{checkout}@v1"), resolve(f"{checkout}@HEAD")
    assert (old.root / "vllm/v1/request.py").read_text() == "class Request: pass\n"
    assert (new.root / "vllm/v1/request.py").read_text() == "class Request: second = True\n"
    assert old.revision != new.revision == resolve(str(checkout)).revision
    assert not (tmp_path / "sprung").exists()


def test_a_revision_that_is_not_there(checkout: Path, private_cache: Path) -> None:
    with pytest.raises(UsageError, match="no such revision"):
        resolve(f"{checkout}@v9")


def test_a_revision_of_what_is_no_repository(tmp_path: Path, private_cache: Path) -> None:
    with pytest.raises(UsageError, match="not a git repository"):
        resolve(f"{tmp_path}@main")


def test_nothing_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def absent(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(metadata, "distribution", absent)
    with pytest.raises(UsageError, match="no vLLM is installed"):
        resolve("installed")


def test_an_installation_is_found_without_importing_it(
    toy: Toy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = toy({"__init__.py": "raise SystemExit('imported')\n"})
    information = root / "vllm-1.2.3.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Name: vllm\nVersion: 1.2.3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(root))
    found = resolve("installed")
    assert (found.root, found.package, found.version) == (root, "vllm", "1.2.3")


def test_a_link_to_itself_and_a_folder_that_cannot_be_read_hold_no_implementation(toy: Toy) -> None:
    root = toy()
    (root / "loop").symlink_to("loop")
    assert resolve(str(root)).package == "vllm"


def test_a_damaged_index_entry_counts_as_absent(private_cache: Path) -> None:
    cache.remember("vllm==0.0.0", "0" * 64)
    assert cache.recall("vllm==0.0.0") == "0" * 64
    for damage in (b"\xff\xfe", b"../../../../etc"):
        (private_cache / "index" / "vllm==0.0.0").write_bytes(damage)
        assert cache.recall("vllm==0.0.0") is None


def test_a_cache_that_cannot_be_kept_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLPROOF_CACHE_DIR", os.devnull)
    with pytest.raises(UsageError, match="the cache cannot be kept there"), cache.scratch():
        pass


def test_a_damaged_result_is_computed_again(private_cache: Path) -> None:
    results = Results(kept=True)
    assert results.answer(("asked",), lambda: "first") == "first"
    (kept,) = (private_cache / "results").iterdir()
    assert results.answer(("asked",), lambda: "second") == "first"
    kept.write_text('{"x":')
    assert results.answer(("asked",), lambda: "second") == "second"


@pytest.mark.parametrize(
    "key", ["", ".", "..", "../index", "../../../../etc", "/etc", "0" * 64 + "/..", "0" * 39, "a\nb"]
)
def test_no_key_names_a_place_outside_of_the_trees(key: str, private_cache: Path, tmp_path: Path) -> None:
    """A damaged tree is deleted; a key out of a tampered index must never make that of anything else."""
    bystander = tmp_path / "cache" / "index"
    bystander.mkdir(parents=True)
    with pytest.raises(ValueError, match="no tree is kept under"):
        cache.load_tree(key)
    with pytest.raises(ValueError, match="no tree is kept under"):
        cache.store_tree(key, lambda _: {})
    assert bystander.is_dir()
    assert sorted(path.name for path in private_cache.iterdir()) == ["index"]
