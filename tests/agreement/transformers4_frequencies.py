"""Print what transformers 4 turns by: cases as JSON on standard input, float32 in hexadecimal out.

Run by an interpreter of its own, which has torch and transformers 4 and nothing of this project.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Answer every case with its frequencies and its attention factor."""
    import torch
    import transformers
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    transformers.logging.set_verbosity_error()
    found = []
    for case in json.load(sys.stdin):
        config = transformers.PhiConfig(**case["config"])
        for name in ("head_dim", "original_max_position_embeddings"):
            if name in case["config"]:
                setattr(config, name, case["config"][name])
        kind = (case["config"]["rope_scaling"] or {}).get("rope_type", "default")
        length = None if case["length"] is None else torch.tensor(case["length"])
        frequencies, attention = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=length)
        found.append([[x.hex() for x in frequencies.tolist()], attention])
    json.dump({"version": transformers.__version__, "found": found}, sys.stdout)


if __name__ == "__main__":
    main()
