"""The corpora of the gallery: what each is, who made it, and what its survey shows.

What is said here states no measured number: those come from the surveys (`gallery_table`).
"""

from __future__ import annotations

from dataclasses import dataclass

WORDPIECE = ("--tokenizer", "bert-base-uncased/tokenizer.json")


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A corpus of the gallery, and how it is surveyed."""

    name: str
    what: str
    cited: str
    """The document or data set that it comes from."""
    shows: str
    """What is worth seeing in its survey."""
    source: str
    options: tuple[str, ...] = ()
    built_in: bool = False


CORPORA = (
    Corpus(
        name="three-regimes",
        what="synthetic: an initial, a medial and a terminal law of 200 types",
        cited="Drawn by Gnomon, after the synthetic corpus that G. Cirrincione describes in "
        "[arXiv:2604.05217](https://arxiv.org/abs/2604.05217) (2026).",
        shows="The truth is known here: three laws are the corners of a triangle, which has two "
        "directions. The map shows the corners, and the plug-in rank does not see them.",
        source="three-regimes",
        built_in=True,
    ),
    Corpus(
        name="sst2",
        what="SST-2: 6,920 whole sentences of film reviews, in WordPiece",
        cited="R. Socher et al., *Recursive deep models for semantic compositionality over a "
        "sentiment treebank*, EMNLP 2013; whole sentences of its training part.",
        shows="Few and short sentences over a large vocabulary: nearly all of what is published "
        "as distance here is chance. What is left is how sentences begin.",
        source="sst2/whole-sentences.tsv",
        options=("--column", "0", *WORDPIECE, "--length", "64"),
    ),
    Corpus(
        name="imdb",
        what="IMDB: 25,000 film reviews, in WordPiece",
        cited="A. L. Maas et al., *Learning word vectors for sentiment analysis*, ACL 2011; the "
        "training part.",
        shows="Far more text than SST-2, and noise is as large a share, since the signal is "
        "smaller still: after the first sentences one position of a review is much like another. "
        "Not all of it is order, either: only long reviews reach the late positions, and long "
        "reviews have words of their own.",
        source="imdb/train.parquet",
        options=("--column", "text", *WORDPIECE, "--length", "512"),
    ),
    Corpus(
        name="promoters",
        what="human TATA promoters, aligned on the start of transcription",
        cited="Human sequences with a TATA box as in the "
        "[data of DeePromoter](https://github.com/egochao/DeePromoter), which come from the "
        "Eukaryotic Promoter Database (M. Oubounyt et al., *DeePromoter*, Frontiers in Genetics "
        "10:286, 2019).",
        shows="Four letters, so there is hardly any noise. Position matters in two narrow places, "
        "the TATA box and the start of transcription; encodings in which distance grows with the "
        "lag cannot say that.",
        source="promoters/hs_pos_TATA.txt",
        options=("--tokenizer", "dna"),
    ),
    Corpus(
        name="splice",
        what="splice junctions of primate genes, aligned on the junction",
        cited="UCI, *Molecular Biology (Splice-junction Gene Sequences)*, "
        "[doi:10.24432/C5M888](https://doi.org/10.24432/C5M888); M. O. Noordewier, G. G. Towell "
        "and J. W. Shavlik, NIPS 3, 1991.",
        shows="The junction is in the middle of the window, and the letters beside it have laws "
        "of their own. About half of the rows have no junction, which makes all distances smaller.",
        source="splice/splice.data",
        options=("--format", "csv", "--column", "2", "--tokenizer", "dna"),
    ),
    Corpus(
        name="python-stdlib",
        what="functions and classes of Python's standard library, in words",
        cited="The Python files of the interpreter that ran the survey (CPython 3.11).",
        shows="The head of a function is unlike its body; past the first lines positions are "
        "alike. Functions of one file resemble each other, so a file counts as one group, and "
        "there is far less evidence than tokens.",
        source="python-stdlib",
        built_in=True,
    ),
    Corpus(
        name="digits",
        what="images of digits, 8 x 8 pixels of 17 greys",
        cited="UCI, *Optical Recognition of Handwritten Digits*, "
        "[doi:10.24432/C50P49](https://doi.org/10.24432/C50P49), E. Alpaydin and C. Kaynak, 1998; "
        "the copy that scikit-learn carries.",
        shows="A grid instead of a line. The largest direction is paper against ink, edges "
        "against the middle, and it outweighs all others.",
        source="digits",
        built_in=True,
    ),
)
