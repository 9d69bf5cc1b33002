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
        "alpaydin1998": "E. Alpaydin and C. Kaynak, Cascading classifiers, Kybernetika 34, "
        "369-374, 1998; the pictures are in the UCI repository.",
        "arora2023": "S. Arora, S. Eyuboglu, A. Timalsina, I. Johnson, M. Poli, J. Zou, A. Rudra "
        "and C. Ré, Zoology: measuring and improving recall in efficient language models, "
        "arXiv:2312.04927, 2023.",
        "ba2016": "J. L. Ba, J. R. Kiros and G. E. Hinton, Layer normalization, arXiv:1607.06450, "
        "2016.",
        "bai1993": "Z. Bai and J. W. Demmel, On swapping diagonal blocks in real Schur form, "
        "Linear Algebra and its Applications 186, 73-95, 1993.",
        "bai2025": "S. Bai et al., Qwen3-VL technical report, arXiv:2511.21631, 2025.",
        "barbero2025": "F. Barbero, A. Vitvitskyi, C. Perivolaropoulos, R. Pascanu and "
        "P. Velickovic, Round and round we go! What makes rotary positional encodings useful?, "
        "ICLR, 2025. arXiv:2410.06205.",
        "beylkin2005": "G. Beylkin and L. Monzon, On approximation of functions by exponential "
        "sums, Applied and Computational Harmonic Analysis 19, 17-48, 2005.",
        "bhattacharyya1943": "A. Bhattacharyya, On a measure of divergence between two statistical "
        "populations, Bulletin of the Calcutta Mathematical Society 35, 99-109, 1943.",
        "bloc972023": "bloc97, NTK-aware scaled RoPE allows LLaMA models to have extended (8k+) "
        "context size without any fine-tuning and minimal perplexity degradation, public note, "
        "r/LocalLLaMA, June 2023.",
        "bonett2000": "D. G. Bonett and T. A. Wright, Sample size requirements for estimating "
        "Pearson, Kendall and Spearman correlations, Psychometrika 65, 23-28, 2000.",
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
        "brent1973": "R. P. Brent, Algorithms for Minimization without Derivatives, Prentice-Hall, "
        "1973.",
        "calinski1974": "T. Calinski and J. Harabasz, A dendrite method for cluster analysis, "
        "Communications in Statistics 3, 1-27, 1974.",
        "cantoni1976": "A. Cantoni and P. Butler, Eigenvalues and eigenvectors of symmetric "
        "centrosymmetric matrices, Linear Algebra and its Applications 13, 275-288, 1976.",
        "chan1988": "T. F. Chan, An optimal circulant preconditioner for Toeplitz systems, SIAM "
        "Journal on Scientific and Statistical Computing 9, 766-771, 1988.",
        "chan2007": "R. H. Chan and X.-Q. Jin, An Introduction to Iterative Toeplitz Solvers, "
        "SIAM, 2007.",
        "chen2023": "S. Chen, S. Wong, L. Chen and Y. Tian, Extending context window of large "
        "language models via positional interpolation, arXiv:2306.15595, 2023.",
        "chi2022": "T.-C. Chi, T.-H. Fan, P. J. Ramadge and A. I. Rudnicky, KERPLE: kernelized "
        "relative positional embedding for length extrapolation, NeurIPS, 2022. arXiv:2205.09921.",
        "chi2023": "T.-C. Chi, T.-H. Fan, A. I. Rudnicky and P. J. Ramadge, Dissecting transformer "
        "length extrapolation via the lens of receptive field analysis, ACL, 2023. "
        "arXiv:2212.10356.",
        "cho2014": "K. Cho, B. van Merrienboer, C. Gulcehre, D. Bahdanau, F. Bougares, "
        "H. Schwenk and Y. Bengio, Learning phrase representations using RNN encoder-decoder for "
        "statistical machine translation, EMNLP, 2014. arXiv:1406.1078.",
        "cirrincione2026": "G. Cirrincione, On the Geometry of Positional Encodings in "
        "Transformers, arXiv:2604.05217, 2026.",
        "cover2006": "T. M. Cover and J. A. Thomas, Elements of Information Theory, 2nd edition, "
        "Wiley, 2006.",
        "culver1966": "W. J. Culver, On the existence and uniqueness of the real logarithm of a "
        "matrix, Proceedings of the American Mathematical Society 17, 1146-1151, 1966.",
        "dai2019": "Z. Dai, Z. Yang, Y. Yang, J. Carbonell, Q. V. Le and R. Salakhutdinov, "
        "Transformer-XL: attentive language models beyond a fixed-length context, ACL, 2019. "
        "arXiv:1901.02860.",
        "dai2025": "C. Dai, H. Shan, M. Song and D. Liang, HoPE: hyperbolic rotary positional "
        "encoding for stable long-range dependency modeling in large language models, "
        "arXiv:2509.05218, 2025.",
        "dao2022": "T. Dao, D. Y. Fu, S. Ermon, A. Rudra and C. Re, FlashAttention: fast and "
        "memory-efficient exact attention with IO-awareness, NeurIPS, 2022. arXiv:2205.14135.",
        "deepseek2024": "DeepSeek-AI, DeepSeek-V2: a strong, economical, and efficient "
        "mixture-of-experts language model, arXiv:2405.04434, 2024.",
        "dekker1971": "T. J. Dekker, A floating-point technique for extending the available "
        "precision, Numerische Mathematik 18, 224-242, 1971.",
        "deleeuw1977": "J. de Leeuw, Applications of convex analysis to multidimensional scaling, "
        "in Recent Developments in Statistics, North-Holland, 133-145, 1977.",
        "demmel1987": "J. W. Demmel, On condition numbers and the distance to the nearest "
        "ill-posed problem, Numerische Mathematik 51, 251-289, 1987.",
        "devlin2019": "J. Devlin, M.-W. Chang, K. Lee and K. Toutanova, BERT: pre-training of deep "
        "bidirectional transformers for language understanding, NAACL, 2019. arXiv:1810.04805.",
        "ding2024": "Y. Ding, L. L. Zhang, C. Zhang, Y. Xu, N. Shang, J. Xu, F. Yang and M. Yang, "
        "LongRoPE: extending LLM context window beyond 2 million tokens, ICML, 2024. "
        "arXiv:2402.13753.",
        "dinkelbach1967": "W. Dinkelbach, On nonlinear fractional programming, Management Science "
        "13, 492-498, 1967.",
        "dong2024": "J. Dong, B. Feng, D. Guessous, Y. Liang and H. He, Flex Attention: a "
        "programming model for generating optimized attention kernels, arXiv:2412.05496, 2024.",
        "dosovitskiy2021": "A. Dosovitskiy et al., An image is worth 16x16 words: Transformers for "
        "image recognition at scale, ICLR, 2021. arXiv:2010.11929.",
        "dreos2013": "R. Dreos, G. Ambrosini, R. Cavin Périer and P. Bucher, EPD and EPDnew, "
        "high-quality promoter resources in the next-generation sequencing era, Nucleic Acids "
        "Research 41, D157-D164, 2013.",
        "edelman1997": "A. Edelman, E. Elmroth and B. Kagstrom, A geometric approach to "
        "perturbation theory of matrices and matrix pencils, part I: versal deformations, SIAM "
        "Journal on Matrix Analysis and Applications 18, 653-692, 1997.",
        "efron1982": "B. Efron, The Jackknife, the Bootstrap and Other Resampling Plans, SIAM, "
        "1982.",
        "ehlich1964": "H. Ehlich and K. Zeller, Schwankung von Polynomen zwischen Gitterpunkten, "
        "Mathematische Zeitschrift 86, 41-44, 1964.",
        "elsner1985": "L. Elsner, An optimal bound for the spectral variation of two matrices, "
        "Linear Algebra and its Applications 71, 77-80, 1985.",
        "emozilla2023": "emozilla, Dynamically scaled RoPE further increases performance of long "
        "context LLaMA with zero fine-tuning, public note, r/LocalLLaMA, July 2023.",
        "ernie2025": "Baidu ERNIE team, ERNIE 4.5 technical report, 2025. "
        "https://github.com/PaddlePaddle/ERNIE",
        "gantmacher1959": "F. R. Gantmacher, The Theory of Matrices, volume 1, Chelsea, 1959.",
        "gao2024": "A. Gao and S. Dai, RoTHP: rotary position embedding-based transformer Hawkes "
        "process, arXiv:2405.06985, 2024.",
        "goldberg1991": "D. Goldberg, What every computer scientist should know about "
        "floating-point arithmetic, ACM Computing Surveys 23, 5-48, 1991.",
        "golovneva2024": "O. Golovneva, T. Wang, J. Weston and S. Sukhbaatar, Contextual position "
        "encoding: learning to count what's important, arXiv:2405.18719, 2024.",
        "golub1973": "G. H. Golub and V. Pereyra, The differentiation of pseudo-inverses and "
        "nonlinear least squares problems whose variables separate, SIAM Journal on Numerical "
        "Analysis 10, 413-432, 1973.",
        "golub1976": "G. H. Golub and J. H. Wilkinson, Ill-conditioned eigensystems and the "
        "computation of the Jordan canonical form, SIAM Review 18, 578-619, 1976.",
        "golub2013": "G. H. Golub and C. F. Van Loan, Matrix Computations, 4th edition, Johns "
        "Hopkins University Press, 2013.",
        "gopalakrishnan2025": "A. Gopalakrishnan, R. Csordas, J. Schmidhuber and M. C. Mozer, "
        "Decoupling the 'what' and 'where' with polar coordinate positional embeddings, "
        "arXiv:2509.10534, 2025.",
        "gower1966": "J. C. Gower, Some distance properties of latent root and vector methods used "
        "in multivariate analysis, Biometrika 53, 325-338, 1966.",
        "grattafiori2024": "A. Grattafiori et al., The Llama 3 herd of models, arXiv:2407.21783, "
        "2024.",
        "grenander1958": "U. Grenander and G. Szego, Toeplitz Forms and Their Applications, "
        "University of California Press, 1958.",
        "gu2022": "A. Gu, A. Gupta, K. Goel and C. Re, On the parameterization and initialization "
        "of diagonal state space models, NeurIPS, 2022. arXiv:2206.11893.",
        "gu2025": "Z. Gu, H. Zhang, R. Chen, Y. Hu and H. Zhang, Unpacking positional encoding in "
        "Transformers: a spectral analysis of content-position coupling, arXiv:2505.13027v1, 2025; "
        "v2 as Deconstructing positional information, ICLR, 2026.",
        "guttman1968": "L. Guttman, A general nonmetric technique for finding the smallest "
        "coordinate space for a configuration of points, Psychometrika 33, 469-506, 1968.",
        "hall2015": "B. C. Hall, Lie Groups, Lie Algebras, and Representations, 2nd edition, "
        "Springer, 2015.",
        "haviv2022": "A. Haviv, O. Ram, O. Press, P. Izsak and O. Levy, Transformer language "
        "models without positional encodings still learn positional information, Findings of "
        "EMNLP, 2022. arXiv:2203.16634.",
        "he2021": "P. He, X. Liu, J. Gao and W. Chen, DeBERTa: decoding-enhanced BERT with "
        "disentangled attention, ICLR, 2021; version 2 of its code, 2021. arXiv:2006.03654. "
        "https://github.com/microsoft/DeBERTa",
        "hellinger1909": "E. Hellinger, Neue Begründung der Theorie quadratischer Formen von "
        "unendlichvielen Veränderlichen, Journal für die reine und angewandte Mathematik 136, "
        "210-271, 1909.",
        "heo2024": "B. Heo, S. Park, D. Han and S. Yun, Rotary position embedding for vision "
        "transformer, ECCV, 2024. arXiv:2403.13298.",
        "higham2008": "N. J. Higham, Functions of Matrices: Theory and Computation, SIAM, 2008.",
        "ho1966": "B. L. Ho and R. E. Kalman, Effective construction of linear state-variable "
        "models from input/output functions, Regelungstechnik 14, 545-548, 1966.",
        "hoeffding1963": "W. Hoeffding, Probability inequalities for sums of bounded random "
        "variables, Journal of the American Statistical Association 58, 13-30, 1963.",
        "hogbom1974": "J. A. Hogbom, Aperture synthesis with a non-regular distribution of "
        "interferometer baselines, Astronomy and Astrophysics Supplement 15, 417-426, 1974.",
        "holm1979": "S. Holm, A simple sequentially rejective multiple test procedure, "
        "Scandinavian Journal of Statistics 6, 65-70, 1979.",
        "horn1991": "R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, Cambridge University "
        "Press, 1991.",
        "horn2013": "R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd edition, Cambridge "
        "University Press, 2013.",
        "hotelling1931": "H. Hotelling, The generalization of Student's ratio, Annals of "
        "Mathematical Statistics 2, 360-378, 1931.",
        "hua2025": "E. Hua, C. Jiang, X. Lv, K. Zhang, Y. Sun, Y. Fan, X. Zhu, B. Qi, N. Ding and "
        "B. Zhou, Fourier position embedding: enhancing attention's periodic extension for length "
        "generalization, ICML, 2025. arXiv:2412.17739.",
        "iso8601": "International Organization for Standardization, ISO 8601-1:2019, Date and "
        "time: representations for information interchange.",
        "jaegle2021": "A. Jaegle, F. Gimeno, A. Brock, A. Zisserman, O. Vinyals and J. Carreira, "
        "Perceiver: general perception with iterative attention, ICML, 2021. arXiv:2103.03206.",
        "joffrain2006": "T. Joffrain, T. M. Low, E. S. Quintana-Orti, R. van de Geijn and F. G. "
        "Van Zee, Accumulating Householder transformations, revisited, ACM Transactions on "
        "Mathematical Software 32, 169-179, 2006.",
        "kagstrom1980": "B. Kagstrom and A. Ruhe, An algorithm for numerical computation of the "
        "Jordan normal form of a complex matrix, ACM Transactions on Mathematical Software 6, "
        "398-419, 1980.",
        "kaufman1975": "L. Kaufman, A variable projection method for solving separable nonlinear "
        "least squares problems, BIT 15, 49-57, 1975.",
        "kazemnejad2023": "A. Kazemnejad, I. Padhi, K. Natesan Ramamurthy, P. Das and S. Reddy, "
        "The impact of positional encoding on length generalization in Transformers, NeurIPS, "
        "2023. arXiv:2305.19466.",
        "kieferwolfowitz1956": "J. Kiefer and J. Wolfowitz, Consistency of the maximum likelihood "
        "estimator in the presence of infinitely many incidental parameters, Annals of "
        "Mathematical Statistics 27, 887-906, 1956.",
        "kim2024": "B. Kim and J.-G. Lee, Continuous-time linear positional embedding for "
        "irregular time series forecasting, arXiv:2409.20092, 2024.",
        "knight1966": "W. R. Knight, A computer method for calculating Kendall's tau with "
        "ungrouped data, Journal of the American Statistical Association 61, 436-439, 1966.",
        "knuth1969": "D. E. Knuth, The Art of Computer Programming, volume 2: Seminumerical "
        "Algorithms, Addison-Wesley, 1969.",
        "kronecker1881": "L. Kronecker, Zur Theorie der Elimination einer Variabeln aus zwei "
        "algebraischen Gleichungen, Monatsberichte der Koeniglich Preussischen Akademie der "
        "Wissenschaften zu Berlin, 535-600, 1881.",
        "kruskal1964": "J. B. Kruskal, Multidimensional scaling by optimizing goodness of fit to a "
        "nonmetric hypothesis, Psychometrika 29, 1-27, 1964.",
        "kruskal1964b": "J. B. Kruskal, Nonmetric multidimensional scaling: a numerical method, "
        "Psychometrika 29, 115-129, 1964.",
        "kublanovskaya1966": "V. N. Kublanovskaya, On a method of solving the complete eigenvalue "
        "problem for a degenerate matrix, USSR Computational Mathematics and Mathematical Physics "
        "6, 1-14, 1966.",
        "lawson1961": "C. L. Lawson, Contributions to the theory of linear least maximum "
        "approximations, Ph.D. thesis, University of California, Los Angeles, 1961.",
        "li2024": "S. Li, C. You, G. Guruganesh, J. Ainslie, S. Ontanon, M. Zaheer, S. Sanghai, "
        "Y. Yang, S. Kumar and S. Bhojanapalli, Functional interpolation for relative positions "
        "improves long context transformers, ICLR, 2024. arXiv:2310.04418.",
        "lin2017": "H. W. Lin and M. Tegmark, Critical behavior in physics and probabilistic "
        "formal languages, Entropy 19, 299, 2017. arXiv:1606.06737.",
        "lin2025": "Z. Lin, E. Nikishin, X. O. He and A. Courville, Forgetting transformer: "
        "softmax attention with a forget gate, ICLR, 2025. arXiv:2503.02130.",
        "liu2022": "Z. Liu, H. Hu, Y. Lin, Z. Yao, Z. Xie, Y. Wei, J. Ning, Y. Cao, Z. Zhang, "
        "L. Dong, F. Wei and B. Guo, Swin Transformer V2: scaling up capacity and resolution, "
        "CVPR, 2022. arXiv:2111.09883.",
        "liu2025": "X. Liu, Y. Song, Z. Liu, Z. Huang, Q. Guo, Z. Liu, S. Lian, Z. He and X. Qiu, "
        "Beyond real: imaginary extension of rotary position embeddings for long-context LLMs, "
        "arXiv:2512.07525, 2025.",
        "loshchilov2019": "I. Loshchilov and F. Hutter, Decoupled weight decay regularization, "
        "ICLR, 2019. arXiv:1711.05101.",
        "mezzadri2007": "F. Mezzadri, How to generate random matrices from the classical compact "
        "groups, Notices of the American Mathematical Society 54, 592-604, 2007.",
        "michel2019": "P. Michel, O. Levy and G. Neubig, Are sixteen heads really better than "
        "one?, NeurIPS, 2019. arXiv:1905.10650.",
        "milakov2018": "M. Milakov and N. Gimelshein, Online normalizer calculation for softmax, "
        "arXiv:1805.02867, 2018.",
        "moler2003": "C. Moler and C. Van Loan, Nineteen dubious ways to compute the exponential "
        "of a matrix, twenty-five years later, SIAM Review 45, 3-49, 2003.",
        "movahedi2026": "S. Movahedi, T. Carstensen, A. Afzal, F. Hutter, A. Orvieto and "
        "V. Cevher, Selective rotary position embedding, ICLR, 2026. arXiv:2511.17388.",
        "mpmath": "F. Johansson and the mpmath developers, mpmath: a Python library for "
        "arbitrary-precision floating-point arithmetic, version 1.3, 2023. https://mpmath.org",
        "nakanishi2025": "K. M. Nakanishi, Scalable-softmax is superior for attention, "
        "arXiv:2501.19399, 2025.",
        "noordewier1991": "M. O. Noordewier, G. G. Towell and J. W. Shavlik, Training "
        "knowledge-based neural networks to recognize genes in DNA sequences, NeurIPS, 1991; the "
        "rows are in the UCI repository.",
        "nunez2018": "J. R. Nuñez, C. R. Anderton and R. S. Renslow, Optimizing colormaps with "
        "consideration for color vision deficiency, PLoS ONE 13, e0199239, 2018.",
        "oka2025": "Y. Oka, T. Hasegawa, K. Nishida and K. Saito, Wavelet-based positional "
        "representation for long context, ICLR, 2025. arXiv:2502.02004.",
        "okabe2008": "M. Okabe and K. Ito, Color universal design: how to make figures and "
        "presentations that are friendly to colorblind people, 2008. "
        "https://jfly.uni-koeln.de/color",
        "ostmeier2024": "S. Ostmeier et al., LieRE: Lie rotational positional encodings, "
        "arXiv:2406.10322, 2024.",
        "pearlmutter1994": "B. A. Pearlmutter, Fast exact multiplication by the Hessian, Neural "
        "Computation 6, 147-160, 1994.",
        "peng2024": "B. Peng, J. Quesnelle, H. Fan and E. Shippole, YaRN: efficient context window "
        "extension of large language models, ICLR, 2024. arXiv:2309.00071.",
        "press2021": "O. Press, N. A. Smith and M. Lewis, Train short, test long: attention with "
        "linear biases enables input length extrapolation, ICLR, 2022. arXiv:2108.12409.",
        "puranik2026": "A. Puranik, Using group theory to explore the space of positional "
        "encodings for attention, Jane Street blog, April 2026.",
        "raffel2020": "C. Raffel, N. Shazeer, A. Roberts, K. Lee, S. Narang, M. Matena, Y. Zhou, "
        "W. Li and P. J. Liu, Exploring the limits of transfer learning with a unified "
        "text-to-text transformer, Journal of Machine Learning Research 21, 1-67, 2020. "
        "arXiv:1910.10683.",
        "ramsay1988": "J. O. Ramsay, Monotone regression splines in action, Statistical Science "
        "3 (4), 425-441, 1988.",
        "ransom2002": "S. M. Ransom, S. S. Eikenberry and J. Middleditch, Fourier techniques for "
        "very long astrophysical time-series analysis, Astronomical Journal 124, 1788-1809, 2002.",
        "rissanen1978": "J. Rissanen, Modeling by shortest data description, Automatica 14, "
        "465-471, 1978.",
        "roy1989": "R. Roy and T. Kailath, ESPRIT: estimation of signal parameters via rotational "
        "invariance techniques, IEEE Transactions on Acoustics, Speech and Signal Processing 37, "
        "984-995, 1989.",
        "roy2007": "O. Roy and M. Vetterli, The effective rank: a measure of effective "
        "dimensionality, European Signal Processing Conference, 606-610, 2007.",
        "ruoss2023": "A. Ruoss, G. Deletang, T. Genewein, J. Grau-Moya, R. Csordas, M. Bennani, "
        "S. Legg and J. Veness, Randomized positional encodings boost length generalization of "
        "transformers, ACL, 2023. arXiv:2305.16843.",
        "ruzieh1990": "S. N. Ruzieh and D. L. Powers, The distance spectrum of the path P_n and "
        "the first distance eigenvector of connected graphs, Linear and Multilinear Algebra 28, "
        "75-81, 1990.",
        "sainte-lague1910": "A. Sainte-Lague, La representation proportionnelle et la methode des "
        "moindres carres, Annales scientifiques de l'Ecole Normale Superieure 27, 529-542, 1910.",
        "schenck2025": "C. Schenck et al., Learning the RoPEs: better 2D and 3D position encodings "
        "with STRING, ICML, 2025. arXiv:2502.02562.",
        "shannon1949": "C. E. Shannon, Communication in the presence of noise, Proceedings of the "
        "IRE 37 (1), 10-21, 1949.",
        "shaw2018": "P. Shaw, J. Uszkoreit and A. Vaswani, Self-attention with relative position "
        "representations, NAACL, 2018. arXiv:1803.02155.",
        "shepard1962": "R. N. Shepard, The analysis of proximities: multidimensional scaling with "
        "an unknown distance function, Psychometrika 27, 125-140 and 219-246, 1962.",
        "simeoni2025": "O. Siméoni et al., DINOv3, arXiv:2508.10104, 2025.",
        "socher2013": "R. Socher, A. Perelygin, J. Wu, J. Chuang, C. D. Manning, A. Ng and C. "
        "Potts, Recursive deep models for semantic compositionality over a sentiment treebank, "
        "EMNLP, 2013.",
        "spearman1904": "C. Spearman, The proof and measurement of association between two "
        "things, American Journal of Psychology 15, 72-101, 1904.",
        "steele2014": "G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number "
        "generators, OOPSLA, 2014.",
        "student1908": "Student, The probable error of a mean, Biometrika 6, 1-25, 1908.",
        "su2021": "J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen and Y. Liu, RoFormer: enhanced "
        "transformer with rotary position embedding, arXiv:2104.09864, 2021.",
        "sun2022": "Y. Sun, L. Dong, B. Patra, S. Ma, S. Huang, A. Benhaim, V. Chaudhary, X. Song "
        "and F. Wei, A length-extrapolatable transformer, ACL, 2023. arXiv:2212.10554.",
        "sun2023": "Y. Sun, L. Dong, S. Huang, S. Ma, Y. Xia, J. Xue, J. Wang and F. Wei, "
        "Retentive network: a successor to transformer for large language models, "
        "arXiv:2307.08621, 2023.",
        "torgerson1952": "W. S. Torgerson, Multidimensional scaling: I. Theory and method, "
        "Psychometrika 17, 401-419, 1952.",
        "trampus1966": "A. Trampus, A canonical basis for the matrix transformation X -> AX + XB, "
        "Journal of Mathematical Analysis and Applications 14, 242-252, 1966.",
        "varadhan2008": "R. Varadhan and C. Roland, Simple and globally convergent methods for "
        "accelerating the convergence of any EM algorithm, Scandinavian Journal of Statistics 35, "
        "335-353, 2008.",
        "vaswani2017": "A. Vaswani, N. Shazeer, N. Parmar, J. Uszkoreit, L. Jones, A. N. Gomez, "
        "L. Kaiser and I. Polosukhin, Attention is all you need, NeurIPS, 2017. arXiv:1706.03762.",
        "wang2021": "P. Wang, rotary-embedding-torch, 2021. "
        "https://github.com/lucidrains/rotary-embedding-torch",
        "wang2022": "W. Wang, L. Yao, L. Chen, B. Lin, D. Cai, X. He and W. Liu, CrossFormer: a "
        "versatile vision transformer hinging on cross-scale attention, ICLR, 2022. "
        "arXiv:2108.00154.",
        "wang2024": "P. Wang et al., Qwen2-VL: enhancing vision-language model's perception of the "
        "world at any resolution, arXiv:2409.12191, 2024.",
        "westfall1993": "P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing, Wiley, "
        "1993.",
        "wolf2020": "T. Wolf et al., Transformers: state-of-the-art natural language processing, "
        "EMNLP System Demonstrations, 2020; modeling_rope_utils of releases 4.57 and 5.22. "
        "https://github.com/huggingface/transformers",
        "xiong2020": "R. Xiong et al., On layer normalization in the Transformer architecture, "
        "ICML, 2020. arXiv:2002.04745.",
        "yang2025": "B. Yang, B. Venkitesh, D. Talupuru, H. Lin, D. Cairuz, P. Blunsom and "
        "A. Locatelli, Rope to Nope and back again: a new hybrid attention strategy, NeurIPS, "
        "2025. arXiv:2501.18795.",
        "yang2025path": "S. Yang et al., PaTH attention: position encoding via accumulating "
        "Householder transformations, NeurIPS, 2025. arXiv:2505.16381.",
        "yu2025": "H. Yu et al., ComRoPE: scalable and robust rotary position embedding "
        "parameterized by trainable commuting angle matrices, CVPR, 2025. arXiv:2506.03737.",
        "zhang2025": "Y. Zhang, Z. Chen, Y. Liu, Z. Qin, H. Yuan, K. Xu, Y. Yuan, Q. Gu and "
        "A. C.-C. Yao, Group representational position encoding, ICLR, 2026. arXiv:2512.07805.",
        "zhang2026": "Y. Zhang, Jordan-RoPE: non-semisimple relative positional encoding via "
        "complex Jordan blocks, arXiv:2605.04217, 2026.",
        "zheng2024": "C. Zheng, Y. Gao, H. Shi, M. Huang, J. Li, J. Xiong, X. Ren, M. Ng, "
        "X. Jiang, Z. Li and Y. Li, DAPE: data-adaptive positional encoding for length "
        "extrapolation, NeurIPS, 2024. arXiv:2405.14722.",
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
