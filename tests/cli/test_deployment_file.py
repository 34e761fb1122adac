"""Deployment files: three formats, one meaning, and one clear line for everything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poolproof.cli import run
from poolproof.inputs.deployment_file import deployment_of, schema, to_deployment
from poolproof.inputs.deployment_flags import as_flags
from poolproof.inputs.deployment_model import SPELLINGS
from poolproof.spec import ChunkedLocal, Deployment, FullAttention, Group, MLAAttention, SlidingWindow, legal

Command = Callable[..., Any]

Write = Callable[[str, str | bytes], str]

HEAD = "max_model_len: 512\nmax_num_batched_tokens: 64\n"
YAML = HEAD + (
    "groups:\n  - {kind: full, block_size: 16}\n"
    "  - {kind: sliding_window, block_size: 16, window: 32, count: 5}\nblocks: 39\nasync_scheduling: true\n"
)
TOML = """
max_model_len = 512
max_num_batched_tokens = 64
num_gpu_blocks_override = 39
max_concurrent_batches = 2
[[groups]]
kind = "full"
block_size = 16
[[groups]]
kind = "sliding_window"
block_size = 16
window = 32
count = 5
"""
EXPECTED = Deployment(
    (Group(FullAttention(16)), Group(SlidingWindow(16, 32), 5)), 512, 64, max_concurrent_batches=2, blocks=39
)


def test_three_formats_mean_the_same(document: Write) -> None:
    as_json = json.dumps(
        {
            "max_model_len": 512,
            "max_num_batched_tokens": 64,
            "blocks": 39,
            "async_scheduling": True,
            "groups": [
                {"kind": "full", "block_size": 16},
                {"kind": "sliding_window", "block_size": 16, "window": 32, "count": 5},
            ],
        }
    )
    paths = [document("d.yaml", YAML), document("d.toml", TOML), document("d.json", as_json)]
    assert [deployment_of(Path(path), {}, [], None) for path in paths] == [EXPECTED] * 3


def test_flags_replace_what_the_file_says_however_it_is_spelled(document: Write) -> None:
    path = Path(document("d.yaml", YAML))
    changed = deployment_of(path, {"num_gpu_blocks_override": 50, "max_concurrent_batches": 3}, [], 8)
    assert (changed.blocks, changed.max_concurrent_batches) == (50, 3)
    assert [group.cache.block_size for group in changed.groups] == [8, 8]
    replaced = deployment_of(path, {}, ["mla", "chunked_local:32:chunk=8"], 32)
    assert replaced.groups == (Group(MLAAttention(32)), Group(ChunkedLocal(32, 8)))


def _with(line: str) -> str:
    return f"{HEAD}groups: [{{kind: full, block_size: 16}}]\n{line}"


def _group(text: str) -> str:
    return f"{HEAD}groups: [{text}]"


def _length(text: str) -> str:
    return f"max_model_len: {text}\nmax_num_batched_tokens: 64\ngroups: [{{kind: full, block_size: 16}}]"


WRONG_FIELDS = {
    "groups[0].window = 0: a token attends": _group("{kind: sliding_window, block_size: 16, window: 0}"),
    "groups[0].block_size = 0: a block holds": _group("{kind: full, block_size: 0}"),
    "groups[0].blocksize = 16: this field is unknown; did you mean block_size?": _group("{kind: full, blocksize: 16}"),
    "groups[0].kind = ful: no cache kind has this name; did you mean full?": _group("{kind: ful, block_size: 16}"),
    "groups[0].kind = nothing: no cache kind": _group("{block_size: 16}"),
    "groups = none: a deployment has at least one": _group(""),
    "max_model_le = 3: this field is unknown; did you mean max_model_len?": _with("max_model_le: 3"),
    "num_speculative_tokens = 2: lookahead says": _with("lookahead: 1\nnum_speculative_tokens: 2"),
    "num_speculative_tokens = -2: ": _with("num_speculative_tokens: -2"),
    "decode_context_parallel_size = 0: ": _with("decode_context_parallel_size: 0"),
    "max_num_batched_tokens = 64: without chunked prefill": _with("chunked_prefill: false"),
    "prefix_caching = 1: this is not a switch": _with("prefix_caching: 1"),
    "max_model_len = -5: a sequence has": _length("-5"),
    "max_model_len = nan: this is not a whole number": _length(".nan"),
    "max_model_len = '512': this is not a whole number; remove the quotes": _length("'512'"),
    "max_model_len = 'many': this is not a whole number; write digits only": _length("many"),
    "prefix_caching = 'true': this is not a switch; remove the quotes": _with("prefix_caching: 'true'"),
    "block_size = 16: this field is unknown; set block_size in each group": _with("block_size: 16"),
    "blocksize = 16: this field is unknown; set block_size in each group": _with("blocksize: 16"),
    "window = 16: this field is unknown; set window in each group": _with("window: 16"),
    "groups[0].blocks = 9: this field is unknown; set blocks at the top": _group(
        "{kind: full, block_size: 1, blocks: 9}"
    ),
    "groups, max_num_batched_tokens = nothing: these fields are needed; set them": "max_model_len: 9",
    "max_model_len = 512.0: this is not a whole number": _length("512.0"),
    "max_model_len = 1000000000000000000000000: no engine counts that many": _length(str(10**24)),
}


@pytest.mark.parametrize("told", WRONG_FIELDS)
def test_a_wrong_field_is_named_with_value_reason_and_hint(command: Command, document: Write, told: str) -> None:
    result = command("check", document("d.yaml", WRONG_FIELDS[told]))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"poolproof: {told}")
    assert result.err.count("\n") == 1
    assert len(result.err) < 400


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.yaml", HEAD + "max_model_len: 9"),
        ("d.json", f'{{"max_model_len": {"9" * 5000}}}'),
        ("d.json", '{"max_model_len": 1, "max_model_len": 2}'),
        ("d.json", "[" * 100_000),
        ("d.yaml", "[" * 100_000),
        ("d.yaml", "a: [1\nb: }"),
        ("d.yaml", "- 1"),
        ("d.yaml", ""),
        ("d.yaml", b"\xff\xfe\x00binary"),
        ("d.toml", "a = = 1"),
        ("d.txt", "text"),
        ("d.yaml", b"a" * 1_000_001),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(
    command: Command, document: Write, name: str, content: str | bytes
) -> None:
    result = command("check", document(name, content))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("poolproof: DEPLOYMENT = ")
    assert result.err.count("\n") == 1
    assert len(result.err) < 400


def test_a_directory_a_missing_file_and_no_deployment_are_one_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    for folder in (".", str(tmp_path)):
        assert f"DEPLOYMENT = {folder}: is a directory; " in command("check", folder).err
    for arguments in ([str(tmp_path / "folder.yaml")], [str(tmp_path / "missing.yaml")], [], ["nul\0.yaml"]):
        result = command("check", *arguments)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("text", ["full:x", "full:16:count", "full:16:count=x", "full:16:window=3", "nope:16", ""])
def test_a_group_flag_that_cannot_be_read_is_one_line(command: Command, text: str) -> None:
    result = command("check", "--group", text, "--max-model-len", "5", "--max-num-batched-tokens", "5")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)


def test_what_is_missing_is_named_at_once_with_its_flags(command: Command) -> None:
    assert command("check").err == (
        "poolproof: groups (--group), max_model_len (--max-model-len), max_num_batched_tokens "
        "(--max-num-batched-tokens) = nothing: these fields are needed; set them\n"
    )
    sizes = ["--max-model-len", "9", "--max-num-batched-tokens", "9"]
    told = "poolproof: groups[0].block_size (--group) = nothing: this field is needed; set it\n"
    assert command("check", "--group", "full", *sizes).err == told


def test_a_block_size_that_contradicts_a_group_flag_is_refused(command: Command) -> None:
    sizes = ["--max-model-len", "9", "--max-num-batched-tokens", "9", "--block-size", "32"]
    result = command("check", "--group", "full:16", *sizes)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith("poolproof: --group = full:16: --block-size 32 says otherwise; ")
    for group in ("full:32", "full"):
        assert "32" in command("check", "--group", group, *sizes).out


def test_the_schema_is_published_and_states_what_is_legal(command: Command) -> None:
    result = command("check", "--schema")
    assert (result.code, json.loads(result.out)) == (0, schema())
    properties = schema()["properties"]
    for constraint in legal(EXPECTED):
        field = SPELLINGS.get(constraint.field, constraint.field)
        if field in properties:
            least = 0 if "0 or more" in constraint.hint else 1
            assert _minimum(properties[field]) == least, field
    groups = schema()["$defs"]
    assert groups["SlidingWindow"]["properties"]["window"]["minimum"] == 1
    assert groups["SlidingWindow"]["properties"]["extra_retained"]["minimum"] == 0


def _minimum(property_: dict[str, Any]) -> int:
    found = property_.get("minimum")
    return next(part["minimum"] for part in property_["anyOf"] if "minimum" in part) if found is None else found


numbers = st.integers(1, 10**6)
caches = st.one_of(
    st.builds(FullAttention, numbers),
    st.builds(MLAAttention, numbers),
    st.builds(SlidingWindow, numbers, numbers, st.integers(0, 9)),
    st.builds(ChunkedLocal, numbers, numbers),
)
deployments = st.builds(
    Deployment,
    groups=st.lists(st.builds(Group, caches, numbers), min_size=1, max_size=4).map(tuple),
    max_model_len=numbers,
    max_num_batched_tokens=numbers,
    max_num_seqs=numbers,
    max_concurrent_batches=numbers,
    lookahead=st.integers(0, 9),
    context_parallel=numbers,
    prefix_caching=st.booleans(),
    watermark=st.integers(0, 9),
    blocks=st.none() | numbers,
)


@given(deployments)
def test_the_flags_of_a_deployment_give_it_back(deployment: Deployment) -> None:
    words = as_flags(deployment).split()
    flags: dict[str, Any] = {}
    groups = [words[index + 1] for index, word in enumerate(words) if word == "--group"]
    for index, word in enumerate(words):
        if word == "--enable-prefix-caching":
            flags["prefix_caching"] = True
        elif word.startswith("--") and word != "--group":
            name = word[2:].replace("-", "_")
            flags[name] = int(words[index + 1])
    assert deployment_of(None, flags, groups, None) == deployment


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.integers(0, 40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
sizes = st.integers(-1, 40) | st.integers() | junk
group_keys = st.sampled_from(["block_size", "window", "chunk", "extra_retained", "speculative", "count", "nope"])
kinds = st.sampled_from(["full", "mla", "sliding_window", "chunked_local", "mamba_none", "mamba_align"]) | junk
some_groups = st.builds(
    lambda kind, rest: {"kind": kind, "block_size": 4, **rest},
    kinds,
    st.dictionaries(group_keys, sizes, max_size=4),
)
keys = st.sampled_from(["block_size", "window", "chunk", "extra_retained", "speculative", "count", "nope"])
kinds = st.sampled_from(["full", "mla", "sliding_window", "chunked_local", "mamba_none", "mamba_align"]) | junk
some_groups = st.builds(
    lambda kind, rest: {"kind": kind, "block_size": 4, **rest}, kinds, st.dictionaries(group_keys, sizes, max_size=4)
)
keys = st.sampled_from(
    ["blocks", "async_scheduling", "max_concurrent_batches", "lookahead", "chunked_prefill", "prefix_caching",
     "decode_context_parallel_size", "watermark", "max_num_seqs", "num_speculative_tokens", "nope"]
)  # fmt: skip
documents = st.builds(
    lambda head, rest: {**head, **rest},
    st.fixed_dictionaries(
        {"groups": st.lists(some_groups, max_size=3) | junk, "max_model_len": sizes, "max_num_batched_tokens": sizes}
    ),
    st.dictionaries(keys, sizes | st.booleans(), max_size=4),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents)
def test_no_document_ever_ends_in_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], contents: dict[str, Any]
) -> None:
    path = tmp_path / "fuzzed.json"
    path.write_text(json.dumps(contents))
    capsys.readouterr()
    code = run(["check", str(path)])
    captured = capsys.readouterr()
    assert code in {0, 1, 2, 3, 4}, captured.err
    assert captured.err.count("\n") == (0 if code in {0, 1, 4} or captured.out else 1)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode), st.sampled_from([".yaml", ".json", ".toml"]))
def test_no_bytes_ever_end_in_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], contents: bytes, suffix: str
) -> None:
    path = tmp_path / f"fuzzed{suffix}"
    path.write_bytes(contents)
    assert run(["check", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_plain_mapping_is_enough() -> None:
    document = {"groups": [{"kind": "full", "block_size": 16}], "max_model_len": 5, "max_num_batched_tokens": 5}
    assert to_deployment(document) == Deployment((Group(FullAttention(16)),), 5, 5)
