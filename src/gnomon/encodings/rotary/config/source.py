"""A model's config as a source of facts: read from a file or mapping, asked by any spelling.

Spellings differ between releases of [wolf2020] and between model types (`rope_theta`,
`rotary_emb_base`; `hidden_size`, `n_embd`). A question names all spellings of one thing: those that
are given must agree; where none is given, the habit of the model type answers
(`gnomon.encodings.rotary.config.source`), and where it has none, nothing does. Nothing is guessed.

A key that nothing reads is a setting that the user believes to have made: a misspelt
`attention_factor`, a `beta_fast` under linear scaling. So that none is passed over in silence, each
is refused by name with the nearest known one, unless the caller lists it as ignored. Keys are those
of [wolf2020], releases 4 and 5.

What configs leave to the code of their model: layouts, and values that they may omit.

A `config.json` never says which coordinates make a pair, and many published ones omit what was the
default of their code. Both are facts of the implementations in [wolf2020], release 5.22, by model
type; `tests/agreement/test_transformers_models.py` compares every line with an installed release.
A model type that is not named here pairs in halves, and must say its own base.

Model types are written without the ending `_text`, which the text parts of larger models carry.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gnomon.errors import EncodingError, nearest
from gnomon.numeric import checks
from gnomon.reading import read_json

Config = Mapping[str, Any] | str | os.PathLike[str]
TEXT_PARTS = ("text_config", "language_config", "llm_config")
"""Where configs of larger models keep the part that reads text."""
PARAMETERS = ("rope_parameters", "rope_scaling")
ABOVE = ("rope_theta", *PARAMETERS, "partial_rotary_factor", "rotary_pct")
"""Keys that belong to the part that reads text, and not above it."""
HIDDEN = ("hidden_size", "n_embd", "d_model", "dim")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
DEEPEST, MOST, MOST_LAYERS = 30, 200_000, 4096
"""How deep a config may be nested, and how many values and layers it may have."""
LAYERED = re.compile(r"^(num_|n_)?((hidden|encoder|decoder)_)?layers?$")
"""What configs call the number of their layers."""
LONGEST = ("max_position_embeddings", "n_positions", "max_seq_len")


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a config says, and what its model type leaves unsaid."""

    said: Mapping[str, Any]
    ignored: frozenset[str] = frozenset()

    @property
    def model_type(self) -> str:
        """Return the model type, without the ending of a text part; may be empty."""
        return plain_type(str(self.said.get("model_type") or ""))

    def one(self, *names: str) -> Any:
        """Return the one value behind several spellings, or None where nothing answers."""
        found = [(name, self.said[name]) for name in names if self.said.get(name) is not None]
        for name, value in found[1:]:
            if value != found[0][1]:
                raise EncodingError(
                    f"The config says {found[0][0]} = {found[0][1]!r} and {name} = {value!r}, "
                    "which name one thing; keep the right one."
                )
        if found:
            return found[0][1]
        unsaid = DEFAULTS.get(self.model_type, {})
        return next((unsaid[name] for name in names if name in unsaid), None)

    def whole(self, *names: str) -> int | None:
        """Return a whole number behind several spellings, or None where nothing answers."""
        value = self.one(*names)
        if value is not None:
            checks.whole(names[0], value, least=1)
        return None if value is None else int(value)

    @property
    def native(self) -> bool:
        """Whether this is the `params.json` of Meta or Mistral, whose weights are interleaved."""
        return not self.model_type and {"dim", "n_heads", "n_layers"} <= set(self.said)

    @property
    def head(self) -> int:
        """Return the dimension of a head."""
        given = self.whole("head_dim", "kv_channels") or HEAD_DIMENSIONS.get(self.model_type)
        if given is not None:
            return given
        hidden, heads = self.whole(*HIDDEN), self.whole(*HEADS)
        if hidden is None or heads is None:
            missing = HIDDEN[0] if hidden is None else HEADS[0]
            raise EncodingError(
                f"The config has neither head_dim nor {missing}, so the dimension of a head is "
                "unknown; add head_dim."
            )
        if hidden % heads:
            raise EncodingError(
                f"The config's {HIDDEN[0]} is {hidden}, which {heads} heads do not divide; add "
                "head_dim."
            )
        return hidden // heads

    @property
    def longest(self) -> int | None:
        """Return the longest sequence the model is meant for, where it says so."""
        return self.whole(*LONGEST)


def read_config(config: Config, ignore: Iterable[str] = ()) -> Source:
    """Return the part of a config that says how text is encoded, read from a file if need be."""
    said = config if isinstance(config, Mapping) else _from_file(config)
    check_plain(said)
    return _text_part(said, ignore)


def check_plain(said: Mapping[str, Any]) -> None:
    """Refuse a mapping with keys that are no text, or with depths or sizes without end."""
    waiting: list[tuple[Any, int]] = [(said, 0)]
    count = 0
    while waiting:
        part, depth = waiting.pop()
        inside = list(part.values()) if isinstance(part, Mapping) else part
        count += len(inside)
        if depth > DEEPEST or count > MOST:
            raise EncodingError(
                f"The config is nested more than {DEEPEST} deep or has more than {MOST:,} values; "
                "pass that of a model."
            )
        for key in part if isinstance(part, Mapping) else ():
            if not isinstance(key, str | int):  # transformers numbers its labels
                raise EncodingError(f"The config has the key {key!r}; pass keys that are text.")
            if LAYERED.search(str(key)) and isinstance(part[key], int) and part[key] > MOST_LAYERS:
                raise EncodingError(
                    f"The config's {key} is {part[key]}; pass at most {MOST_LAYERS:,} layers."
                )
        waiting += [
            (each, depth + 1) for each in inside if isinstance(each, Mapping | list | tuple)
        ]


def _text_part(said: Mapping[str, Any], ignore: Iterable[str]) -> Source:
    for name in TEXT_PARTS:
        part = said.get(name)
        if isinstance(part, Mapping) and not _reads_text(said):
            _check_above(said, part, name)
            return _text_part({"model_type": said.get("model_type"), **part}, ignore)
    if not isinstance(ignore, Iterable):
        raise EncodingError(f"ignore is {ignore!r}; pass the names of keys, such as ('my_key',).")
    names = (ignore,) if isinstance(ignore, str) else ignore
    return Source(said=said, ignored=frozenset(names))


def _reads_text(said: Mapping[str, Any]) -> bool:
    """Whether a config has sizes of its own: those of larger models leave heads to their parts."""
    return any(key in said for key in HIDDEN) and any(key in said for key in HEADS)


def _check_above(said: Mapping[str, Any], part: Mapping[str, Any], name: str) -> None:
    """Refuse what stands above the part that reads text, and would be dropped in silence."""
    inside = [part[key] for key in PARAMETERS if isinstance(part.get(key), Mapping)]
    for key in ABOVE:
        names = PARAMETERS if key in PARAMETERS else (key,)
        answered = any(part.get(name) is not None for name in names)
        answered = answered or any(_holds(key, held) for held in inside)
        if said.get(key) is not None and not answered:
            raise EncodingError(
                f"The config says {key} = {said[key]!r} beside {name}, where nothing reads it; put "
                f"it into {name}, or take it out."
            )


def _holds(key: str, parameters: Mapping[str, Any]) -> bool:
    """Whether rotary parameters, flat or by type of layer, say a key."""
    held = [parameters, *(each for each in parameters.values() if isinstance(each, Mapping))]
    return any(each.get(key) is not None for each in held)


def _from_file(path: Any) -> Mapping[str, Any]:
    if not isinstance(path, (str, os.PathLike)):
        raise EncodingError(
            f"A config is a mapping or the path of a config.json, not {type(path).__name__}; of a "
            "config object pass its to_dict()."
        )
    file = Path(path)
    file = file / "config.json" if file.is_dir() else file
    try:
        said = read_json(file)
    except OSError as error:
        raise EncodingError(
            f"The config {file} cannot be read ({error.strerror}); check its path."
        ) from error
    except ValueError as error:
        raise EncodingError(f"{file} holds no JSON ({error}); pass a config.json.") from error
    if not isinstance(said, Mapping):
        raise EncodingError(f"{file} holds a JSON {type(said).__name__}; pass a config.json.")
    return said


SHARED = ("rope_type", "type", "rope_theta", "partial_rotary_factor")
SECTIONED = ("mrope_section", "mrope_interleaved", "interleaved")
TRAINED = ("original_max_position_embeddings", "max_position_embeddings")
TYPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "default": ("llama_4_scaling_beta", *SECTIONED),
        "linear": ("factor", *SECTIONED),
        "dynamic": ("factor", *TRAINED, *SECTIONED),
        "yarn": (
            "llama_4_scaling_beta",
            "factor",
            *TRAINED,
            "attention_factor",
            "beta_fast",
            "beta_slow",
            "mscale",
            "mscale_all_dim",
            "truncate",
            *SECTIONED,
        ),
        "longrope": ("short_factor", "long_factor", "factor", "attention_factor", *TRAINED),
        "llama3": ("factor", "low_freq_factor", "high_freq_factor", *TRAINED, *SECTIONED),
        "proportional": ("factor",),
    }
)
"""By rope type, the keys it reads beside the shared ones."""
ALIASES: Mapping[str, str] = MappingProxyType({"mrope": "default", "su": "longrope"})
TOP = (
    "compress_rope_theta",
    "global_rope_theta",
    "layer_rope_theta",
    "local_rope_theta",
    "no_rope_layer_interval",
    "no_rope_layers",
    "partial_rotary_factor",
    "qk_rope_head_dim",
    "rope_interleave",
    "rope_local_base_freq",
    "rope_parameters",
    "rope_scaling",
    "rope_scaling_layers",
    "rope_theta",
    "rotary_dim",
    "rotary_emb_base",
    "rotary_pct",
)
"""What is read beside the parameters, at the top of a config."""
_LIKE_ROTARY = re.compile(r"rope(?!rt)|rotary|theta|yarn|dual_chunk|llama_4_scal|(?<![a-z])ntk")
"""Top keys that speak of rotary encoding; `rope(?!rt)` spares words such as `property`."""
_SAID_IN_VAIN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"bamba": ("attn_rotary_emb",), "gptj": ("rotary",), "stablelm": ("rope_pct",)}
)
"""By model type, top keys of published configs that the code of the model does not read."""
ACTING = frozenset(
    {"alpha", "apply_yarn_scaling", "long_mscale", "short_mscale", "xdrope_section", *SHARED}
    | {key for keys in TYPES.values() for key in keys}
)
"""Keys that change numbers somewhere, so that no caller may pass them over."""


def rope_type(parameters: Mapping[str, Any]) -> str:
    """Return the rope type of flat parameters by its present name."""
    names = [parameters[key] for key in ("rope_type", "type") if parameters.get(key) is not None]
    known = [ALIASES.get(str(name), str(name)) for name in names] or ["default"]
    if known[0] != known[-1]:
        raise EncodingError(
            f"The config says rope_type = {names[0]!r} and type = {names[-1]!r}; keep the right "
            "one."
        )
    if known[0] == "axial":
        raise EncodingError(
            "The config's rope_type is 'axial', by which models turn the patches of pictures in "
            'ways of their own; use gnomon.encoding("rope", axes=2, ...) or "rope-patches".'
        )
    if known[0] not in TYPES:
        every = {*TYPES, *ALIASES}
        raise EncodingError(f"The config's rope_type is {names[0]!r}: {nearest(known[0], every)}.")
    # Early Phi-3 configs call their lists of factors yarn.
    return "longrope" if known[0] == "yarn" and "short_factor" in parameters else known[0]


def check_ignored(ignored: frozenset[str]) -> None:
    """Refuse to pass over a key that changes numbers."""
    for key in sorted(ignored & (ACTING | set(TOP))):
        raise EncodingError(
            f"ignore names {key!r}, which changes the numbers of an encoding; take it out of the "
            "config if the code of the model does not read it."
        )


def check_parameters(kind: str, parameters: Mapping[str, Any], ignored: frozenset[str]) -> None:
    """Refuse a key that this rope type would not read."""
    known = (*SHARED, *TYPES[kind])
    for key in parameters:
        if key not in known and key not in ignored:
            untold = not any(parameters.get(name) for name in ("rope_type", "type"))
            hint = ", and the config names no rope_type" if untold else ""
            raise EncodingError(
                f"The rope type {kind!r} does not read {key!r}{hint}: {nearest(str(key), known)}. "
                "If the code of the model does not read it either, take it out of the config."
            )


def check_top(source: Source) -> None:
    """Refuse a top key that speaks of rotary encoding and that nothing reads."""
    for key, value in source.said.items():
        spoken = value is not None and _LIKE_ROTARY.search(str(key))
        known = (*TOP, *_SAID_IN_VAIN.get(source.model_type, ()))
        if spoken and key not in known and key not in source.ignored:
            raise EncodingError(
                f"The config's key {key!r} is read by nothing here: {nearest(str(key), TOP)}. If "
                "the code of the model does not read it either, take it out of the config."
            )


def check_read(source: Source, parameters: Mapping[str, Any]) -> None:
    """Refuse keys that the code of other model types reads, and that of this one does not."""
    kind = source.model_type
    if kind not in HALF | INTERLEAVED:
        return
    for key, readers in READ_BY.items():
        said = source.said.get(key, parameters.get(key))
        if said is not None and kind not in readers and key not in source.ignored:
            raise EncodingError(
                f"The config's key {key!r} is not read by the code of model type {kind!r}; take it "
                "out, or leave out model_type and pass layout=... where another code reads it."
            )


def check_nested(given: Mapping[str, Any], source: Source) -> tuple[str, ...]:
    """Return the types of layers that parameters are nested by; refuse keys beside them."""
    known = {*SHARED, *(key for keys in TYPES.values() for key in keys)}
    types = [
        key
        for key, value in given.items()
        if isinstance(value, Mapping) or (value is None and key not in known)
    ]
    beside = [key for key in given if key not in types and key not in source.ignored]
    if types and beside:
        raise EncodingError(
            f"The config's rope_parameters hold {beside[0]!r} beside the layer types "
            f"{', '.join(types)}, where nothing reads it; put it into each of them."
        )
    return tuple(types)


INTERLEAVED: frozenset[str] = frozenset(
    """
    axk2 bailing_hybrid blt blt_global_transformer blt_local_decoder blt_local_encoder
    blt_patcher codegen cohere cohere2 cohere2_moe deepseek_v2 deepseek_v32 deepseek_v4 ernie4_5
    ernie4_5_moe ernie4_5_vl_moe glm glm4 glm4v glm_moe_dsa glm_ocr gptj helium kimi_k2 llama4
    longcat_flash mistral_large4 moonshine moonshine_streaming openai_privacy_filter
    """.split()  # noqa: SIM905 -- a list of one name a line is four screens long
)
"""Model types whose pairs are (2k, 2k+1), where the config has no key for it."""

HALF: frozenset[str] = frozenset(
    """
    EvollaModel afmoe apertus arcee aria bamba beam bitnet chameleon cosmos3_edge csm
    csm_depth_decoder_model cwm dbrx deepseek_ocr2 deepseek_ocr2_encoder dia_decoder dia_encoder
    diffllama diffusion_gemma doge dots1 embedding_gemma2 emu3_text_model esm esmc eurobert
    evolla exaone4 exaone_moe falcon falcon_h1 flex_olmo flint gemma gemma2 gemma3 gemma3n
    gemma4 gemma4_unified glm4_moe glm4v_moe glm_image glmasr_encoder gpt_neox gpt_neox_japanese
    gpt_oss gradium_phonon_tts granite granite4_vision granite_swa granitemoe granitemoe_swa
    granitemoehybrid granitemoeshared gte higgs_audio_v2 hrm hunyuan_v1_dense hunyuan_v1_moe
    hy_v3 hy_v4 hyperclovax idefics jais2 jetmoe jina_embeddings_v3 kolibri1
    kyutai_speech_to_text laguna lasr_encoder lfm2 lfm2_moe llama mellum mimi mimi_decoder
    mimi_encoder mimo_v2_flash minicpm3 minimax minimax_m2 minimax_m3_vl ministral ministral3
    mistral mistral4 mixtral mllama_text_model modernbert modernbert-decoder molmo2 moshi
    muse_glimmer muse_glimmer_assistant muse_spark nemotron nemotron3_5_transcribe_asr_audio
    nemotron3_5_transcribe_word_timestamp nemotron3_diarization_audio neomme neucodec nomic_bert
    olmo olmo2 olmo3 olmo_hybrid olmoe paddleocr_vl persimmon phi phi3 phi4_multimodal phimoe
    pocket_tts pocket_tts_audio_tokenizer pocket_tts_audio_tokenizer_decoder
    pocket_tts_audio_tokenizer_encoder qwen2 qwen2_5_omni qwen2_5_omni_talker qwen2_5_vl
    qwen2_moe qwen2_vl qwen3 qwen3_5 qwen3_5_moe qwen3_moe qwen3_next qwen3_omni_moe
    qwen3_omni_moe_talker qwen3_omni_moe_talker_code_predictor qwen3_vl qwen3_vl_moe qwen4_exp
    recurrent_gemma seed_oss smollm3 solar_open stablelm starcoder2 step3p5 t5_gemma_module
    t5gemma2 t5gemma2_decoder timesfm2_5 ultrabert unlimited_ocr vaultgemma voxtral_realtime
    voxtral_realtime_encoder xcodec2 zaya
    """.split()  # noqa: SIM905 -- a list of one name a line is four screens long
)
"""Model types whose pairs are (k, k + r/2)."""

WINDOW_IN_ALL: frozenset[str] = frozenset(
    {
        "deepseek_v4",
        "kyutai_speech_to_text",
        "mimi",
        "mimi_decoder",
        "mimi_encoder",
        "ministral",
        "mistral",
        "mixtral",
        "moshi",
        "openai_privacy_filter",
        "phi3",
        "phimoe",
        "recurrent_gemma",
        "starcoder2",
        "voxtral_realtime",
        "voxtral_realtime_encoder",
    }
)
"""Model types that have a sliding window, where they have one, in every layer with attention."""

RADIUS: frozenset[str] = frozenset(
    {"embedding_gemma2", "modernbert", "neomme", "openai_privacy_filter", "ultrabert"}
)
"""Model types whose window is the largest lag that is seen; in others lags below it are."""

WINDOW_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "modernbert": "local_attention",
        "modernbert-decoder": "local_attention",
        "recurrent_gemma": "attention_window_size",
    }
)
"""What model types call their window; ModernBERT counts the keys of both sides together."""

TRAILING: frozenset[str] = frozenset({"deepseek_v4"})
"""Model types that turn the last coordinates of a head, not the first."""

DEAF_TO_COUNT: frozenset[str] = frozenset({"minimax", "minimax_m3_vl"})
"""Model types whose configs have a `rotary_dim` that their code does not read."""

PARTIAL: frozenset[str] = frozenset(
    """
    bamba codegen deepseek_v4 diffusion_gemma glm glm4 glm4_moe glm4v glm4v_moe glm_image
    glm_ocr glmasr_encoder gpt_neox gpt_neox_japanese gptj laguna mellum mimo_v2_flash
    minimax_m2 moonshine moonshine_streaming nemotron nemotron3_5_transcribe_asr_audio
    nemotron3_5_transcribe_word_timestamp nemotron3_diarization_audio neomme persimmon phi phi3
    phi4_multimodal qwen3_5 qwen3_5_moe qwen3_next qwen4_exp recurrent_gemma solar_open stablelm
    step3p5 zaya
    """.split()  # noqa: SIM905 -- a list of one name a line is a screen long
)
"""Model types whose code rotates a part of each head, where their configs say how large it is.

Others rotate whole heads whatever `partial_rotary_factor` says, or fail on it.
"""

SECTIONS: Mapping[str, tuple[str, tuple[int, ...]]] = MappingProxyType(
    {
        "cosmos3_edge": ("interleaved", (24, 20, 20)),
        "ernie4_5_vl_moe": ("spatial-first", (22, 22, 20)),
        "glm4v": ("chunked", (8, 12, 12)),
        "glm4v_moe": ("chunked", (8, 12, 12)),
        "glm_ocr": ("chunked", (8, 12, 12)),
        "paddleocr_vl": ("chunked", (16, 24, 24)),
        "qwen2_5_omni": ("chunked", (16, 24, 24)),
        "qwen2_5_vl": ("chunked", (16, 24, 24)),
        "qwen2_vl": ("chunked", (16, 24, 24)),
        "qwen3_5": ("interleaved", (11, 11, 10)),
        "qwen3_5_moe": ("interleaved", (11, 11, 10)),
        "qwen3_omni_moe": ("interleaved", (24, 20, 20)),
        "qwen3_vl": ("interleaved", (24, 20, 20)),
        "qwen3_vl_moe": ("interleaved", (24, 20, 20)),
    }
)
"""How model types with several position axes deal their pairs, and the sections they default to."""


def _each(table: Mapping[Any, str]) -> Mapping[str, Any]:
    """Return by model type what a table lists by value."""
    return MappingProxyType(
        {kind: value for value, names in table.items() for kind in names.split()}
    )


HEAD_DIMENSIONS: Mapping[str, int] = _each(
    {
        32: "axk2 minicpm3",
        80: "timesfm2_5",
        128: """
        afmoe beam cohere2_moe cosmos3_edge cwm dia_decoder dia_encoder ernie4_5 flint glm glm4
        helium higgs_audio_v2 hrm hy_v3 jetmoe kolibri1 laguna llama4 mellum minimax_m2
        minimax_m3_vl ministral3 mistral4 molmo2 muse_glimmer muse_glimmer_assistant paddleocr_vl
        qwen2_5_omni_talker qwen3 qwen3_omni_moe_talker_code_predictor qwen3_vl seed_oss solar_open
        step3p5 zaya
        """,
        192: "mimo_v2_flash",
        256: """
        diffusion_gemma embedding_gemma2 gemma gemma2 gemma3 gemma3n gemma4 gemma4_unified qwen3_5
        qwen3_5_moe qwen3_next qwen4_exp t5_gemma_module t5gemma2 t5gemma2_decoder vaultgemma
        """,
        512: "deepseek_v4",
    }
)
"""Dimensions of heads of model types that do not divide their width, where a config says none."""

WINDOWS: Mapping[str, int] = _each(
    {
        64: "modernbert-decoder",
        128: """
        deepseek_v4 gpt_oss granite_swa granitemoe_swa openai_privacy_filter ultrabert
        unlimited_ocr
        """,
        129: "mimo_v2_flash",
        250: """
        mimi mimi_decoder mimi_encoder pocket_tts_audio_tokenizer
        pocket_tts_audio_tokenizer_decoder pocket_tts_audio_tokenizer_encoder
        """,
        256: "neomme",
        512: "beam diffusion_gemma embedding_gemma2 gemma3n gemma4 laguna",
        513: "flint kolibri1",
        750: "voxtral_realtime_encoder",
        1024: "afmoe gemma4_unified mellum",
        2048: "muse_glimmer muse_glimmer_assistant muse_spark",
        3000: "moshi",
        4096: """
        cohere2 cohere2_moe dots1 exaone4 exaone_moe gemma2 gemma3 ministral mistral olmo3
        t5_gemma_module t5gemma2 t5gemma2_decoder vaultgemma
        """,
        8192: "cwm voxtral_realtime",
    }
)
"""Windows of model types whose configs have no key for it; a null means that there is none."""

CHUNKS: Mapping[str, int] = MappingProxyType({"llama4": 8192})
"""Chunks of model types whose configs have no key for it; a null means that there are none."""

HALVED: frozenset[str] = frozenset({"diffusion_gemma", "gemma3", "gemma4", "gemma4_unified"})
"""Model types that count their window on both sides where `use_bidirectional_attention` is on."""

OWN_UNSAID: frozenset[str] = frozenset(
    """
    apertus cwm gpt_oss higgs_audio_v2 laguna mimo_v2_flash ministral3 mistral4 mistral_large4
    moonshine_streaming nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp
    neomme openai_privacy_filter
    """.split()  # noqa: SIM905 -- as above
)
"""Model types whose code has a scaling or a part of its own where a config has no parameters."""

BY_TYPE: frozenset[str] = frozenset(
    {"gemma3", "gemma3n", "modernbert", "modernbert-decoder", "olmo3", "t5gemma2"}
)
"""Model types that read `rope_parameters` by type of layer only: flat ones change nothing there."""

READ_BY: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        key: frozenset(names.split())
        for key, names in {
            "attention_chunk_size": "llama4",
            "compress_rope_theta": "deepseek_v4",
            "global_rope_theta": "modernbert modernbert-decoder",
            "layer_rope_theta": "granite_swa granitemoe_swa muse_glimmer muse_spark",
            "llama_4_scaling_beta": "ministral3 mistral4",
            "local_rope_theta": "modernbert modernbert-decoder",
            "no_rope_layer_interval": "llama4 mistral_large4 smollm3",
            "no_rope_layers": "llama4 mistral_large4 smollm3",
            "qk_rope_head_dim": """
            axk2 bailing_hybrid deepseek_v2 deepseek_v32 deepseek_v4 glm_moe_dsa hy_v4 kimi_k2
            longcat_flash minicpm3 mistral4 mistral_large4
            """,
            "rope_local_base_freq": "gemma3 gemma3n t5gemma2 t5gemma2_decoder",
            "rope_scaling_layers": "molmo2",
            "rotary_emb_base": "gpt_neox gpt_neox_japanese",
            "rotary_pct": "gpt_neox gpt_neox_japanese",
        }.items()
    }
)
"""Keys that the code of these model types alone reads."""

STILL_TYPES: frozenset[str] = frozenset({"nemotron_h", "jamba", "mamba", "mamba2", "rwkv", "xlstm"})
"""Model types without any encoding of positions, whose configs may name a base all the same."""

LOGIT_SCALES: Mapping[str, tuple[str, float]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("gemma2", "gemma3", "t5_gemma_module", "t5gemma2", "t5gemma2_decoder", "vaultgemma"),
            ("query_pre_attn_scalar", 256.0),
        ),
        **dict.fromkeys(
            (
                "granite",
                "granite4_vision",
                "granite_swa",
                "granitemoe",
                "granitemoe_swa",
                "granitemoehybrid",
                "granitemoeshared",
            ),
            ("attention_multiplier", 1.0),
        ),
        **dict.fromkeys(
            ("diffusion_gemma", "embedding_gemma2", "gemma3n", "gemma4", "gemma4_unified"),
            ("", 1.0),
        ),
    }
)
"""Keys by which model types multiply logits, and their usual values; those without one are fixed.

`query_pre_attn_scalar` is x where logits are multiplied by 1 / sqrt(x).
"""

DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "axk1": {
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rope_interleave": True,
            "rope_theta": 10000.0,
        },
        "bamba": {"partial_rotary_factor": 0.5},
        "codegen": {"rope_theta": 10000.0, "rotary_dim": 64},
        "cohere": {"rope_theta": 500000.0},
        "cohere2": {"rope_theta": 10000.0},
        "deepseek_v2": {
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rope_theta": 10000.0,
        },
        "deepseek_v3": {
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rope_interleave": True,
            "rope_theta": 10000.0,
        },
        "deepseek_v32": {
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rope_theta": 10000.0,
        },
        "deepseek_v4": {
            "compress_rope_theta": 160000.0,
            "head_dim": 512,
            "partial_rotary_factor": 0.125,
            "rope_theta": 10000.0,
        },
        "ernie4_5": {"rope_theta": 500000.0},
        "esm": {"position_embedding_type": "absolute", "rope_theta": 10000.0},
        "falcon": {"rope_theta": 10000.0},
        "gemma": {"rope_theta": 10000.0, "head_dim": 256},
        "gemma2": {"rope_theta": 10000.0, "head_dim": 256},
        "gemma3": {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "head_dim": 256},
        "gemma3n": {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "head_dim": 256},
        "glm": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5, "head_dim": 128},
        "glm4": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5, "head_dim": 128},
        "glm4_moe": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "glm4_moe_lite": {
            "qk_nope_head_dim": 192,
            "qk_rope_head_dim": 64,
            "rope_interleave": True,
            "rope_theta": 10000.0,
        },
        "glm4v_moe": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "glmasr_encoder": {"partial_rotary_factor": 0.5},
        "gpt_neox": {"rotary_emb_base": 10000.0, "rotary_pct": 0.25},
        "gptj": {"rope_theta": 10000.0, "rotary_dim": 64},
        "granite": {"rope_theta": 10000.0},
        "helium": {"rope_theta": 100000.0, "head_dim": 128},
        "llama": {"rope_theta": 10000.0},
        "llama4": {
            "attn_scale": 0.1,
            "attn_temperature_tuning": True,
            "floor_scale": 8192,
            "head_dim": 128,
            "no_rope_layer_interval": 4,
            "rope_theta": 500000.0,
        },
        "mistral": {"rope_theta": 10000.0},
        "mistral4": {"qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "rope_interleave": True},
        "mixtral": {"rope_theta": 1000000.0},
        "modernbert": {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0},
        "modernbert-decoder": {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0},
        "moonshine": {"partial_rotary_factor": 0.9},
        "nemotron": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "olmo": {"rope_theta": 10000.0},
        "olmo2": {"rope_theta": 10000.0},
        "olmoe": {"rope_theta": 10000.0},
        "persimmon": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "phi": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "phi3": {"rope_theta": 10000.0},
        "qwen2": {"rope_theta": 10000.0},
        "qwen2_5_vl": {"rope_theta": 1000000.0},
        "qwen2_moe": {"rope_theta": 10000.0},
        "qwen2_vl": {"rope_theta": 1000000.0},
        "qwen3": {"rope_theta": 10000.0, "head_dim": 128},
        "qwen3_5": {"partial_rotary_factor": 0.25},
        "qwen3_5_moe": {"partial_rotary_factor": 0.25},
        "qwen3_moe": {"rope_theta": 10000.0},
        "qwen3_next": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25, "head_dim": 256},
        "qwen3_vl": {"rope_theta": 500000.0, "head_dim": 128},
        "recurrent_gemma": {"partial_rotary_factor": 0.5},
        "smollm3": {"rope_theta": 2000000.0, "no_rope_layer_interval": 4},
        "stablelm": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25},
        "starcoder2": {"rope_theta": 10000.0},
        "youtu": {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_interleave": True},
    }
)
"""By model type, the keys that its configs may leave out, with the values they then have."""

EVERY: Mapping[str, tuple[str, int, int]] = MappingProxyType(
    {
        "afmoe": ("global_attn_every_n_layers", 4, 1),
        "cohere2": ("sliding_window_pattern", 4, 1),
        "cwm": ("", 4, 0),
        "exaone4": ("sliding_window_pattern", 4, 1),
        "exaone_moe": ("sliding_window_pattern", 4, 1),
        "gemma2": ("", 2, 1),
        "gemma3": ("sliding_window_pattern", 6, 1),
        "gemma3n": ("", 5, 1),
        "gpt_oss": ("", 2, 1),
        "granite_swa": ("", 4, 0),
        "granitemoe_swa": ("", 4, 0),
        "kolibri1": ("", 5, 1),
        "modernbert": ("global_attn_every_n_layers", 3, 0),
        "modernbert-decoder": ("global_attn_every_n_layers", 3, 0),
        "olmo3": ("", 4, 1),
        "t5_gemma_module": ("", 2, 1),
        "t5gemma2": ("sliding_window_pattern", 6, 1),
        "t5gemma2_decoder": ("sliding_window_pattern", 6, 1),
        "ultrabert": ("", 3, 1),
        "vaultgemma": ("", 2, 1),
    }
)
"""Which layers have full attention, where a config lists no types: (key, usual every, first).

Layer number n has it where n + first is a multiple of what the key says; others have a window.
"""

STILL_IN_FULL: Mapping[str, bool] = MappingProxyType(
    {
        "afmoe": False,
        "cohere2": False,
        "cohere2_moe": False,
        "exaone4": True,
        "exaone_moe": True,
        "flint": False,
        "kolibri1": True,
    }
)
"""Model types whose layers with full attention have no encoding, only those with a window do.

True where a model without any window (`sliding_window` is null) encodes all of its layers.
"""

STILL: Mapping[str, str] = MappingProxyType({"kimi_linear": "mla_use_nope"})
"""Model types whose attention has no encoding at all, unless this key says false."""

WITHOUT_ATTENTION: frozenset[str] = frozenset(
    {"conv", "linear_attention", "mamba", "mamba2", "recurrent", "short_conv"}
)
"""Types of layers that have no attention, and so no encoding."""

HYBRID: frozenset[str] = frozenset(
    {"bamba", "granitemoehybrid", "lfm2", "lfm2_moe", "minimax", "olmo_hybrid", "recurrent_gemma"}
)
"""Model types with layers without attention, which their configs list in `layer_types`."""

ON_REQUEST: frozenset[str] = frozenset({"granitemoehybrid"})
"""Model types that rotate only where `position_embedding_type` is 'rope'."""

SCALED_IN_FULL: frozenset[str] = frozenset({"olmo3"})
"""Model types in which a scaling that is written flat belongs to layers with full attention."""

COMPRESSED: frozenset[str] = frozenset({"deepseek_v4"})
"""Model types with a base of its own for layers that read compressed keys."""

ROTATED_VALUES: frozenset[str] = frozenset({"deepseek_v4"})
"""Model types that rotate values with the keys, and rotate the output of attention back."""

UNLIKE: Mapping[str, str] = MappingProxyType(
    {
        "dinov3_vit": "turns the patches of a picture, which a config alone does not place; use "
        'gnomon.encoding("rope-patches", ...)',
        "eomt_dinov3": "turns the patches of a picture, which a config alone does not place; use "
        'gnomon.encoding("rope-patches", ...)',
        "nanochat": "rotates by minus the position (its rotate_half has the other sign), which no "
        "encoding of the catalogue does; rotate with positions of the other sign by hand",
        "pixtral": "rotates the patches of a picture along two axes, which a config alone does not "
        'place; use gnomon.encoding("rope", axes=2, ...)',
        "hunyuan_vl": "deals its pairs to four axes by a rule of its own, which is not in the "
        "catalogue; build the nearest encoding by hand",
    }
)
"""Model types whose rotary encoding is no member of a family here, and why."""


def plain_type(model_type: str) -> str:
    """Return a model type without the ending of the text part of a larger model.

    >>> plain_type("gemma3_text")
    'gemma3'
    """
    return model_type.removesuffix("_text")
