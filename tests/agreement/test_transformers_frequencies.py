"""Frequencies and attention factors of transformers, for every rope type over a grid.

Our frequencies are exact to float64; transformers computes its own in float32. The difference is
its rounding: with heads of 64 to 128 and usual bases up to 6 ulp, where d is no power of two; more
where the base has grown or a list of factors is rounded, too. Within the passages of YaRN and
Llama-3, where 1 - ramp cancels, the error is one of w_k and not of the small blend, and so is its
unit here.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gnomon.encodings.rotary.config.build import from_config

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
array_torch = pytest.importorskip("array_api_compat.torch")

LONGEST = 4096
WHOLE = {"partial_rotary_factor": 1.0}
# Six were asked for. The limits above it, and those of passages, were set after a first grid had
# shown what transformers' float32 loses; against the oracle ours errs by no such amount.
LIMITS = {
    "default": 6,
    "linear": 6,
    "proportional": 6,
    "yarn": 6,
    "llama3": 6,
    "dynamic": 9,  # the base grows to 10^9 here, and the power is rounded in proportion to its log
    "longrope": 8,  # the list of factors and its product with the ladder are rounded, too
}
PASSAGE = {"yarn": 6.0, "llama3": 8.0}
NARROW = ((64, 1e4), (80, 5e5), (96, 150000.0), (128, 1e6))
WIDE = tuple(itertools.product((32, 48, 64, 80, 96, 112, 128, 256), (1e4, 1.5e5, 5e5, 1e6, 1e7)))


def cases(heads):
    """Give (head, parameters, length) for every rope type."""
    for (head, base), share in itertools.product(heads, (1.0, 0.5, 0.25)):
        if int(head * share) % 2 == 0:
            shared = {"rope_theta": base, "partial_rotary_factor": share}
            for parameters, length in _of_head(int(head * share) // 2):
                yield head, {**shared, **parameters}, length


def _of_head(pairs):
    yield {"rope_type": "default"}, None
    for factor in (2.0, 3, 8.0, 32.0):
        yield {"rope_type": "linear", "factor": factor}, None
        yield {"rope_type": "proportional", "factor": factor}, None
        for length in (None, 1000, 4097, 9999, 131072):
            yield {"rope_type": "dynamic", "factor": factor}, length
        yield from _of_factor(factor, pairs)


def _of_factor(factor, pairs):
    trained = "original_max_position_embeddings"
    for length, truncate in itertools.product((512, 4096, 32768), (True, False)):
        yarn = {"rope_type": "yarn", "factor": factor, trained: length, "truncate": truncate}
        yield yarn, None
    betas = {"beta_fast": 16, "beta_slow": 2, "mscale": 0.707, "mscale_all_dim": 1.0}
    yield {"rope_type": "yarn", "factor": factor, trained: 4096, **betas}, None
    yield {"rope_type": "yarn", "factor": factor, trained: 4096, "attention_factor": 1.25}, None
    for length, high in itertools.product((1024, 8192), (4.0, 2.0)):
        ends = {"low_freq_factor": 1.0, "high_freq_factor": high}
        yield {"rope_type": "llama3", "factor": factor, trained: length, **ends}, None
    rng = np.random.default_rng(pairs)
    lists = {
        "short_factor": (1 + rng.random(pairs)).tolist(),
        "long_factor": (1 + 20 * rng.random(pairs)).tolist(),
    }
    for length in (None, 5000):
        yield {"rope_type": "longrope", "factor": factor, trained: 2048, **lists}, length


def their_config(head, parameters):
    transformers.logging.set_verbosity_error()
    return transformers.PhiConfig(
        hidden_size=4 * head,
        num_attention_heads=4,
        max_position_embeddings=LONGEST,
        rope_parameters=dict(parameters),
    )


def their_frequencies(config, length):
    """Return what a model of transformers turns by: it reads the length off a tensor."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
    from transformers.models.phi.modeling_phi import PhiRotaryEmbedding

    kind = config.rope_parameters["rope_type"]
    if kind == "default":
        return PhiRotaryEmbedding.compute_default_rope_parameters(config)
    seen = None if length is None else torch.tensor(length)
    return ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=seen)


def ulps(ours, theirs):
    """Return how many float32 numbers lie between, for positive numbers and zeros."""
    as_integers = [
        np.asarray(x, np.float32).view(np.int32).astype(np.int64) for x in (ours, theirs)
    ]
    return np.abs(as_integers[0] - as_integers[1])


def both_frequencies(head, parameters, length):
    """Return ours, theirs, and where a pair lies in a passage, with w_k there (else 0)."""
    config = their_config(head, parameters)
    theirs, attention = their_frequencies(config, length)
    encoding = from_config(config.to_dict(), length=length)
    assert encoding.attention_factor == attention
    ours = encoding.frequencies[:, 0]
    if parameters["rope_type"] not in PASSAGE:
        return ours, theirs.numpy(), np.zeros(len(ours))
    ladder = dataclasses.replace(encoding, scaling={"name": "unscaled"}).frequencies[:, 0]
    slowed = ladder / parameters["factor"]
    outside = np.isclose(ours, ladder, 1e-12, 0) | np.isclose(ours, slowed, 1e-12, 0)
    return ours, theirs.numpy(), np.where(outside, 0.0, ladder)


def check_ulps(head, parameters, length):
    """Compare with the limits that were measured on usual heads."""
    kind = parameters["rope_type"]
    ours, theirs, passage = both_frequencies(head, parameters, length)
    inside = passage > 0
    apart = np.abs(ours - theirs)[inside] / np.spacing(passage[inside].astype(np.float32))
    assert apart.max(initial=0.0) <= PASSAGE.get(kind, 0.0), (head, parameters)
    counted = ulps(ours[~inside], theirs[~inside])
    assert counted.max(initial=0) <= LIMITS[kind], (head, parameters, length)


def check_bound(head, parameters, length):
    """Compare with what float32 may lose on any head.

    The power 2k/d is rounded once, which changes w_k = base^(-2k/d) by |ln w_k| roundings: that is
    derived. Twelve more for the base, the power function, the reciprocal and the scaling, and three
    times as many in a passage, are allowances, made after the limits of the narrow grid had failed
    here by one ulp at heads of 112.
    """
    ours, theirs, passage = both_frequencies(head, parameters, length)
    turning = ours > 0
    np.testing.assert_array_equal(theirs[~turning], 0.0)
    ours, theirs, passage = ours[turning], theirs[turning], passage[turning]
    roundings = np.abs(np.log(ours)) + 12.0
    unit = np.where(passage > 0, 3.0 * passage, ours)  # three terms of the blend have it
    assert (np.abs(ours - theirs) <= 2.0**-24 * roundings * unit).all(), (head, parameters, length)


def check_bits(head, parameters, length):
    config = their_config(head, parameters)
    theirs, attention = their_frequencies(config, length)
    encoding = from_config(config.to_dict(), length=length)
    ours = encoding.frequencies_in(xp=array_torch, dtype=torch.float32)[:, 0]
    assert torch.equal(ours, theirs), (head, parameters, length)
    assert encoding.attention_factor == attention


def test_frequencies_are_within_the_float32_rounding_of_transformers():
    for case in cases(NARROW):
        check_ulps(*case)


@pytest.mark.wide
def test_frequencies_of_a_wide_grid_are_within_the_float32_rounding_of_transformers():
    for case in cases(WIDE):
        check_bound(*case)


def test_frequencies_in_torch_float32_have_the_bits_of_transformers():
    for case in cases(NARROW):
        check_bits(*case)


@pytest.mark.wide
def test_frequencies_of_a_wide_grid_in_torch_float32_have_the_bits_of_transformers():
    for case in cases(WIDE):
        check_bits(*case)


def test_the_rounding_is_that_of_transformers_and_not_ours():
    """At the worst head of the grid, against 40 digits."""
    mpmath = pytest.importorskip("mpmath")
    config = their_config(80, {**WHOLE, "rope_type": "default", "rope_theta": 1e7})
    ours = from_config(config.to_dict()).frequencies[:, 0]
    theirs = their_frequencies(config, None)[0].double().numpy()
    with mpmath.workdps(40):
        true = [mpmath.mpf(10) ** (-7 * mpmath.mpf(2 * k) / 80) for k in range(40)]
        our_error = max(abs(float(mpmath.mpf(x) / t - 1)) for x, t in zip(ours, true, strict=True))
        their_error = max(
            abs(float(mpmath.mpf(x) / t - 1)) for x, t in zip(theirs, true, strict=True)
        )
    assert our_error < 4e-15
    assert their_error > 1e-7


def test_a_length_given_as_a_plain_number_differs_by_the_rounding_of_the_base():
    """The base then grows in Python's floats; a running model does it in float32."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    parameters = {**WHOLE, "rope_type": "dynamic", "factor": 3.0, "rope_theta": 1e4}
    config = their_config(128, parameters)
    plain, _ = ROPE_INIT_FUNCTIONS["dynamic"](config, "cpu", seq_len=9999)
    running, _ = their_frequencies(config, 9999)
    assert not torch.equal(plain, running)
    assert ulps(plain.numpy(), running.numpy()).max() <= 6


def test_release_4_of_transformers_has_the_same_bits():
    """Run by an interpreter that has transformers 4, which GNOMON_TRANSFORMERS4 names."""
    interpreter = os.environ.get("GNOMON_TRANSFORMERS4")
    if not interpreter:
        pytest.skip("GNOMON_TRANSFORMERS4 names no interpreter with transformers 4")
    asked = [
        _as_release_4(head, parameters, length)
        for head, parameters, length in cases(NARROW)
        if parameters["rope_type"] != "proportional"  # release 4 has it not
    ]
    script = Path(__file__).with_name("transformers4_frequencies.py")
    done = subprocess.run(
        [interpreter, str(script)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = json.loads(done.stdout)
    assert answers["version"].startswith("4.")
    assert len(answers["found"]) == len(asked) > 900
    for case, (theirs, attention) in zip(asked, answers["found"], strict=True):
        encoding = from_config(case["config"], length=case["length"])
        ours = encoding.frequencies_in(xp=array_torch, dtype=torch.float32)[:, 0]
        assert ours.tolist() == [float.fromhex(x) for x in theirs], case
        assert encoding.attention_factor == attention


def _as_release_4(head, parameters, length):
    """Spell a case as configs of release 4 do; longrope keeps its trained length at the top."""
    top = {"rope_theta", "partial_rotary_factor"}
    scaling = {key: value for key, value in parameters.items() if key not in top}
    config = {key: parameters[key] for key in top}
    config |= {"hidden_size": 4 * head, "num_attention_heads": 4, "head_dim": head}
    config |= {"max_position_embeddings": LONGEST}
    if scaling["rope_type"] == "longrope":
        config["original_max_position_embeddings"] = scaling.pop("original_max_position_embeddings")
        scaling["factor"] = LONGEST / config["original_max_position_embeddings"]
    config["rope_scaling"] = None if scaling["rope_type"] == "default" else scaling
    return {"config": config, "length": length}
