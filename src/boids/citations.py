"""BibTeX entries of the methods' papers; `cite` gives those of one method."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from boids.errors import MethodError, did_you_mean, shown

_ENTRIES: Mapping[str, str] = MappingProxyType(
    {
        "ngo2025boids": """@inproceedings{ngo2025boids,
  title     = {{BOIDS}: High-Dimensional {B}ayesian Optimization via Incumbent-Guided Direction Lines
               and Subspace Embeddings},
  author    = {Ngo, Lam and Ha, Huong and Chan, Jeffrey and Zhang, Hongyu},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year      = {2025}
}""",
        "jones1998efficient": """@article{jones1998efficient,
  title   = {Efficient Global Optimization of Expensive Black-Box Functions},
  author  = {Jones, Donald R. and Schonlau, Matthias and Welch, William J.},
  journal = {Journal of Global Optimization},
  volume  = {13},
  number  = {4},
  pages   = {455--492},
  year    = {1998}
}""",
        "thompson1933likelihood": """@article{thompson1933likelihood,
  title   = {On the Likelihood that One Unknown Probability Exceeds Another in View of the Evidence of Two Samples},
  author  = {Thompson, William R.},
  journal = {Biometrika},
  volume  = {25},
  number  = {3/4},
  pages   = {285--294},
  year    = {1933}
}""",
        "hvarfner2024vanilla": """@inproceedings{hvarfner2024vanilla,
  title     = {Vanilla {B}ayesian Optimization Performs Great in High Dimensions},
  author    = {Hvarfner, Carl and Hellsten, Erik Orm and Nardi, Luigi},
  booktitle = {Proceedings of the 41st International Conference on Machine Learning},
  series    = {Proceedings of Machine Learning Research},
  volume    = {235},
  year      = {2024}
}""",
        "ament2023unexpected": """@inproceedings{ament2023unexpected,
  title     = {Unexpected Improvements to Expected Improvement for {B}ayesian Optimization},
  author    = {Ament, Sebastian and Daulton, Samuel and Eriksson, David and Balandat, Maximilian and Bakshy, Eytan},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {36},
  year      = {2023}
}""",
        "kirschner2019adaptive": """@inproceedings{kirschner2019adaptive,
  title     = {Adaptive and Safe {B}ayesian Optimization in High Dimensions via One-Dimensional Subspaces},
  author    = {Kirschner, Johannes and Mutn{\\'y}, Mojm{\\'i}r and Hiller, Nicole
               and Ischebeck, Rasmus and Krause, Andreas},
  booktitle = {Proceedings of the 36th International Conference on Machine Learning},
  series    = {Proceedings of Machine Learning Research},
  volume    = {97},
  year      = {2019}
}""",
        "papenmeier2022increasing": """@inproceedings{papenmeier2022increasing,
  title     = {Increasing the Scope as You Learn: Adaptive {B}ayesian Optimization in Nested Subspaces},
  author    = {Papenmeier, Leonard and Nardi, Luigi and Poloczek, Matthias},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {35},
  year      = {2022}
}""",
        "nayebi2019framework": """@inproceedings{nayebi2019framework,
  title     = {A Framework for {B}ayesian Optimization in Embedded Subspaces},
  author    = {Nayebi, Amin and Munteanu, Alexander and Poloczek, Matthias},
  booktitle = {Proceedings of the 36th International Conference on Machine Learning},
  series    = {Proceedings of Machine Learning Research},
  volume    = {97},
  year      = {2019}
}""",
        "letham2020reexamining": """@inproceedings{letham2020reexamining,
  title     = {Re-Examining Linear Embeddings for High-Dimensional {B}ayesian Optimization},
  author    = {Letham, Benjamin and Calandra, Roberto and Rai, Akshara and Bakshy, Eytan},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {33},
  year      = {2020}
}""",
        "eriksson2021high": """@inproceedings{eriksson2021high,
  title     = {High-Dimensional {B}ayesian Optimization with Sparse Axis-Aligned Subspaces},
  author    = {Eriksson, David and Jankowiak, Martin},
  booktitle = {Proceedings of the Thirty-Seventh Conference on Uncertainty in Artificial Intelligence},
  series    = {Proceedings of Machine Learning Research},
  volume    = {161},
  year      = {2021}
}""",
        "eriksson2019scalable": """@inproceedings{eriksson2019scalable,
  title     = {Scalable Global Optimization via Local {B}ayesian Optimization},
  author    = {Eriksson, David and Pearce, Michael and Gardner, Jacob and Turner, Ryan D. and Poloczek, Matthias},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {32},
  year      = {2019}
}""",
        "ngo2024high": """@article{ngo2024high,
  title   = {High-dimensional {B}ayesian Optimization via Covariance Matrix Adaptation Strategy},
  author  = {Ngo, Lam and Ha, Huong and Chan, Jeffrey and Nguyen, Vu and Zhang, Hongyu},
  journal = {Transactions on Machine Learning Research},
  year    = {2024}
}""",
        "ziomek2023random": """@inproceedings{ziomek2023random,
  title     = {Are Random Decompositions all we need in High Dimensional {B}ayesian Optimisation?},
  author    = {Ziomek, Juliusz Krzysztof and Bou-Ammar, Haitham},
  booktitle = {Proceedings of the 40th International Conference on Machine Learning},
  series    = {Proceedings of Machine Learning Research},
  volume    = {202},
  year      = {2023}
}""",
        "hansen2001completely": """@article{hansen2001completely,
  title   = {Completely Derandomized Self-Adaptation in Evolution Strategies},
  author  = {Hansen, Nikolaus and Ostermeier, Andreas},
  journal = {Evolutionary Computation},
  volume  = {9},
  number  = {2},
  pages   = {159--195},
  year    = {2001}
}""",
        "hansen2019pycma": """@misc{hansen2019pycma,
  title     = {{CMA-ES/pycma} on {G}ithub},
  author    = {Hansen, Nikolaus and Akimoto, Youhei and Baudis, Petr},
  publisher = {Zenodo},
  doi       = {10.5281/zenodo.2559634},
  year      = {2019}
}""",
        "kennedy1995particle": """@inproceedings{kennedy1995particle,
  title     = {Particle Swarm Optimization},
  author    = {Kennedy, James and Eberhart, Russell},
  booktitle = {Proceedings of ICNN'95 -- International Conference on Neural Networks},
  volume    = {4},
  pages     = {1942--1948},
  year      = {1995}
}""",
        "bergstra2012random": """@article{bergstra2012random,
  title   = {Random Search for Hyper-Parameter Optimization},
  author  = {Bergstra, James and Bengio, Yoshua},
  journal = {Journal of Machine Learning Research},
  volume  = {13},
  pages   = {281--305},
  year    = {2012}
}""",
        "sobol1967distribution": """@article{sobol1967distribution,
  title   = {On the Distribution of Points in a Cube and the Approximate Evaluation of Integrals},
  author  = {Sobol', Il'ya Meerovich},
  journal = {USSR Computational Mathematics and Mathematical Physics},
  volume  = {7},
  number  = {4},
  pages   = {86--112},
  year    = {1967}
}""",
        "owen1998scrambling": """@article{owen1998scrambling,
  title   = {Scrambling {S}obol' and {N}iederreiter--{X}ing Points},
  author  = {Owen, Art B.},
  journal = {Journal of Complexity},
  volume  = {14},
  number  = {4},
  pages   = {466--489},
  year    = {1998}
}""",
        "akiba2019optuna": """@inproceedings{akiba2019optuna,
  title     = {Optuna: A Next-generation Hyperparameter Optimization Framework},
  author    = {Akiba, Takuya and Sano, Shotaro and Yanase, Toshihiko and Ohta, Takeru and Koyama, Masanori},
  booktitle = {Proceedings of the 25th ACM SIGKDD International Conference on Knowledge Discovery and Data Mining},
  year      = {2019}
}""",
        "bergstra2011algorithms": """@inproceedings{bergstra2011algorithms,
  title     = {Algorithms for Hyper-Parameter Optimization},
  author    = {Bergstra, James and Bardenet, R{\\'e}mi and Bengio, Yoshua and K{\\'e}gl, Bal{\\'a}zs},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {24},
  year      = {2011}
}""",
        "nomura2024cmaes": """@article{nomura2024cmaes,
  title   = {cmaes: A Simple yet Practical {P}ython Library for {CMA-ES}},
  author  = {Nomura, Masahiro and Shibata, Masashi},
  journal = {arXiv preprint arXiv:2402.01373},
  year    = {2024}
}""",
        "balandat2020botorch": """@inproceedings{balandat2020botorch,
  title     = {{BoTorch}: A Framework for Efficient {M}onte-{C}arlo {B}ayesian Optimization},
  author    = {Balandat, Maximilian and Karrer, Brian and Jiang, Daniel R. and Daulton, Samuel and Letham, Benjamin
               and Wilson, Andrew Gordon and Bakshy, Eytan},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {33},
  year      = {2020}
}""",
        "rapin2018nevergrad": """@misc{rapin2018nevergrad,
  title     = {{Nevergrad} - A gradient-free optimization platform},
  author    = {Rapin, J{\\'e}r{\\'e}my and Teytaud, Olivier},
  howpublished = {\\url{https://github.com/facebookresearch/nevergrad}},
  year      = {2018}
}""",
        "meunier2022blackbox": """@article{meunier2022blackbox,
  title   = {Black-Box Optimization Revisited: Improving Algorithm Selection Wizards Through Massive Benchmarking},
  author  = {Meunier, Laurent and Rakotoarison, Herilalaina and Wong, Pak Kan and Roziere, Baptiste and Rapin, Jeremy
             and Teytaud, Olivier and Moreau, Antoine and Doerr, Carola},
  journal = {IEEE Transactions on Evolutionary Computation},
  volume  = {26},
  number  = {3},
  pages   = {490--500},
  year    = {2022}
}""",
        "lindauer2022smac3": """@article{lindauer2022smac3,
  title   = {{SMAC3}: A Versatile {B}ayesian Optimization Package for Hyperparameter Optimization},
  author  = {Lindauer, Marius and Eggensperger, Katharina and Feurer, Matthias and Biedenkapp, Andr{\\'e}
             and Deng, Difan and Benjamins, Carolin and Ruhkopf, Tim and Sass, Ren{\\'e} and Hutter, Frank},
  journal = {Journal of Machine Learning Research},
  volume  = {23},
  number  = {54},
  pages   = {1--9},
  year    = {2022}
}""",
    }
)

#: Which papers a method's users should cite, the method's own first.
_PAPERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "boids": ("ngo2025boids",),
        "standard-bo": ("jones1998efficient", "thompson1933likelihood"),
        "vanilla-bo": ("hvarfner2024vanilla", "ament2023unexpected"),
        "linebo": ("kirschner2019adaptive",),
        "baxus": ("papenmeier2022increasing",),
        "hesbo": ("nayebi2019framework",),
        "alebo": ("letham2020reexamining",),
        "saasbo": ("eriksson2021high",),
        "turbo": ("eriksson2019scalable",),
        "cmabo": ("ngo2024high", "hansen2019pycma"),
        "rducb": ("ziomek2023random",),
        "cmaes": ("hansen2001completely", "hansen2019pycma"),
        "pso": ("kennedy1995particle",),
        "random": ("bergstra2012random",),
        "sobol": ("sobol1967distribution", "owen1998scrambling"),
        "optuna-tpe": ("akiba2019optuna", "bergstra2011algorithms"),
        "optuna-cmaes": ("akiba2019optuna", "nomura2024cmaes", "hansen2001completely"),
        "optuna-gp": ("akiba2019optuna",),
        "botorch": ("balandat2020botorch", "ament2023unexpected", "hvarfner2024vanilla"),
        "nevergrad": ("rapin2018nevergrad", "meunier2022blackbox"),
        "smac": ("lindauer2022smac3",),
    }
)


def cite(method: str) -> str:
    """Return the BibTeX entries of a method's papers, such as those of ``"turbo"``.

    Raises
    ------
    MethodError
        If there is no such method.

    Examples
    --------
    >>> print(cite("pso").splitlines()[1].strip())
    title     = {Particle Swarm Optimization},
    """
    if not isinstance(method, str) or method not in _PAPERS:
        hint = did_you_mean(str(method), _PAPERS, "see the list.")
        known = ", ".join(sorted(_PAPERS))
        raise MethodError(f"There is no paper of a method {shown(method)}; {hint} Methods: {known}.")
    return "\n\n".join(_ENTRIES[key] for key in _PAPERS[method]) + "\n"
