"""The corpora that need no download, against their definitions."""

from __future__ import annotations

import ast
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from gnomon.corpus.reading.builtin import (
    BUILTIN,
    LIT,
    ModulesSource,
    digits,
    drawn_digits,
    python_stdlib,
    three_regimes,
    top_level_blocks,
)
from gnomon.corpus.reading.resolve import open_source
from gnomon.errors import CorpusError, InputError


def matrix_of(source):
    batches = list(source.batches())
    lengths = {int(length) for batch in batches for length in np.diff(batch.offsets)}
    return np.concatenate([batch.values for batch in batches]).reshape(-1, *lengths)


def test_three_regimes_has_the_shape_of_its_definition():
    source = open_source("three-regimes")
    tokens = matrix_of(source)
    assert tokens.shape == (2000, 32)
    assert source.vocabulary_size == 200
    assert source.kind == "ids"
    assert tokens.min() >= 0
    assert tokens.max() < 200


def test_the_law_of_three_regimes_changes_only_at_the_thirds():
    """Squared chords of empirical laws: sampling noise inside a regime, far more across borders."""
    tokens = matrix_of(three_regimes(rows=20_000))
    counts = np.stack([np.bincount(tokens[:, i], minlength=200) for i in range(32)])
    roots = np.sqrt(counts / counts.sum(1, keepdims=True))
    steps = ((roots[1:] - roots[:-1]) ** 2).sum(1)
    changes = np.flatnonzero(steps > 0.1)
    borders = [i for i in range(31) if int(3 * i / 32) != int(3 * (i + 1) / 32)]
    assert changes.tolist() == borders == [10, 21]
    assert np.delete(steps, changes).max() < 0.01


def test_three_regimes_depends_on_its_seed_and_on_nothing_else():
    again = [three_regimes(seed=seed).fingerprint() for seed in (0, 0, 1)]
    assert again[0] == again[1] != again[2]
    assert open_source("three-regimes", seed=1).fingerprint() == again[2]


def test_more_rows_of_three_regimes_begin_with_the_same_rows():
    few, many = matrix_of(three_regimes(rows=4096)), matrix_of(three_regimes(rows=9000))
    np.testing.assert_array_equal(few, many[:4096])


def test_a_sparse_dirichlet_law_has_its_expected_concentration():
    """E sum p^2 = (a + 1) / (a V + 1) for a symmetric Dirichlet; a = 5 keeps the spread small."""
    size, concentration = 400, 5.0
    tokens = matrix_of(three_regimes(60_000, 3, size, concentration))
    for position in range(3):
        law = np.bincount(tokens[:, position], minlength=size) / len(tokens)
        plug_in = (law**2).sum() - 1 / len(tokens)
        assert plug_in == pytest.approx((concentration + 1) / (concentration * size + 1), rel=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0}, "rows is 0; three_regimes needs at least 1"),
        ({"length": 0}, "length is 0"),
        ({"vocabulary": -1}, "vocabulary is -1"),
        ({"concentration": 0.0}, "concentration is 0.0; it must be positive"),
    ],
)
def test_impossible_regimes_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        three_regimes(**options)


def test_digits_are_those_of_scikit_learn():
    load = pytest.importorskip("sklearn.datasets").load_digits
    source = digits()
    assert source.name == "digits (scikit-learn)"
    assert (source.axes, source.vocabulary_size) == ((8, 8), 17)
    np.testing.assert_array_equal(matrix_of(source).reshape(-1, 8, 8), load().images)


def test_digits_are_drawn_where_scikit_learn_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    source = open_source("digits")
    images = matrix_of(source)
    assert source.name == "digits (drawn)"
    assert source.axes == (8, 8)
    assert images.shape == (1797, 64)
    assert set(np.unique(images)) == set(range(17))


def share_nearest_to_own_mean(images, labels):
    """Split in halves; how many of the second half are nearest to their digit's mean."""
    half = len(images) // 2
    train, test = images[:half].reshape(half, 64), images[half:].reshape(-1, 64)
    means = np.stack([train[labels[:half] == digit].mean(0) for digit in range(10)])
    found = ((test[:, None] - means) ** 2).sum(-1).argmin(1)
    return (found == labels[half:]).mean()


def test_drawn_digits_are_told_apart_about_as_well_as_real_ones(rng):
    real = pytest.importorskip("sklearn.datasets").load_digits()
    drawn = drawn_digits(1800, rng)
    expected = share_nearest_to_own_mean(real.images, real.target)
    assert share_nearest_to_own_mean(drawn, np.arange(1800) % 10) == pytest.approx(
        expected, abs=0.1
    )


def test_strokes_of_drawn_digits_are_the_usual_seven_segment_codes():
    """Bit i of the code 0bgfedcba says that stroke i (a to g) is lit."""
    usual = [0x3F, 0x06, 0x5B, 0x4F, 0x66, 0x6D, 0x7D, 0x07, 0x7F, 0x6F]
    assert [sum(1 << int(stroke) for stroke in lit) for lit in LIT] == usual


def test_blocks_are_top_level_functions_and_classes_with_their_decorators():
    source = (
        '"""def not_code(): pass"""\nimport os\n\n@a\n@b(\n    1)\nasync def f():\n'
        '    text = """\ndef inside():\n"""\n    return text\n\nclass C:\n    def m(self):\n'
        "        pass\nif True:\n    def hidden(): pass\nx = 1\n"
    )
    blocks = top_level_blocks(source)
    assert len(blocks) == 2
    assert blocks[0].startswith("@a\n@b(")
    assert blocks[0].endswith("return text")
    assert blocks[1] == "class C:\n    def m(self):\n        pass"
    assert top_level_blocks("def broken(:\n") == []


def test_blocks_agree_with_the_parsers_own_source_segments():
    source = Path(ast.__file__).read_text(encoding="utf-8")
    nodes = [
        node
        for node in ast.parse(source).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.decorator_list
    ]
    blocks = top_level_blocks(source)
    assert all(ast.get_source_segment(source, node) in blocks for node in nodes)


def test_the_standard_library_is_read_by_function_and_grouped_by_file():
    source = python_stdlib()
    batches = list(source.batches())
    texts = [text for batch in batches for text in batch.texts]
    groups = [group for batch in batches for group in batch.groups]
    assert len(texts) > 1000
    assert groups == sorted(groups, key=lambda name: Path(name).parts)
    assert not any(Path(name).parts[0] in {"test", "site-packages", "idlelib"} for name in groups)
    assert batches[-1].bytes_read == source.size
    folder = Path(sysconfig.get_paths()["stdlib"])
    assert texts[100] in (folder / groups[100]).read_text(encoding="utf-8")


def test_the_fingerprint_of_modules_follows_their_contents(tmp_path):
    (tmp_path / "a.py").write_text("def f(): pass\n")
    first = ModulesSource("x", tmp_path).fingerprint()
    assert ModulesSource("x", tmp_path).fingerprint() == first
    (tmp_path / "a.py").write_text("def g(): pass\n")
    assert ModulesSource("x", tmp_path).fingerprint() != first


def test_a_python_without_library_sources_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    with pytest.raises(CorpusError, match="has no source files in"):
        python_stdlib()


def test_every_built_in_corpus_opens_by_its_name_and_has_a_description():
    assert set(BUILTIN) == {"three-regimes", "python-stdlib", "digits"}
    for name, entry in BUILTIN.items():
        assert open_source(name).name.startswith(name)
        assert len(entry.description) > 20


def test_a_file_named_like_a_built_in_corpus_needs_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("digits").write_text("a file\n")
    assert open_source("digits").kind == "ids"
    assert open_source("./digits").kind == "text"
    assert open_source(Path("digits")).kind == "text"
