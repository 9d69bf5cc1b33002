"""Where each formula comes from: keys, quoted in brackets by module docstrings, and citations."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from gnomon.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "array-api": "Consortium for Python Data API Standards, Python array API standard, "
        "2024.12. https://data-apis.org/array-api",
        "bhattacharyya1943": "A. Bhattacharyya, On a measure of divergence between two statistical "
        "populations, Bulletin of the Calcutta Mathematical Society 35, 99-109, 1943.",
        "borg2005": "I. Borg and P. J. F. Groenen, Modern Multidimensional Scaling, 2nd edition, "
        "Springer, 2005.",
        "box1958": "G. E. P. Box and M. E. Muller, A note on the generation of random normal "
        "deviates, Annals of Mathematical Statistics 29, 610-611, 1958.",
        "benaychgeorges2011": "F. Benaych-Georges and R. R. Nadakuditi, The eigenvalues and "
        "eigenvectors of finite, low rank perturbations of large random matrices, Advances in "
        "Mathematics 227, 494-521, 2011.",
        "benjamini1995": "Y. Benjamini and Y. Hochberg, Controlling the false discovery rate: a "
        "practical and powerful approach to multiple testing, Journal of the Royal Statistical "
        "Society B 57, 289-300, 1995.",
        "calinski1974": "T. Calinski and J. Harabasz, A dendrite method for cluster analysis, "
        "Communications in Statistics 3, 1-27, 1974.",
        "cirrincione2026": "G. Cirrincione, On the Geometry of Positional Encodings in "
        "Transformers, arXiv:2604.05217, 2026.",
        "dekker1971": "T. J. Dekker, A floating-point technique for extending the available "
        "precision, Numerische Mathematik 18, 224-242, 1971.",
        "deleeuw1977": "J. de Leeuw, Applications of convex analysis to multidimensional scaling, "
        "in Recent Developments in Statistics, North-Holland, 133-145, 1977.",
        "devlin2019": "J. Devlin, M.-W. Chang, K. Lee and K. Toutanova, BERT: pre-training of deep "
        "bidirectional transformers for language understanding, NAACL, 2019. arXiv:1810.04805.",
        "dinkelbach1967": "W. Dinkelbach, On nonlinear fractional programming, Management Science "
        "13, 492-498, 1967.",
        "gower1966": "J. C. Gower, Some distance properties of latent root and vector methods used "
        "in multivariate analysis, Biometrika 53, 325-338, 1966.",
        "guttman1968": "L. Guttman, A general nonmetric technique for finding the smallest "
        "coordinate space for a configuration of points, Psychometrika 33, 469-506, 1968.",
        "haviv2022": "A. Haviv, O. Ram, O. Press, P. Izsak and O. Levy, Transformer language "
        "models without positional encodings still learn positional information, Findings of "
        "EMNLP, 2022. arXiv:2203.16634.",
        "hellinger1909": "E. Hellinger, Neue Begründung der Theorie quadratischer Formen von "
        "unendlichvielen Veränderlichen, Journal für die reine und angewandte Mathematik 136, "
        "210-271, 1909.",
        "knight1966": "W. R. Knight, A computer method for calculating Kendall's tau with "
        "ungrouped data, Journal of the American Statistical Association 61, 436-439, 1966.",
        "knuth1969": "D. E. Knuth, The Art of Computer Programming, volume 2: Seminumerical "
        "Algorithms, Addison-Wesley, 1969.",
        "kruskal1964": "J. B. Kruskal, Multidimensional scaling by optimizing goodness of fit to a "
        "nonmetric hypothesis, Psychometrika 29, 1-27, 1964.",
        "kruskal1964b": "J. B. Kruskal, Nonmetric multidimensional scaling: a numerical method, "
        "Psychometrika 29, 115-129, 1964.",
        "mezzadri2007": "F. Mezzadri, How to generate random matrices from the classical compact "
        "groups, Notices of the American Mathematical Society 54, 592-604, 2007.",
        "nunez2018": "J. R. Nuñez, C. R. Anderton and R. S. Renslow, Optimizing colormaps with "
        "consideration for color vision deficiency, PLoS ONE 13, e0199239, 2018.",
        "okabe2008": "M. Okabe and K. Ito, Color universal design: how to make figures and "
        "presentations that are friendly to colorblind people, 2008. "
        "https://jfly.uni-koeln.de/color",
        "press2021": "O. Press, N. A. Smith and M. Lewis, Train short, test long: attention with "
        "linear biases enables input length extrapolation, ICLR, 2022. arXiv:2108.12409.",
        "shepard1962": "R. N. Shepard, The analysis of proximities: multidimensional scaling with "
        "an unknown distance function, Psychometrika 27, 125-140 and 219-246, 1962.",
        "spearman1904": "C. Spearman, The proof and measurement of association between two "
        "things, American Journal of Psychology 15, 72-101, 1904.",
        "steele2014": "G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number "
        "generators, OOPSLA, 2014.",
        "su2021": "J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen and Y. Liu, RoFormer: enhanced "
        "transformer with rotary position embedding, arXiv:2104.09864, 2021.",
        "torgerson1952": "W. S. Torgerson, Multidimensional scaling: I. Theory and method, "
        "Psychometrika 17, 401-419, 1952.",
        "vaswani2017": "A. Vaswani, N. Shazeer, N. Parmar, J. Uszkoreit, L. Jones, A. N. Gomez, "
        "L. Kaiser and I. Polosukhin, Attention is all you need, NeurIPS, 2017. arXiv:1706.03762.",
    }
)


def cite(key: str) -> str:
    """Return the citation behind a key.

    >>> cite("torgerson1952").split(",")[0]
    'W. S. Torgerson'
    """
    if key not in SOURCES:
        raise InputError(f"There is no source {key!r}: {nearest(key, SOURCES)}.")
    return SOURCES[key]
