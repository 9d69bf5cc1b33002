"""`gnomon fit --family group`: what is planted is found, written, and shown; nothing is nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon
from gnomon.encodings.files import origin_of

PERIOD = 5


def planted(folder: Path, name: str = "planted.txt") -> Path:
    """A law for each place of a period, begun anywhere: 80 documents of 150 letters."""
    rng = np.random.default_rng(1)
    laws = rng.dirichlet(np.full(8, 0.4), size=PERIOD)
    lines = []
    for _ in range(80):
        places = (rng.integers(PERIOD) + np.arange(150)) % PERIOD
        lines.append("".join(rng.choice(list("abcdefgh"), p=laws[place]) for place in places))
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted(tmp_path_factory.mktemp("text"))


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "noise.txt"
    path.write_text("\n".join("".join(rng.choice(list("abcdef"), 90)) for _ in range(60)) + "\n")
    return path


@pytest.fixture
def fit(call: Any, tmp_path: Path) -> Any:
    """Fit a group to characters; return what was said, and the file."""

    def fitting(source: object, *options: object, family: str = "group") -> Any:
        file = tmp_path / "e.safetensors"
        asked = ("--family", family, "--tokenizer", "characters", "--lags", 40, "--out", file)
        return call("fit", source, *asked, *options), file

    return fitting


def refusal(called: Any) -> str:
    assert (called.code, called.out) == (2, ""), called
    assert called.err.startswith("gnomon: ")
    assert called.err.count("\n") == 1
    return str(called.err).removeprefix("gnomon: ").rstrip("\n")


def test_a_planted_period_is_said_and_written(fit, text: Path) -> None:
    called, file = fit(text, "--dimension", 16)
    assert (called.code, called.err) == (0, "")
    assert called.out.rstrip().endswith(f"written to {file}")
    assert "a period of " in called.out
    assert "fit: chi^2 is " in called.out
    assert "the layer's kernel explains " in called.out
    made: Any = gnomon.encoding(file)
    assert (made.name, made.dimension) == ("jordan", 16)
    periods = 2 * np.pi / made.frequencies[made.frequencies > 0]
    assert np.abs(periods[:, None] * np.arange(1, PERIOD) - PERIOD).min() < 0.02


def test_the_json_is_what_the_library_finds(fit, text: Path) -> None:
    called, file = fit(text, "--json", "-")
    value = json.loads(called.out)
    wanted = gnomon.dependence(str(text), tokenizer="characters", lags=40).to_dict()
    assert value["found"] == wanted["found"]
    assert value["kernel"] == wanted["kernel"]
    assert value["file"] == str(file)
    assert 0.5 < value["layer"]["explained"] <= 1.0
    assert value["found"]["fit"]["chi2_per_dof"] < 3.0
    made: Any = gnomon.encoding(file)
    wanted = {"name": "jordan", "dimension": 64, "heads": None}
    assert value["encoding"] == wanted | {
        "frequencies": pytest.approx(made.frequencies[:, 0]),
        "decays": pytest.approx(-made.rates),
    }


def test_a_period_that_documents_begin_with_is_written_and_said_to_be_of_positions(
    fit, tmp_path: Path
) -> None:
    rng = np.random.default_rng(2)
    lines = [
        "".join("ATG"[k % 3] if rng.random() < 0.3 else "ACGT"[rng.integers(4)] for k in range(150))
        for _ in range(60)
    ]
    source = tmp_path / "frames.txt"
    source.write_text("\n".join(lines) + "\n")
    called, file = fit(source, "--dimension", 4, "--report", tmp_path / "page.html")
    assert called.code == 0, called
    assert "positions have a period of 3" in called.out
    assert (
        "all that the file has comes from how tokens are distributed over positions" in called.out
    )
    assert "half-lives in the file are 640 tokens at most, 16 times the lags" in called.out
    made: Any = gnomon.encoding(file)
    np.testing.assert_allclose(2 * np.pi / made.frequencies, 3.0, atol=0.01)
    np.testing.assert_allclose(np.log(2.0) / -made.rates, 640.0)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h2>1 period by position alone</h2>" in page
    assert origin_of(file)["positions"]["modes"]


def test_the_file_says_where_it_came_from(fit, text: Path) -> None:
    _, file = fit(text, "-q")
    origin = origin_of(file)
    assert (Path(origin["source"]).name, origin["documents"]) == ("planted.txt", 80)
    assert origin["found"]["modes"]


def test_heads_have_their_own_share(fit, text: Path) -> None:
    _, file = fit(text, "--heads", 2, "--dimension", 8, "-q")
    made: Any = gnomon.encoding(file)
    assert (made.heads, made.frequencies.shape) == (2, (2, 4, 1))


def test_slopes_have_the_half_lives_of_a_corpus(fit, tmp_path: Path) -> None:
    """A letter is kept with probability 0.9, so that dependence falls by 0.9 with each lag."""
    rng = np.random.default_rng(3)
    lines = []
    for _ in range(80):
        fresh = rng.random(150) > 0.9
        letters = rng.choice(list("abcdef"), 150)
        kept = np.maximum.accumulate(np.where(fresh, np.arange(150), 0))
        lines.append("".join(letters[kept]))
    source = tmp_path / "sticky.txt"
    source.write_text("\n".join(lines) + "\n")
    called, file = fit(source, "--heads", 4, family="alibi")
    assert called.code == 0, called
    made: Any = gnomon.encoding(file)
    assert (made.name, len(made.slopes)) == ("alibi", 4)
    said = called.out.partition("slopes for 4 heads: ")[2].splitlines()[0]
    assert [float(one) for one in said.split(", ")] == pytest.approx(made.slopes, rel=5e-3)
    assert min(made.slopes) <= -np.log(0.9) * 1.2
    assert max(made.slopes) >= -np.log(0.9) * 0.8


def test_an_uninformative_corpus_is_done_without_a_file(fit, noise: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    called, file = fit(noise, "--report", page)
    assert (called.code, called.err) == (0, "")
    assert "no file is written: nothing depends on the lag here" in called.out
    assert not file.exists()
    assert "nothing depends on the lag here" in page.read_text(encoding="utf-8")
    called, _ = fit(noise, "--json", "-")
    value = json.loads(called.out)
    assert (value["file"], value["encoding"], value["found"]["modes"]) == (None, None, [])
    assert value["reason"].startswith("nothing depends on the lag")


def test_an_older_file_is_left_alone_where_nothing_is_found(fit, text: Path, noise: Path) -> None:
    _, file = fit(text, "-q")
    before = file.read_bytes()
    fit(noise, "-q")
    assert file.read_bytes() == before


def test_the_page_is_written_beside(fit, text: Path, tmp_path: Path) -> None:
    called, _ = fit(text, "--report", tmp_path / "page.html")
    assert called.out.rstrip().endswith("page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Equal tokens by lag" in page
    assert "planted.txt" in page


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--rank", "effective"), "--rank does nothing with --family group; leave it out."),
        (("--no-rotation",), "--no-rotation does nothing with --family group; leave it out."),
        (("--window", "end"), "--window does nothing with --family group; leave it out."),
        (("--shuffles", 2), "--shuffles does nothing with --family group; leave it out."),
        (("--lags", 0), "lags is 0; pass a whole number from 1 on."),
        (("--dimension", 7), "dimension is 7; pass a multiple of 2, a mode takes two."),
        (("--report", "page.txt"), "--report page.txt is no HTML file; give it a name that"),
        (("--seed", -1), "--seed is -1; it must be 0 or more."),
        (("--engine", "ray"), "--engine 'ray' is unknown"),
    ],
)
def test_a_bad_option_of_a_group_gets_one_sentence(fit, text: Path, options, found: str) -> None:
    called, file = fit(text, *options)
    assert found in refusal(called)
    assert not file.exists()


@pytest.mark.parametrize("option", [("--lags", 9), ("--heads", 2), ("--report", "page.html")])
def test_options_of_a_group_are_refused_for_a_table(call, text, tmp_path, option) -> None:
    called = call("fit", text, "--out", tmp_path / "e.safetensors", *option)
    assert refusal(called) == f"{option[0]} does nothing with --family mds; leave it out."


def test_slopes_have_no_dimension(fit, text: Path) -> None:
    called, _ = fit(text, "--dimension", 8, family="alibi")
    assert refusal(called) == "--dimension does nothing with --family alibi; leave it out."


def test_an_unknown_family_is_named(fit, text: Path) -> None:
    called, _ = fit(text, family="grup")
    assert "--family 'grup' is unknown: did you mean 'group'?" in refusal(called)


def test_counts_have_no_lags(fit, call, text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "survey"
    asked = ("--tokenizer", "characters", "--length", 8, "--shuffles", 0, "--dimension", 8, "-q")
    assert call("survey", text, *asked, "--out", folder).code == 0
    for source in (folder, folder / "counts.npz"):
        called, _ = fit(source)
        assert "holds counts, which have forgotten what follows what" in refusal(called)


def test_an_encoding_can_not_be_matched(call, fit, text: Path, tmp_path: Path) -> None:
    _, file = fit(text, "-q")
    called = call("fit", text, "--match", file, "--out", tmp_path / "other.safetensors")
    assert "holds the encoding 'jordan', which is no table; pass a token" in refusal(called)


def test_the_card_of_a_file_is_that_of_its_encoding(call, fit, text: Path) -> None:
    _, file = fit(text, "--dimension", 8, "-q")
    value = json.loads(call("card", file, "--json", "-").out)
    assert value["name"] == "jordan"
    assert value["made_with"]["dimension"] == 8
    assert "order" in value["parameters"]
    explained = origin_of(file)["layer"]["explained"]
    assert value["layer"]["explained"] == explained
    said = f"its kernel explains {explained:.0%} of how the measured one varies"
    assert said in " ".join(call("card", file).out.split())
    assert call("verify", file, "-q").code == 0
