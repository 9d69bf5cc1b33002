"""Where one route begins to pay and another ends, as measured.

The numbers are those of `benchmarks/bench_attention.py`, whose record says from which length on
each route is the fastest; they are choices of speed and memory, and no route's result depends on
them beyond rounding.
"""

from __future__ import annotations

TILE = 256
"""Queries of one tile: fewer cost calls, more cost the keys that a causal tile could skip."""
SHORT, SHORT_TILE = 512, 64
"""Queries up to which a sequence is short, and the queries of its tiles."""
TILES_FROM = 256
"""Queries from which on tiles of a causal bias are faster than one call."""
WRITTEN_BYTES = 2**24
"""Largest bias that is written out where that is cheaper than turning the keys around."""
MASK_BYTES = 2**26
"""Largest mask or bias that is made whole; beyond, tiles make a part of it at a time."""
SPAN = 20.0
"""Largest decay exponent within one block: e^20 is far inside float32."""
LEAST_BLOCK = 16
"""Queries of a block below which logits are merged by their log-sum-exp instead."""
MERGED_BLOCK = 64
"""Queries of a block whose parts are merged: pairs inside of it are summed one by one."""
KEYS = 4096
"""Keys of one part that is merged."""
