"""The experiment on scalings, on a tiny Llama made here: transformers is the truth for losses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnomon.cli.app import run
from gnomon.errors import InputError
from gnomon.reproduce.registry import reproduce
from gnomon.reproduce.scaling import LINES, SCALED, body, by_bin, geometric, windows

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

L0, LENGTH, HEAD, BASE, TYPES = 32, 64, 8, 100.0, 50
Captured = pytest.CaptureFixture[str]


def config(**rope: Any) -> Any:
    return transformers.LlamaConfig(
        vocab_size=TYPES,
        hidden_size=2 * HEAD,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=L0,
        bos_token_id=None,
        eos_token_id=None,
        rope_parameters={"rope_type": "default", "rope_theta": BASE} | rope,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of random weights, large enough that positions matter, with a tokenizer of words."""
    path = tmp_path_factory.mktemp("tiny") / "tiny-llama"
    torch.manual_seed(3)
    model = transformers.LlamaForCausalLM(config())
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0.0, 0.4) if weight.ndim > 1 else weight.fill_(1.0)
    model.save_pretrained(path)
    words = {f"w{k}": k for k in range(TYPES)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=made).save_pretrained(path)
    return path


def ids(seed: int, count: int = 3 * LENGTH) -> list[int]:
    return np.random.default_rng(seed).integers(0, TYPES, count).tolist()


@pytest.fixture(scope="module")
def texts(folder: Path) -> list[str]:
    paths = []
    for seed in (0, 1, 2):
        path = folder.parent / f"text{seed}.txt"
        path.write_text(" ".join(f"w{k}" for k in ids(seed)), encoding="utf-8")
        paths.append(str(path))
    return paths


@pytest.fixture(scope="module")
def found(folder: Path, texts: list[str]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNOMON_CACHE", str(folder.parent / "cache"))
        return reproduce("scaling", [str(folder), *texts], factor=2.0)


SPELLED: dict[str, dict[str, Any]] = {
    "unscaled": {},
    "linear": {"rope_type": "linear", "factor": 2.0},
    "ntk": {"rope_theta": BASE * 2.0 ** (HEAD / (HEAD - 2))},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": L0},
    "yarn": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": L0},
    "llama3": {
        "rope_type": "llama3",
        "factor": 2.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": L0,
    },
}


def by_transformers(folder: Path, tokens: list[int], **rope: Any) -> Any:
    """The loss of every token but the first, by a model that transformers scales itself."""
    model = transformers.LlamaForCausalLM(config(**rope)).eval()
    stock = transformers.LlamaForCausalLM.from_pretrained(folder)
    model.load_state_dict(stock.state_dict())
    given = torch.tensor([tokens])
    with torch.no_grad():
        logits = model(given, use_cache=False).logits[0, :-1]
    return torch.nn.functional.cross_entropy(logits, given[0, 1:], reduction="none").numpy()


def middle(seed: int) -> list[int]:
    return ids(seed)[LENGTH : 2 * LENGTH]


def losses_of(found: Any, document: str, line: str) -> list[float]:
    ((_, details),) = found.corpora.items()
    return details["documents"][document]["losses"][line]


@pytest.mark.parametrize("line", SPELLED)
def test_each_line_has_the_losses_that_transformers_computes_with_that_rope_type(
    line: str, found: Any, folder: Path
) -> None:
    wanted = by_transformers(folder, middle(1), **SPELLED[line])
    bins = [wanted[max(k - 1, 0) : k + 3].mean() for k in range(0, LENGTH, 4)]
    np.testing.assert_allclose(losses_of(found, "text1", line), bins, atol=2e-5)


def test_the_scalings_differ_from_each_other_beyond_the_trained_length(found: Any) -> None:
    last = {line: losses_of(found, "text0", line)[-1] for line in LINES if line != "cut"}
    assert len({round(value, 3) for value in last.values()}) == len(last)


def test_the_cut_line_is_the_model_in_windows_of_its_trained_length(
    found: Any, folder: Path
) -> None:
    """Tokens 32 to 47 are read in 16 to 47, tokens 48 to 63 in 32 to 63, by transformers."""
    tokens = middle(2)
    first = by_transformers(folder, tokens[:32])
    second = by_transformers(folder, tokens[16:48])[15:]
    third = by_transformers(folder, tokens[32:64])[15:]
    wanted = np.concatenate([first, second, third])
    bins = [wanted[max(k - 1, 0) : k + 3].mean() for k in range(0, LENGTH, 4)]
    np.testing.assert_allclose(losses_of(found, "text2", "cut"), bins, atol=2e-5)


@pytest.mark.parametrize(("trained", "length"), [(8, 16), (8, 19), (10, 31), (32, 33)])
def test_windows_of_the_cut_line_count_every_later_token_once_and_keep_to_the_length(
    trained: int, length: int
) -> None:
    counted = []
    for first, end, start in windows("cut", trained, length):
        assert first >= 0
        assert end - first == trained
        assert start - first >= trained // 2
        counted += range(start, end)
    assert counted == list(range(trained, length))


def test_ratios_and_intervals_of_the_rows_follow_from_the_losses(found: Any) -> None:
    """Student's interval over documents, by scipy's own t test."""
    from scipy.stats import ttest_1samp

    for line in SPELLED:
        for k, row in enumerate(found.rows):
            more = [
                losses_of(found, name, line)[k] - losses_of(found, name, "cut")[k]
                for name in ("text0", "text1", "text2")
            ]
            assert row.ours[line] == pytest.approx(np.exp(np.mean(more)), rel=1e-4)
            if np.std(more) > 1e-4:
                low, high = ttest_1samp(more, 0.0).confidence_interval(0.95)
                assert row.ours[f"{line} interval"] == pytest.approx(
                    (np.exp(low), np.exp(high)), rel=1e-3
                )


def test_within_its_trained_length_the_unscaled_line_is_the_cut_one(found: Any) -> None:
    inside = [row.ours["unscaled"] for row in found.rows[:8]]
    assert inside == [1.0] * 8


def test_a_second_run_computes_nothing_and_finds_the_same(
    folder: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = reproduce("scaling", [str(folder), *texts[:1]])
    monkeypatch.setattr("gnomon.reproduce.scaling.losses", None)
    again = reproduce("scaling", [str(folder), *texts[:1]])
    assert again.to_dict()["rows"] == first.to_dict()["rows"]
    with pytest.raises(TypeError):  # another factor is another run
        reproduce("scaling", [str(folder), *texts[:1]], factor=1.5)


def test_a_damaged_file_is_made_again(
    folder: Path, texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNOMON_CACHE", str(tmp_path))
    first = reproduce("scaling", [str(folder), texts[0]])
    kept = sorted((tmp_path / "losses").glob("*.npy"))
    assert len(kept) == len(LINES)
    for number, path in enumerate(kept):
        path.write_bytes((b"", b"nothing", path.read_bytes()[:-40])[number % 3])
    again = reproduce("scaling", [str(folder), texts[0]])
    assert again.to_dict()["rows"] == first.to_dict()["rows"]


def test_a_run_that_was_ended_goes_on_where_it_was(
    folder: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gnomon.reproduce import scaling as scaling_run

    computed = scaling_run.losses
    calls: list[int] = []

    def failing(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return computed(*given)

    monkeypatch.setattr(scaling_run, "losses", failing)
    with pytest.raises(KeyboardInterrupt):
        reproduce("scaling", [str(folder), *texts[:1]])
    begun = len(calls)
    reproduce("scaling", [str(folder), *texts[:1]])
    every = len(SPELLED) + 2  # windows: one for each line, and two for the cut one
    assert len(calls) - begun == every - 3  # kept: that of the unscaled line, those of the cut one


def test_the_model_is_left_as_it_was(folder: Path, texts: list[str]) -> None:
    from gnomon.reproduce.scaling import encoding_of, losses, reader

    read = reader(folder)
    before = read.model.model.rotary_emb.inv_freq.clone()
    tokens = np.array(middle(0))
    first = losses(read, encoding_of("unscaled", read.trained, 2.0, LENGTH), tokens)
    losses(read, encoding_of("yarn", read.trained, 2.0, LENGTH), tokens)
    assert torch.equal(read.model.model.rotary_emb.inv_freq, before)
    again = losses(read, encoding_of("unscaled", read.trained, 2.0, LENGTH), tokens)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, by_transformers(folder, middle(0)))


@pytest.mark.parametrize("count", [23, 24, 30])
def test_bins_are_means_over_their_own_tokens(count: int) -> None:
    values = np.random.default_rng(0).random((2, count - 1)).astype(np.float32)
    found = by_bin(values, 16)
    for k in range(found.shape[1]):
        tokens = [i for i in range(1, count) if i // 2 == k]
        np.testing.assert_allclose(found[:, k], values[:, [i - 1 for i in tokens]].mean(axis=1))
    assert found.shape[1] == -(-count // 2)


def test_one_document_has_no_interval(folder: Path, texts: list[str]) -> None:
    found = reproduce("scaling", [str(folder), texts[0]])
    assert geometric(np.array([0.5])) == (pytest.approx(np.exp(0.5)), None)
    for row in found.rows:
        assert row.ours["yarn interval"] is None
        assert row.reasons["yarn interval"].startswith("one document")


def test_it_draws_one_line_for_each_scaling(found: Any) -> None:
    drawn = found.plot()
    assert [trace.name for trace in drawn.data] == ["unscaled", *SCALED]
    for trace in drawn.data:
        wanted = [row.ours[trace.name] for row in found.rows]
        np.testing.assert_allclose(np.array(trace.y, dtype=float), wanted, rtol=1e-4)
        each = [
            np.subtract(losses_of(found, name, trace.name), losses_of(found, name, "cut"))
            for name in ("text0", "text1", "text2")
        ]
        high = np.array(trace.y, dtype=float) + np.array(trace.error_y.array, dtype=float)
        np.testing.assert_allclose(high, np.exp(each).max(axis=0), rtol=1e-3)
    assert drawn.layout.yaxis.type == "log"
    assert {shape.x0 for shape in drawn.layout.shapes} >= {L0}


def test_the_command_prints_the_claims_and_keeps_a_record(
    folder: Path, texts: list[str], tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "scaling.json"
    arguments = ["reproduce", "scaling", str(folder), *texts[:2], "--json", str(path)]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert out.startswith("scaling: perplexity by position")
    assert "beyond its trained length an unscaled model fails" in out
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["corpora"]["tiny-llama"]["model"]["trained_length"] == L0
    assert set(record["corpora"]["tiny-llama"]["documents"]) == {"text0", "text1"}


def test_a_text_loses_its_licence_and_keeps_its_lines() -> None:
    text = "A\r\n***START OF THE BOOK***\r\n\r\nOne\r\ntwo\r\n\r\n***END OF THE BOOK***\r\nB"
    assert body(text) == "One\ntwo"
    assert body("no licence\rat all") == "no licence\nat all"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Path:
    """A GPT-2 of two layers, whose positions are a table."""
    path = tmp_path_factory.mktemp("other") / "tiny-gpt2"
    made = transformers.GPT2Config(vocab_size=TYPES, n_embd=8, n_layer=1, n_head=2, n_positions=16)
    transformers.GPT2LMHeadModel(made).save_pretrained(path)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(path)
    return path


def test_what_can_not_be_run_is_said_in_one_sentence(
    folder: Path, other: Path, texts: list[str], tmp_path: Path
) -> None:
    short, latin, twin = (tmp_path / name for name in ("short.txt", "latin.txt", "twin.txt"))
    short.write_text("w1 w2 w3", encoding="utf-8")
    latin.write_bytes(b"caf\xe9 " * 300)
    twin.write_text(Path(texts[0]).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "empty").mkdir()
    model = str(folder)
    cases: list[tuple[list[str], dict[str, Any], str]] = [
        ([], {}, "scaling reads a model and texts, and was given 0 of them; pass a GGUF"),
        ([model], {}, "scaling reads a model and texts, and was given 1 of them"),
        (["nowhere.gguf", texts[0]], {}, "There is no model at nowhere.gguf; pass a GGUF"),
        ([str(tmp_path / "empty"), texts[0]], {}, "transformers cannot read .*empty"),
        ([str(other), texts[0]], {}, "holds a model with the encoding 'learned', and scalings"),
        ([model, "nowhere.txt"], {}, "There is no text at nowhere.txt; pass plain text"),
        ([model, str(short)], {}, "short.txt has 3 tokens and 64 are read; pass a longer"),
        ([model, str(latin)], {}, r"latin.txt is not UTF-8 \(byte 3\); convert it first"),
        ([model, texts[0], str(twin)], {}, "twin is the same text as text0; pass it once"),
        ([model, texts[0]], {"length": 32}, "--length is 32 and the model was trained on 32"),
        ([model, texts[0]], {"factor": 1.0}, "--factor is 1; scale by more than 1"),
        ([model, texts[0]], {"factor": float("nan")}, "--factor is nan; scale by more than 1"),
        ([model, texts[0]], {"dimension": 8}, "--dimension changes nothing in scaling, which"),
    ]
    for corpora, options, message in cases:
        with pytest.raises(InputError, match=message):
            reproduce("scaling", corpora, **options)
    with pytest.raises(InputError, match="--factor changes nothing in table3; leave it out"):
        reproduce("table3", factor=2.0)
