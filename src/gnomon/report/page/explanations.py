"""How to read each figure, for somebody who sees one for the first time; keyed as the figures.

A word in square brackets leads to where it is explained: [lift], or [lift: how it was lifted].
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from gnomon.report.page.glossary import link

EXPLANATIONS: dict[str, str] = {
    "counts": """
Each bar is a position; its height is the number of tokens that were counted there. Documents end at
different lengths, so late positions usually have fewer.

Most positions are measured well enough to have their noise taken out ([core]). Projected ones are
too uncertain for that, and are placed with the help of the core: they have few tokens, or their
tokens come from few independent documents, or are spread over very many different words. Masked
ones have too few tokens to say anything, and take no part.""",
    "distances": """
Each square compares two positions: dark means that the same tokens stand there equally often,
bright that they differ ([chord] distance). All panels share one colour scale.

Noise taken out ([debiased]): what is left when sampling noise is removed. As published ([plug-in]):
straight from the counts, noise included. Chance alone: what the same recipe shows when there is
nothing to see, since the tokens were put in random places ([null]). Where "as published" looks like
"chance alone", it shows noise.""",
    "eigenvalues": """
Each point is one direction in which positions differ, the strongest first. The band is what
directions of pure noise reach.

Directions inside the band can not be told from noise, however smooth their picture looks. The
[effective rank] is the number of directions that stand above the [noise edge] on the right; the
edge falls as directions are found, and each is judged by its own step.""",
    "map2d": """
Each point is a position, drawn so that distances on paper are as close as possible to the distances
measured (classical multidimensional scaling, [mds]). The colour runs from the first position to the
last; the first, the last and the most distant positions carry their numbers. Where only one
direction stands above the noise, the position itself is the other axis.

A line or an arc means that neighbours are alike and change is gradual; clumps mean blocks of
positions that are alike; a cloud without order means that neighbours have no more in common than
others.""",
    "map3d": """
The same map with one more axis: a third direction or, where only two stand above the noise, the
position itself; the name of the axis says which. Drag to turn it, or focus it and use the arrow
keys.""",
    "stress": """
[stress: Stress] says how badly an encoding's distances between positions fit those of the corpus: 0
is a perfect fit. The fitted encodings ([mds], [smacof]) were made from these distances; the others
know nothing of this corpus, and random tables ([sigma] is their spread) have nothing to tell.

Raw stress, as published, mostly measures scale: an encoding ten times too long scores about eighty.
Scale-free stress lets every encoding have its best scale and lies between 0 and 1. The last panel
compares with the corpus after its noise was taken out; whiskers are 95 % intervals. Its line is
what equal distances between all positions leave: an encoding beyond it has nothing of the corpus.

The [lift] is how an encoding is given distances at all: the kernel lift treats all alike; slope and
probe are the readings of the papers. Stress compares geometries. It does not say which encoding
trains to a better model.""",
    "dimensions": """
How much stress is left when classical scaling ([mds]) may use only so many directions. Where the
curve becomes flat, further directions buy nothing. Beside it stands what such an encoding has to
store.""",
    "shepard": """
Each point is a pair of positions: across, its distance in the corpus; up, its distance in an
encoding at its best scale. On the diagonal both agree; a cloud beside it is what stress measures.

Press a name in the legend to show or hide an encoding. The CSV file holds the drawn pairs of all
encodings.""",
    "violations": """
Take three positions, of which two are nearer to each other along the text than the first is to the
third: a violation is where the distances say the opposite. An encoding that only grows with the lag
has none. The corpus has some of its own, and an exact copy of its geometry would have just those,
so neither few nor many are good in themselves.""",
    "grid": """
The same results as pictures of the grid: each square is one place, where it lies in the
documents.""",
}


_WORD = re.compile(r"\[([^]:]+)(?:: ([^]]+))?\]")


def explanation(key: str) -> list[Markup]:
    """Return the paragraphs for a figure; figures of a kind share their first word."""
    text = EXPLANATIONS.get(key, EXPLANATIONS.get(key.partition("-")[0], ""))
    return [_linked(" ".join(part.split())) for part in text.split("\n\n") if part.strip()]


def _linked(text: str) -> Markup:
    """Return text in which words in brackets lead to their explanation."""
    found, at = Markup(), 0
    for match in _WORD.finditer(text):
        shown = match[2] or match[1]
        found += escape(text[at : match.start()]) + link(match[1].lower(), shown)
        at = match.end()
    return found + escape(text[at:])
