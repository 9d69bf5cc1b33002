"""What a config says against what its model does: queries and keys of one token, layer by layer.

With one token the output of attention does not depend on its position, so the inputs of every layer
are those at position 0, and what differs in the queries and keys that a layer hands to attention is
its encoding: layout, width, sign, layers, temperature. A tiny model of each type of the installed
transformers keeps the true size of its heads and its rotary settings; its attention is replaced by
one that keeps what it is handed. Windows are compared as they are handed over.

The magnitude at position 0 and the layout of types that reorder coordinates while they rotate are
seen in what the function `apply_rotary_pos_emb` of the model is given and what it returns.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import re
import sys
import warnings

import numpy as np
import pytest

import gnomon

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

POSITIONS = (0, 1, 4095, 100_000)
TOLERANCE = 2e-2  # their phases are products in float32: 0.006 at position 100,000
SLICE = (
    "afmoe",
    "beam",
    "cohere2",
    "cohere2_moe",
    "deepseek_v3",
    "exaone4",
    "gemma3_text",
    "gpt_neox",
    "granite_swa",
    "kimi_linear",
    "kolibri1",
    "llama",
    "minimax",
    "ministral3",
    "molmo2_text",
    "muse_glimmer_text",
    "olmo3",
    "openai_privacy_filter",
    "qwen2_vl_text",
    "recurrent_gemma",
    "smollm3",
)
OPEN = {
    "codegen": "its rotation is a function of its own: test_transformers_models.py has its layout",
    "gptj": "its rotation is a function of its own: test_transformers_rotated.py compares it",
    "llama4": "its temperature counts tokens in the cache and does not read position_ids: compared "
    "in test_transformers_layers.py",
    "longcat_flash": "its rotation has no function of a usual name",
}
"""Types that a schedule is given for and that are compared neither whole nor by parts here."""
ROTARY = {
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048},
    "sharpened yarn": {
        "rope_type": "yarn",
        "factor": 40.0,
        "original_max_position_embeddings": 2048,
        "mscale": 0.7,
        "mscale_all_dim": 0.9,
    },
    "linear": {"rope_type": "linear", "factor": 4.0},
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "original_max_position_embeddings": 2048,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
    },
    "base": {"rope_theta": 54321.0},
    "part": {"partial_rotary_factor": 0.5},
}
"""Rotary parameters in the place of those that a type has by default."""
SCALED_BEFORE = ("esm", "openai_privacy_filter")
"""Types that multiply queries and keys by the root of the scale before they hand them over."""
SMALL = {
    "encoder_hash_byte_group_vocab": 64,
    "ffn_dim": 32,
    "hidden_size_per_layer_input": 8,
    "intermediate_size": 32,
    "kv_lora_rank": 16,
    "moe_intermediate_size": 16,
    "moe_topk": 1,
    "n_group": 1,
    "n_routed_experts": 2,
    "n_shared_experts": 1,
    "num_experts": 2,
    "num_experts_per_tok": 1,
    "num_experts_per_token": 1,
    "num_local_experts": 2,
    "num_shared_experts": 1,
    "q_lora_rank": 16,
    "shared_expert_intermediate_size": 16,
    "topk_group": 1,
    "vocab_size": 64,
    "vocab_size_per_layer_input": 64,
}
SECTIONED = {"rope_theta": 1e4, "partial_rotary_factor": 0.5, "mrope_section": [8, 12, 12]}
OWN: dict[str, dict] = {
    "bamba": {"attn_layer_indices": [1], "num_hidden_layers": 2, "mamba_n_heads": 2},
    "deepseek_v2": {"num_experts_per_tok": 1},
    "bailing_hybrid": {"num_expert_group": 1},
    "deepseek_ocr2_text": {"num_experts_per_tok": 1, "mlp_layer_types": ["dense"] * 6},
    "diffusion_gemma_text": {
        "num_experts": 2,
        "top_k_experts": 1,
        "moe_intermediate_size": 16,
        "per_layer_config": {"05": {"head_dim": 512}},
    },
    "dots1": {"n_routed_experts": 2, "num_experts_per_tok": 1, "n_shared_experts": 1},
    "esmc": {"hidden_size": 128},
    "esm": {"vocab_size": 64, "position_embedding_type": "rotary", "mask_token_id": 2},
    "gemma3n_text": {"num_kv_shared_layers": 0},
    "glm4v_text": {"rope_parameters": SECTIONED},
    "glm_image_text": {"rope_parameters": SECTIONED},
    "glm4v_moe_text": {"head_dim": 128, "rope_parameters": SECTIONED},
    "granitemoehybrid": {
        "layer_types": ["mamba", "attention"],
        "num_hidden_layers": 2,
        "position_embedding_type": "rope",
        "mamba_n_heads": 4,
    },
    "qwen3_omni_moe_text": {"head_dim": 128},
    "step3p5": {"sliding_window": 64},
    "helium": {"hidden_size": 256},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_hidden_layers": 2},
}
"""What some types need beside: sizes that their configs leave open, and layers that attend."""
HEADS = ("num_attention_heads", "n_head", "num_heads")
WIDTHS = ("hidden_size", "n_embd", "d_model")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers")
HANDED: list[dict] = []
APPLIED: list[tuple] = []


def keep(module, query, key, value, attention_mask=None, scaling=None, dropout=0.0, **given):
    """Stand in for attention: keep what is handed over, return the values."""
    del attention_mask, dropout
    window = {"window": given["sliding_window"]} if "sliding_window" in given else {}
    layer = getattr(module, "layer_idx", None)
    kept = {"layer": layer, "q": plain(query), "k": plain(key), "scale": scaling}
    HANDED.append({**kept, **window})
    groups = query.shape[1] // key.shape[1]
    return value.repeat_interleave(groups, 1).transpose(1, 2).contiguous(), None


def plain(tensor):
    return tensor.detach().double().numpy()


def first(said, names):
    return next((name for name in names if isinstance(said.get(name), int)), None)


def small(config):
    """Return the settings of a tiny model with the heads and the layers of a config."""
    said = config.to_dict()
    made = {key: value for key, value in SMALL.items() if type(said.get(key)) is int}
    heads, width, layers = (first(said, names) for names in (HEADS, WIDTHS, LAYERS))
    if heads and width:
        head = said.get("head_dim") or said[width] // said[heads]
        made |= {heads: 2, width: 64 if said.get("head_dim") else 2 * head}
        made |= {"head_dim": head} if "head_dim" in said else {}
        if "num_key_value_heads" in said:
            alike = said["num_key_value_heads"] in (None, said[heads])
            made["num_key_value_heads"] = 2 if alike else 1
    if layers:
        made[layers] = min(6, said[layers])
        listed = ("layer_types", "mlp_layer_types", "no_rope_layers")
        made |= {key: list(said[key])[: made[layers]] for key in listed if said.get(key)}
    for key, part in said.items():  # parts keep their widths, which fit one another
        if isinstance(part, dict) and type(part.get("num_hidden_layers")) is int:
            made[key] = {**part, "num_hidden_layers": min(2, part["num_hidden_layers"])}
    made |= {key: 0 for key in ("pad_token_id",) if said.get(key) is not None}
    return made | OWN.get(said.get("model_type"), {})


def with_rotary(given, rotary):
    """Return rotary parameters, flat or by type of layer, with others in their place."""
    if any(isinstance(each, dict) for each in given.values()):
        return {key: {**each, **rotary} if each else each for key, each in given.items()}
    return {**given, **rotary}


def tiny_model(model_type, rotary=None):
    """Return a config with tiny sizes, and the model that transformers makes of it."""
    from transformers import CONFIG_MAPPING, AutoModel
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS as MASKS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS as ATTENTION

    ATTENTION.register("keep", keep)
    MASKS.register("keep", MASKS["eager"])
    whole = CONFIG_MAPPING[model_type]()
    text = whole.get_text_config()
    given = small(text)
    if rotary:
        usual = copy.deepcopy(text.to_dict().get("rope_parameters") or {})
        given["rope_parameters"] = with_rotary(usual, rotary)
    config = type(text)(**given)
    torch.manual_seed(0)
    try:
        model = AutoModel.from_config(config, attn_implementation="keep", trust_remote_code=False)
    except ValueError:  # parts of larger models have classes that no table lists
        model = class_of_part(config)._from_config(config, attn_implementation="keep")
    return config, model.eval().float()


def class_of_part(config):
    """Return the plainest model that reads tokens by a config, from the file of its code."""
    room = importlib.import_module(
        type(config).__module__.replace("configuration_", "modeling_", 1)
    )
    kinds = [
        kind
        for kind in vars(room).values()
        if inspect.isclass(kind)
        and issubclass(kind, transformers.PreTrainedModel)
        and getattr(kind, "config_class", None) is type(config)
        and kind.__dict__.get("forward") is not None
        and "input_ids" in inspect.signature(kind.forward).parameters
    ]
    if not kinds:
        raise TypeError(f"no model reads tokens by {type(config).__name__}")
    return min(kinds, key=lambda kind: len(kind.__name__))


def handed_at(model, position):
    """Return what every layer hands to attention for one token at a position."""
    HANDED.clear()
    asked = inspect.signature(model.forward).parameters
    given = {"position_ids": torch.tensor([[position]]), "use_cache": False}
    with torch.no_grad():
        model(torch.tensor([[7]]), **{name: given[name] for name in given if name in asked})
    return list(HANDED)


def watch_rotations(model, monkeypatch):
    """Keep what the functions that rotate are given and what they return."""
    room = sys.modules[type(model).__module__]
    for name, function in list(vars(room).items()):
        if inspect.isfunction(function) and re.match(r"_?apply_.*(rotary|rope)", name):

            def watched(*args, _function=function, **kwargs):
                made = _function(*args, **kwargs)
                one = made[0] if isinstance(made, tuple) else made
                APPLIED.append((args[0].detach().double(), one.detach().double()))
                return made

            monkeypatch.setattr(room, name, watched)


def rotation_at_zero(model, monkeypatch):
    """Return how a rotation by nothing orders and multiplies: (reordered or not, factor)."""
    watch_rotations(model, monkeypatch)
    APPLIED.clear()
    handed_at(model, 0)
    for given, made in APPLIED:
        if given.shape == made.shape and given.norm() > 0:
            changed = ~torch.isclose(made, given, atol=1e-6)  # a part may not be rotated
            if not changed.any():
                return False, 1.0
            before, after = given[changed], made[changed]
            factor = float(after.norm() / before.norm())
            return not torch.allclose(after, before * factor, atol=1e-5), factor
    return None, None


def matrix(layer, position, width, side):
    """Return the matrix by which a layer of a schedule acts on vectors at a position."""
    encoding, one = layer.encoding, np.eye(width)
    at = np.full((width, encoding.axes), position)
    places = at[:, 0] if encoding.axes == 1 else at
    made = np.asarray(encoding.transform(one, one, places, places)["qk".index(side)])
    tempered = layer.temperature is not None and side == "q"
    return made * (layer.temperature.at(position) if tempered else 1.0)


def reordering(encoding, width):
    """Return the order in which some types leave what they have rotated: even ones first."""
    order, start, count = np.arange(width), encoding.first, encoding.rotated
    part = np.arange(start, start + count)
    order[start : start + count] = np.concatenate([part[::2], part[1::2]])
    return order


def error_of(layer, handed, side, *, reordered, start=0):
    """Return the largest error of a layer at the positions after `start`, against its largest q."""
    found = handed[start][side]
    width = found.shape[-1]
    order = np.arange(width)
    if reordered and getattr(layer.encoding, "layout", None) == "interleaved":
        order = reordering(layer.encoding, width)
    content = np.empty_like(found)
    content[..., order] = found
    content = content @ np.linalg.inv(matrix(layer, start, width, side))
    errors = [
        np.abs((content @ matrix(layer, at, width, side))[..., order] - handed[at][side]).max()
        for at in POSITIONS
        if at > start
    ]
    return max(errors) / np.abs(found).max()


def check(model_type, monkeypatch, rotary=None):
    """Compare a model type with the schedule of its config; return what was seen, or a refusal."""
    config, model = tiny_model(model_type, rotary)
    handed = {at: handed_at(model, at) for at in POSITIONS}
    if not handed[0]:
        return "open: it hands nothing to the attention of transformers"
    if not all(np.isfinite(each["k"]).all() and each["k"].any() for each in handed[0]):
        return "open: a tiny model of it makes no keys"
    try:
        schedule = gnomon.schedule(config.to_dict())
    except gnomon.GnomonError as error:
        return f"refused: {error}"
    reordered, factor = rotation_at_zero(model, monkeypatch)
    for number in range(len(handed[0])):
        each = {at: handed[at][number] for at in POSITIONS}
        layer = schedule[number if each[0]["layer"] is None else each[0]["layer"]]
        for side in "qk":
            wrong = error_of(layer, each, side, reordered=reordered)
            if wrong > TOLERANCE:  # a recurrence before attention may start anew at position 0
                wrong = error_of(layer, each, side, reordered=reordered, start=1)
            assert wrong < TOLERANCE, (model_type, layer.layer, side, layer.to_dict())
        if "window" in each[0]:
            assert layer.window == each[0]["window"], (model_type, layer.to_dict())
        scaled = each[0]["scale"] is not None and model_type not in SCALED_BEFORE
        if scaled and layer.encoding.name != "nope":
            wanted = layer.softmax_scale or each[0]["q"].shape[-1] ** -0.5
            assert each[0]["scale"] == pytest.approx(wanted), (model_type, layer.to_dict())
        rotating = hasattr(layer.encoding, "attention_factor")
        if factor is not None and rotating:
            assert factor == pytest.approx(layer.encoding.attention_factor, rel=1e-4), model_type
    return "agrees" if any(row.encoding.name != "nope" for row in schedule) else "no encoding"


@pytest.fixture(autouse=True)
def quiet():
    transformers.logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("model_type", SLICE)
def test_each_layer_of_a_schedule_does_what_the_model_does(model_type, monkeypatch):
    assert check(model_type, monkeypatch) in ("agrees", "no encoding")


@pytest.mark.parametrize("rotary", ROTARY)
@pytest.mark.parametrize("model_type", ["deepseek_v3", "gemma3_text", "llama", "qwen3_next"])
def test_other_rotary_parameters_are_read_as_the_model_reads_them(model_type, rotary, monkeypatch):
    seen = check(model_type, monkeypatch, ROTARY[rotary])
    assert seen == "agrees" or (rotary == "part" and seen.startswith("refused"))


def seen_by_parts(model_type):
    """Compare what a model hands to nobody: its frequencies, and the layout that its code has.

    This sees width, base, scaling and layout, and not which layers rotate.
    """
    config = transformers.CONFIG_MAPPING[model_type]().get_text_config()
    room = type(config).__module__.replace("configuration_", "modeling_", 1)
    encodings = [each.encoding for each in gnomon.schedule(config.to_dict()) if each.attends]
    rotating = [each for each in encodings if each.name != "nope"]
    modules = list(rotary_modules_of(importlib.import_module(room), config))
    if not modules:
        return "open: its code has no rotary module"
    for encoding in rotating:
        wanted = np.sort(np.abs(encoding.frequencies).sum(axis=-1))
        assert any(
            len(found) == len(wanted) and np.allclose(np.sort(found), wanted, rtol=1e-4)
            for found in modules
        ), (model_type, "assert frequencies", encoding)
        layout = layout_in_code(room)
        assert layout in (None, encoding.layout), (model_type, "assert layout", encoding)
    return "agrees by parts" if rotating and layout else "open: its code shows no layout"


def rotary_modules_of(room, config):
    """Yield the frequencies of every rotary module of a file that can be made of a config."""
    for name, kind in vars(room).items():
        if "RotaryEmbedding" in name and inspect.isclass(kind):
            try:
                module = kind(config)
            except Exception:  # noqa: BLE001 -- a module of another part of the model
                continue
            for key, held in module.named_buffers():
                if key.endswith("inv_freq") and held.ndim == 1:
                    yield held.double().numpy()


def layout_in_code(room):
    """Return the layout of a file by what its function does to a vector, None without one."""
    code = importlib.import_module(room)
    for name in ("rotate_half", "rotate_every_two"):
        if hasattr(code, name):
            made = getattr(code, name)(torch.arange(1.0, 5.0)[None, None, None]).flatten().tolist()
            return {(-3, -4, 1, 2): "half", (-2, 1, -4, 3): "interleaved"}.get(tuple(made))
    return None


def look_at_all(rotary=None):
    """Return what is seen of every model type; a wrong one raises."""
    from transformers import CONFIG_MAPPING

    seen: dict[str, str] = {}
    for model_type in CONFIG_MAPPING:
        if model_type.removesuffix("_text") in OPEN:
            continue
        with pytest.MonkeyPatch.context() as patch:
            seen[model_type] = look_at(check, model_type, patch, rotary)
        if rotary is None and seen[model_type].startswith("open"):
            seen[model_type] = look_at(seen_by_parts, model_type)
    return seen


def look_at(compare, *given):
    """Return what a comparison says, or why it cannot be made."""
    try:
        return compare(*given)
    except AssertionError as error:
        if "assert" in str(error):  # one of ours, not one of transformers' own
            raise
        return "open: AssertionError"
    except gnomon.GnomonError as error:
        return f"refused: {error}"
    except Exception as error:  # noqa: BLE001 -- no tiny model could be made or run
        return f"open: {type(error).__name__}"


@pytest.mark.wide
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("rotary", ROTARY)
def test_no_type_is_read_wrongly_with_other_rotary_parameters(rotary):
    assert list(look_at_all(ROTARY[rotary]).values()).count("agrees") > (
        30 if rotary == "part" else 100
    )


@pytest.mark.wide
@pytest.mark.timeout(3600)
def test_no_model_type_of_transformers_is_read_wrongly_in_silence():
    seen = look_at_all()
    agree = [name for name, said in seen.items() if said.startswith("agrees")]
    refused = [name for name, said in seen.items() if said.startswith("refused: The model type")]
    left = [name for name, said in seen.items() if said.startswith("open")]
    accepted = [name for name in left if schedule_or_none(name) is not None]
    assert len(agree) > 250, len(agree)
    assert len(refused) + len(accepted) < 0.1 * len(agree), accepted


def schedule_or_none(model_type):
    """Return the schedule of a default config, None where it has none or is refused."""
    try:
        config = transformers.CONFIG_MAPPING[model_type]().get_text_config()
        return gnomon.schedule(config.to_dict())
    except Exception:  # noqa: BLE001 -- a config of several parts, or of no layers
        return None


@pytest.mark.parametrize("model_type", ["nanochat", "pixtral", "hunyuan_vl_text"])
def test_what_no_encoding_of_the_catalogue_does_is_refused_by_its_type(model_type):
    with pytest.raises(gnomon.GnomonError, match=r"The model type .* (rotates|deals)"):
        gnomon.schedule({"model_type": model_type, "head_dim": 64, "num_hidden_layers": 2})
