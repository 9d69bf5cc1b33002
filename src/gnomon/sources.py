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
        "bai2025": "S. Bai et al., Qwen3-VL technical report, arXiv:2511.21631, 2025.",
        "barbero2025": "F. Barbero, A. Vitvitskyi, C. Perivolaropoulos, R. Pascanu and "
        "P. Velickovic, Round and round we go! What makes rotary positional encodings useful?, "
        "ICLR, 2025. arXiv:2410.06205.",
        "bhattacharyya1943": "A. Bhattacharyya, On a measure of divergence between two statistical "
        "populations, Bulletin of the Calcutta Mathematical Society 35, 99-109, 1943.",
        "bloc972023": "bloc97, NTK-aware scaled RoPE allows LLaMA models to have extended (8k+) "
        "context size without any fine-tuning and minimal perplexity degradation, public note, "
        "r/LocalLLaMA, June 2023.",
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
        "chen2023": "S. Chen, S. Wong, L. Chen and Y. Tian, Extending context window of large "
        "language models via positional interpolation, arXiv:2306.15595, 2023.",
        "cirrincione2026": "G. Cirrincione, On the Geometry of Positional Encodings in "
        "Transformers, arXiv:2604.05217, 2026.",
        "deepseek2024": "DeepSeek-AI, DeepSeek-V2: a strong, economical, and efficient "
        "mixture-of-experts language model, arXiv:2405.04434, 2024.",
        "dekker1971": "T. J. Dekker, A floating-point technique for extending the available "
        "precision, Numerische Mathematik 18, 224-242, 1971.",
        "deleeuw1977": "J. de Leeuw, Applications of convex analysis to multidimensional scaling, "
        "in Recent Developments in Statistics, North-Holland, 133-145, 1977.",
        "devlin2019": "J. Devlin, M.-W. Chang, K. Lee and K. Toutanova, BERT: pre-training of deep "
        "bidirectional transformers for language understanding, NAACL, 2019. arXiv:1810.04805.",
        "ding2024": "Y. Ding, L. L. Zhang, C. Zhang, Y. Xu, N. Shang, J. Xu, F. Yang and M. Yang, "
        "LongRoPE: extending LLM context window beyond 2 million tokens, ICML, 2024. "
        "arXiv:2402.13753.",
        "dinkelbach1967": "W. Dinkelbach, On nonlinear fractional programming, Management Science "
        "13, 492-498, 1967.",
        "emozilla2023": "emozilla, Dynamically scaled RoPE further increases performance of long "
        "context LLaMA with zero fine-tuning, public note, r/LocalLLaMA, July 2023.",
        "ernie2025": "Baidu ERNIE team, ERNIE 4.5 technical report, 2025. "
        "https://github.com/PaddlePaddle/ERNIE",
        "gower1966": "J. C. Gower, Some distance properties of latent root and vector methods used "
        "in multivariate analysis, Biometrika 53, 325-338, 1966.",
        "grattafiori2024": "A. Grattafiori et al., The Llama 3 herd of models, arXiv:2407.21783, "
        "2024.",
        "guttman1968": "L. Guttman, A general nonmetric technique for finding the smallest "
        "coordinate space for a configuration of points, Psychometrika 33, 469-506, 1968.",
        "haviv2022": "A. Haviv, O. Ram, O. Press, P. Izsak and O. Levy, Transformer language "
        "models without positional encodings still learn positional information, Findings of "
        "EMNLP, 2022. arXiv:2203.16634.",
        "hellinger1909": "E. Hellinger, Neue Begründung der Theorie quadratischer Formen von "
        "unendlichvielen Veränderlichen, Journal für die reine und angewandte Mathematik 136, "
        "210-271, 1909.",
        "heo2024": "B. Heo, S. Park, D. Han and S. Yun, Rotary position embedding for vision "
        "transformer, ECCV, 2024. arXiv:2403.13298.",
        "jaegle2021": "A. Jaegle, F. Gimeno, A. Brock, A. Zisserman, O. Vinyals and J. Carreira, "
        "Perceiver: general perception with iterative attention, ICML, 2021. arXiv:2103.03206.",
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
        "mpmath": "F. Johansson and the mpmath developers, mpmath: a Python library for "
        "arbitrary-precision floating-point arithmetic, version 1.3, 2023. https://mpmath.org",
        "nakanishi2025": "K. M. Nakanishi, Scalable-softmax is superior for attention, "
        "arXiv:2501.19399, 2025.",
        "nunez2018": "J. R. Nuñez, C. R. Anderton and R. S. Renslow, Optimizing colormaps with "
        "consideration for color vision deficiency, PLoS ONE 13, e0199239, 2018.",
        "okabe2008": "M. Okabe and K. Ito, Color universal design: how to make figures and "
        "presentations that are friendly to colorblind people, 2008. "
        "https://jfly.uni-koeln.de/color",
        "peng2024": "B. Peng, J. Quesnelle, H. Fan and E. Shippole, YaRN: efficient context window "
        "extension of large language models, ICLR, 2024. arXiv:2309.00071.",
        "press2021": "O. Press, N. A. Smith and M. Lewis, Train short, test long: attention with "
        "linear biases enables input length extrapolation, ICLR, 2022. arXiv:2108.12409.",
        "raffel2020": "C. Raffel, N. Shazeer, A. Roberts, K. Lee, S. Narang, M. Matena, Y. Zhou, "
        "W. Li and P. J. Liu, Exploring the limits of transfer learning with a unified "
        "text-to-text transformer, Journal of Machine Learning Research 21, 1-67, 2020. "
        "arXiv:1910.10683.",
        "ruoss2023": "A. Ruoss, G. Deletang, T. Genewein, J. Grau-Moya, R. Csordas, M. Bennani, "
        "S. Legg and J. Veness, Randomized positional encodings boost length generalization of "
        "transformers, ACL, 2023. arXiv:2305.16843.",
        "shepard1962": "R. N. Shepard, The analysis of proximities: multidimensional scaling with "
        "an unknown distance function, Psychometrika 27, 125-140 and 219-246, 1962.",
        "simeoni2025": "O. Siméoni et al., DINOv3, arXiv:2508.10104, 2025.",
        "spearman1904": "C. Spearman, The proof and measurement of association between two "
        "things, American Journal of Psychology 15, 72-101, 1904.",
        "steele2014": "G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number "
        "generators, OOPSLA, 2014.",
        "su2021": "J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen and Y. Liu, RoFormer: enhanced "
        "transformer with rotary position embedding, arXiv:2104.09864, 2021.",
        "sun2022": "Y. Sun, L. Dong, B. Patra, S. Ma, S. Huang, A. Benhaim, V. Chaudhary, X. Song "
        "and F. Wei, A length-extrapolatable transformer, ACL, 2023. arXiv:2212.10554.",
        "sun2023": "Y. Sun, L. Dong, S. Huang, S. Ma, Y. Xia, J. Xue, J. Wang and F. Wei, "
        "Retentive network: a successor to transformer for large language models, "
        "arXiv:2307.08621, 2023.",
        "torgerson1952": "W. S. Torgerson, Multidimensional scaling: I. Theory and method, "
        "Psychometrika 17, 401-419, 1952.",
        "vaswani2017": "A. Vaswani, N. Shazeer, N. Parmar, J. Uszkoreit, L. Jones, A. N. Gomez, "
        "L. Kaiser and I. Polosukhin, Attention is all you need, NeurIPS, 2017. arXiv:1706.03762.",
        "wang2021": "P. Wang, rotary-embedding-torch, 2021. "
        "https://github.com/lucidrains/rotary-embedding-torch",
        "wang2024": "P. Wang et al., Qwen2-VL: enhancing vision-language model's perception of the "
        "world at any resolution, arXiv:2409.12191, 2024.",
        "wolf2020": "T. Wolf et al., Transformers: state-of-the-art natural language processing, "
        "EMNLP System Demonstrations, 2020; modeling_rope_utils of releases 4.57 and 5.22. "
        "https://github.com/huggingface/transformers",
        "yang2025": "B. Yang, B. Venkitesh, D. Talupuru, H. Lin, D. Cairuz, P. Blunsom and "
        "A. Locatelli, Rope to Nope and back again: a new hybrid attention strategy, NeurIPS, "
        "2025. arXiv:2501.18795.",
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
