"""Tokenizers, checked against Python's own codecs, the library's own encoder and known counts."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.corpus.options import Limits
from gnomon.corpus.tokenizers import BUILT_IN, open_tokenizer
from gnomon.errors import CorpusError, TokenizerError

tokenizers = pytest.importorskip("tokenizers")

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=6)


def rows(encoded):
    values, offsets = encoded
    assert values.dtype == np.int32
    assert offsets.dtype == np.int64
    assert offsets[0] == 0
    assert offsets[-1] == len(values)
    return [part.tolist() for part in np.split(values, offsets[1:-1])] if len(offsets) > 1 else []


@given(TEXTS)
def test_a_character_is_its_code_point(texts):
    assert rows(open_tokenizer("characters").encode(texts)) == [[ord(c) for c in t] for t in texts]


@given(TEXTS)
def test_bytes_are_those_of_utf8(texts):
    expected = [list(t.encode("utf-8")) for t in texts]
    assert rows(open_tokenizer("bytes").encode(texts)) == expected


@pytest.mark.parametrize(
    ("name", "symbols", "read_as"),
    [
        ("dna", "ACGTN", {"U": "T", **dict.fromkeys("RYSWKMBDHV", "N")}),
        ("protein", "ACDEFGHIKLMNPQRSTVWYX*", dict.fromkeys("BZJUO", "X")),
    ],
)
def test_an_alphabet_is_read_letter_by_letter(name, symbols, read_as):
    tokenizer = open_tokenizer(name)
    letters = symbols + "".join(read_as)
    text = letters + " \t\r\n" + letters.lower()
    expected = [symbols.index(read_as.get(c, c)) for c in letters + letters]
    assert rows(tokenizer.encode([text, "", text[::-1]])) == [expected, [], expected[::-1]]
    assert tokenizer.vocabulary().tokens == tuple(symbols)


@given(st.lists(st.text("ACGTNacgtnuRy \n", max_size=12), max_size=6))
def test_white_space_in_dna_does_not_shift_documents(texts):
    packed = ["".join(t.split()) for t in texts]
    tokenizer = open_tokenizer("dna")
    assert rows(tokenizer.encode(texts)) == rows(tokenizer.encode(packed))


@pytest.mark.parametrize(("bad", "shown"), [("E", "'E'"), ("中", "'中'"), ("?", r"'\?'")])
def test_a_letter_outside_the_alphabet_is_named_with_its_place(bad, shown):
    texts = ["AC", f"G{bad}T"]
    message = f"document 12 holds {shown} as its character 2, .*'dna' .*--errors replace"
    with pytest.raises(CorpusError, match=message):
        open_tokenizer("dna").encode(texts, first=10)
    assert rows(open_tokenizer("dna", errors="replace").encode(texts)) == [[0, 1], [2, 4, 3]]


def words_by_hand(text: str) -> list[str]:
    """The definition, one character at a time."""
    found: list[str] = []
    inside = False
    for c in text:
        alone = not (c.isalnum() or c == "_")
        joins = unicodedata.category(c)[0] == "M" or c in "\u200c\u200d"
        if alone and inside and joins:
            found[-1] += c
        elif alone:
            inside = False
            if not c.isspace():
                found.append(c)
        elif inside:
            found[-1] += c
        else:
            found.append(c)
            inside = True
    return found


@given(
    st.lists(
        st.text(
            st.sampled_from(
                "aZ9_é.,'! \n\u0301\u093f\u200d中\u0e35\u0e01\u0915𝒳\U000e0101\x00\u00a0"
            ),
            max_size=15,
        ),
        max_size=5,
    ),
    TEXTS,
)
def test_words_are_runs_of_letters_with_their_marks(some, any_text):
    tokenizer = open_tokenizer("words")
    texts = some + any_text
    ids = rows(tokenizer.encode(texts))
    names = tokenizer.vocabulary().tokens
    assert [[names[i] for i in row] for row in ids] == [words_by_hand(t) for t in texts]


def test_words_are_numbered_in_order_of_meeting_across_batches():
    tokenizer = open_tokenizer("words")
    assert rows(tokenizer.encode(["the cat, the Cat"])) == [[0, 1, 2, 0, 3]]
    assert rows(tokenizer.encode(["dog", "cat"])) == [[4], [1]]
    vocabulary = tokenizer.vocabulary()
    assert vocabulary.tokens == ("the", "cat", ",", "Cat", "dog")
    assert vocabulary.open
    assert tokenizer.grows


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_no_documents_give_no_ids(name):
    values, offsets = open_tokenizer(name).encode([])
    assert len(values) == 0
    assert offsets.tolist() == [0]


@pytest.mark.parametrize("name", ["words", "characters", "bytes"])
def test_half_a_surrogate_pair_is_named_or_replaced(name):
    message = r"document 2 holds half a surrogate pair \(U\+D800\) as its character 3"
    with pytest.raises(CorpusError, match=message):
        open_tokenizer(name).encode(["ok", "ab\ud800"])
    replaced = open_tokenizer(name, errors="replace").encode(["ab\ud800"])
    assert rows(replaced) == rows(open_tokenizer(name).encode(["ab\ufffd"]))


def made(folder: Path, kind: str = "WordLevel", name: str = "tokenizer.json") -> Path:
    """Write a tokenizer with special tokens, truncation and padding, by the library itself."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    model = {
        "WordLevel": lambda: models.WordLevel(
            {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "a": 3, "b": 4, "c": 9}, unk_token="[UNK]"
        ),
        "BPE": lambda: models.BPE(
            {"[UNK]": 0, "a": 1, "b": 2, "ab": 3, "[PAD]": 4, "[CLS]": 5},
            [("a", "b")],
            unk_token="[UNK]",
        ),
        "Unigram": lambda: models.Unigram(
            [("[UNK]", 0.0), ("a", -1.0), ("b", -1.0), ("[PAD]", -9.0), ("[CLS]", -9.0)], 0
        ),
    }[kind]()
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]"])
    start = tokenizer.token_to_id("[CLS]")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", start)]
    )
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(pad_id=tokenizer.token_to_id("[PAD]"), pad_token="[PAD]", length=8)
    tokenizer.save(str(folder / name))
    return folder / name


@pytest.mark.parametrize("kind", ["WordLevel", "BPE", "Unigram"])
def test_only_content_is_counted_and_the_unknown_token_is_content(tmp_path, kind):
    tokenizer = open_tokenizer(made(tmp_path, kind))
    names = tokenizer.vocabulary().tokens
    ids = rows(tokenizer.encode(["a b a b a", "", "[CLS] a [PAD] b", "z a", "[CLS]"]))
    found = [[names[i] for i in row] for row in ids]
    assert found == [list("ababa"), [], ["a", "b"], ["[UNK]", "a"], []]


def test_merges_are_not_dropped_at_random(tmp_path):
    path = made(tmp_path, "BPE")
    changed = json.loads(path.read_text())
    changed["model"]["dropout"] = 0.5
    path.write_text(json.dumps(changed))
    assert rows(open_tokenizer(path).encode(["ab"] * 100)) == [[3]] * 100


def test_a_text_the_model_can_not_encode_is_a_sentence(tmp_path):
    path = made(tmp_path)
    changed = json.loads(path.read_text())
    changed["model"]["unk_token"] = "[GONE]"
    path.write_text(json.dumps(changed))
    with pytest.raises(TokenizerError, match=r"failed on a text \(.*choose another --tokenizer"):
        open_tokenizer(path).encode(["a zzz"])


def test_the_vocabulary_reaches_to_the_largest_id_and_names_holes(tmp_path):
    vocabulary = open_tokenizer(made(tmp_path)).vocabulary()
    assert vocabulary.size == 10
    assert vocabulary.tokens is not None
    assert vocabulary.tokens[:5] == ("[PAD]", "[UNK]", "[CLS]", "a", "b")
    assert vocabulary.tokens[5] == "[id 5]"
    assert vocabulary.tokens[9] == "c"


def test_a_folder_is_opened_by_its_tokenizer_file(tmp_path):
    made(tmp_path)
    assert rows(open_tokenizer(str(tmp_path)).encode(["b a"])) == [[4, 3]]


def test_a_surrogate_in_pieces_is_named_or_replaced(tmp_path):
    path = made(tmp_path)
    with pytest.raises(CorpusError, match="document 3 holds half a surrogate pair"):
        open_tokenizer(path).encode(["a", "a \udcff"], first=1)
    assert rows(open_tokenizer(path, errors="replace").encode(["a \udcff"])) == [[3, 1]]


@pytest.mark.parametrize("stored", [b"", b"{}", b"\x00\xff", b"[1, 2", b'{"model": {}}', b"null"])
def test_a_file_that_is_no_tokenizer_is_refused_in_a_sentence(tmp_path, stored):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(stored)
    with pytest.raises(TokenizerError, match=r"is not a tokenizer file \(.*pass a tokenizer.json"):
        open_tokenizer(path)


def test_a_file_that_makes_the_library_panic_is_refused_in_a_sentence(tmp_path, capfd):
    """A Rust panic is a BaseException: merges shorter than the declared prefix."""
    path = made(tmp_path, "BPE")
    changed = json.loads(path.read_text())
    changed["model"]["continuing_subword_prefix"] = "longer than any piece"
    path.write_text(json.dumps(changed))
    with pytest.raises(TokenizerError, match=r"is not a tokenizer file"):
        open_tokenizer(path)


def test_a_tokenizer_file_over_the_limit_names_the_option(tmp_path):
    path = made(tmp_path)
    size = path.stat().st_size
    open_tokenizer(path, limits=Limits(tokenizer_bytes=size))
    with pytest.raises(TokenizerError, match=rf"larger than {size - 1:,} bytes; raise --limit-tok"):
        open_tokenizer(path, limits=Limits(tokenizer_bytes=size - 1))


def test_a_tokenizer_with_an_absurd_id_is_refused_before_memory_is_taken(tmp_path):
    path = made(tmp_path)
    changed = json.loads(path.read_text())
    changed["model"]["vocab"]["d"] = 4_000_000_000
    path.write_text(json.dumps(changed))
    with pytest.raises(TokenizerError, match=r"has a token with id 4,000,000,000; .*16,777,216"):
        open_tokenizer(path).vocabulary()


def test_an_unknown_name_gets_the_nearest_known():
    with pytest.raises(TokenizerError, match=r"no tokenizer 'wrods'.*did you mean 'words'"):
        open_tokenizer("wrods")


@pytest.mark.parametrize("path", ["nowhere/tokenizer.json", "none.json", Path("words2")])
def test_a_path_that_is_not_there_is_named(path):
    with pytest.raises(TokenizerError, match=r"there is no tokenizer file .*; check the path"):
        open_tokenizer(path)


def test_a_folder_without_a_tokenizer_is_named(tmp_path):
    with pytest.raises(TokenizerError, match=r"holds no tokenizer\.json"):
        open_tokenizer(tmp_path)


def test_a_digest_changes_with_whatever_changes_ids(tmp_path):
    path = made(tmp_path)
    changed = json.loads(path.read_text())
    changed["model"]["vocab"]["d"] = 5
    other = tmp_path / "other.json"
    other.write_text(json.dumps(changed))
    opened = [open_tokenizer(p, errors=e) for p in (path, other) for e in ("strict", "replace")]
    opened += [open_tokenizer(n, errors=e) for n in BUILT_IN for e in ("strict", "replace")]
    assert len({tokenizer.digest for tokenizer in opened}) == len(opened)
    assert open_tokenizer(path).digest == opened[0].digest
    assert opened[0].name == "tokenizer.json"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_fork_after_tokenising_neither_warns_nor_hangs(tmp_path):
    script = (
        "import os, sys\n"
        "from gnomon.corpus.tokenizers import open_tokenizer\n"
        "t = open_tokenizer(sys.argv[1]); t.encode(['a b'] * 500)\n"
        "child = os.fork()\n"
        "n = len(t.encode(['a b'] * 500)[0])\n"
        "os._exit(n != 1000) if child == 0 else sys.exit(os.waitpid(child, 0)[1])\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TOKENIZERS_PARALLELISM"}
    run = subprocess.run(
        [sys.executable, "-c", script, str(made(tmp_path))],
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,  # a fork that hangs does so for ever
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")


def by_position(tokenizer, texts, length, places):
    lengths = []
    for at in range(0, len(texts), 2000):
        _, offsets = tokenizer.encode(texts[at : at + 2000])
        lengths.append(np.minimum(np.diff(offsets), length))
    counted = np.concatenate(lengths)
    return int(counted.sum()), [int((counted > p).sum()) for p in places]


@pytest.mark.data
@pytest.mark.wide
def test_sst2_has_the_published_tokens_at_every_position(data_root):
    with (data_root / "sst2" / "train.tsv").open(encoding="utf-8", newline="") as handle:
        reader = csv.reader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = [row[1] for row in reader][1:]
    tokenizer = open_tokenizer(data_root / "bert-base-uncased")
    assert tokenizer.vocabulary().size == 30_522
    counted = by_position(tokenizer, texts, 64, (0, 8, 31, 63))
    assert counted == (762_340, [67_349, 32_755, 3_255, 2])


@pytest.mark.data
@pytest.mark.wide
def test_imdb_has_the_published_tokens_at_every_position(data_root):
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = parquet.read_table(data_root / "imdb" / "train.parquet")["text"].to_pylist()
    tokenizer = open_tokenizer(data_root / "bert-base-uncased" / "tokenizer.json")
    counted = by_position(tokenizer, texts, 512, (0, 255, 511))
    assert counted == (6_839_969, [25_000, 11_000, 3_682])
