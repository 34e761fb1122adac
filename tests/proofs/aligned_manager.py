"""Drive the `MambaManager` of a release in a process of its own: steps come in, what was held after each goes out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from poolproof.forks.inspection import call
from poolproof.forks.loader import Core, load_core

ENOUGH = 1 << 12


def managers(core: Core, block_size: int, speculative: int, checkpoint: int) -> tuple[Any, Any]:
    """Make a pool and the manager of one Mamba group in cache mode `align`."""
    spec = call(
        core.module("v1.kv_cache_interface").MambaSpec,
        {
            "block_size": block_size,
            "shapes": ((1,),),
            "dtypes": (sys.modules["torch"].float32,),
            "mamba_cache_mode": "align",
            "num_speculative_blocks": speculative,
            "num_prefill_checkpoint_blocks": checkpoint,
        },
    )
    offered = {"num_gpu_blocks": ENOUGH, "enable_caching": False, "hash_block_size": block_size}
    pool = call(core.module("v1.core.block_pool").BlockPool, offered)
    sizes = dict.fromkeys(("max_num_batched_tokens", "max_in_flight_tokens", "max_model_len"), ENOUGH)
    offered = {"kv_cache_spec": spec, "block_pool": pool, "enable_caching": False, "kv_cache_group_id": 0, **sizes}
    offered |= {"scheduler_block_size": block_size, "cache_hit_alignment_tokens": block_size}
    return pool, call(core.module("v1.core.single_type_kv_cache_manager").MambaManager, offered)


def step(manager: Any, computed: int, processed: int, tokens: int) -> tuple[int, int]:
    """Take one step of a request and return what was predicted of it and what it holds then."""
    offered = {"num_computed_tokens": computed, "total_computed_tokens": computed}
    call(manager.remove_skipped_blocks, {"request_id": "r", **offered, "processed_computed_tokens": processed})
    offered = {"num_tokens": tokens, "num_tokens_main_model": tokens, "new_computed_blocks": [], "prefill_end": 0}
    lengths = {"total_computed_tokens": computed, "num_local_computed_tokens": computed}
    predicted = call(manager.get_num_blocks_to_allocate, {"request_id": "r", **offered, **lengths})
    manager.allocate_new_blocks("r", tokens, tokens)
    return predicted, sum(not block.is_null for block in manager.req_to_blocks["r"])


def run(core: Core, case: dict[str, Any]) -> list[tuple[int, int]]:
    """Take the steps of one case."""
    _, manager = managers(core, case["block_size"], case["speculative"], case["checkpoint"])
    return [step(manager, *each) for each in case["steps"]]


def hit(core: Core, case: dict[str, Any]) -> int:
    """Ask what a new request needs that takes over blocks of a prefix, of which nobody holds the last."""
    pool, manager = managers(core, case["block_size"], case["speculative"], 0)
    last = pool.get_new_blocks(1)
    pool.free_blocks(last)
    blocks = [*[pool.null_block] * (case["blocks"] - 1), *last]
    computed = {"total_computed_tokens": case["hit"], "num_local_computed_tokens": case["hit"]}
    offered = {"num_tokens": case["tokens"], "num_tokens_main_model": case["tokens"], "prefill_end": case["tokens"]}
    asked = {"request_id": "r", "new_computed_blocks": blocks, "apply_admission_cap": True, **computed, **offered}
    return int(call(manager.get_num_blocks_to_allocate, asked))


if __name__ == "__main__":
    loaded, asked = load_core(Path(sys.argv[1]), "vllm"), json.load(sys.stdin)
    steps = [run(loaded, case) for case in asked["runs"]]
    print(json.dumps({"runs": steps, "hits": [hit(loaded, case) for case in asked["hits"]]}))
