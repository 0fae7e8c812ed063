"""The settings of BOIDS, each with its default and where that comes from, and the two published versions.

Ngo, Ha, Chan & Zhang (BOIDS), AAAI 2025. "paper" is the text, "released code" what the authors' program computes,
"ours" a choice of this package. docs/deviations.md tells the whole story.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from boids.blocks.design import DesignName
from boids.blocks.nsga2 import NSGA2
from boids.blocks.scaling import Centre
from boids.errors import MethodError
from boids.gp.model import Surrogate
from boids.gp.training import TrainingName
from boids.settings import check_settings, setting


@dataclass(frozen=True)
class BoidsSettings:
    """What can be set; `Boids` adds what happens."""

    #: Named versions: class methods that take settings as keyword arguments.
    presets: ClassVar[tuple[str, ...]] = ("paper", "released")

    # Incumbent-guided lines
    particles: int = setting(20, "paper: m = 20", least=1)
    inertia: float = setting(0.729, "paper: w = 0.729", least=0)
    cognitive: float = setting(2.05 * 0.729, "paper: c1 = 2.05 w", least=0)
    social: float = setting(2.05 * 0.729, "paper: c2 = 2.05 w", least=0)
    n_init: int = setting(20, "released code; the paper does not say (5 in runs with sweeps)", least=1)
    design: DesignName = setting("latin-hypercube", "released code")
    first_particles: Literal["design", "random"] = setting(
        "design", "released code: all of the design, the best always among them; paper: m random ones"
    )
    initial_velocity: Literal["uniform", "zero"] = setting("uniform", "released code: U[-1, 1]^d")
    zero_direction: Literal["positive", "symmetric"] = setting(
        "positive", "released code: a particle that stands still gets U[0, 1]^d"
    )
    line_extent: Literal["chord", "ray"] = setting("chord", "released code: both sides of the particle")
    incumbents: Literal["run", "all"] = setting("run", "released code: g of the current run; paper: of all data")
    # Line selection
    bandit_candidates: int = setting(5000, "released code: at most this many over all lines", least=1)
    # Line optimisation
    line_search: Literal["nsga2", "climb"] = setting(
        "climb", "ours: L-BFGS-B on logei from the line and around the best; paper: NSGA-II with two distances"
    )
    acquisition: Literal["ts", "ts-pathwise", "ei", "logei", "ucb"] = setting(
        "logei", "ours; paper: Thompson sampling (ts-pathwise); released code: marginal, with noise fixed per row (ts)"
    )
    line_samples: int = setting(256, "ours: points of the line to choose starts from (climb)", least=1)
    near_samples: int = setting(256, "ours: points around the best of the run (climb)", least=0)
    near_spread: float = setting(0.2, "BoTorch: 0.1 of the side of the box (climb)", least=1e-6)
    climbs: int = setting(4, "BoTorch: 4 starts (climb)", least=1)
    climb_evaluations: int = setting(100, "ours: of the climb that goes on (climb)", least=1)
    trial_evaluations: int = setting(10, "ours: of every climb, after which only the highest goes on (climb)", least=1)
    ts_noise: bool = setting(True, "released code: draws include the observation noise; paper: they do not")
    ucb_beta: float = setting(3.0, "released code: mean + √3 std", least=0)
    path_features: int = setting(1024, "ours: random features of a posterior draw", least=1)
    candidates_per_dim: int = setting(100, "released code: min(100 d, 5000) starting points on the line", least=1)
    max_candidates: int = setting(5000, "released code", least=1)
    distances: Literal["subspace", "input"] = setting(
        "subspace", "released code: |z - g| in the subspace; paper: in the input space"
    )
    search: NSGA2 = setting(NSGA2(), "paper: NSGA-II, population 100, 100 generations, pymoo's operators")
    search_precision: Literal["single", "double"] = setting(
        "single", "ours: noisy Thompson values need no more; everything else always uses double"
    )
    # Sweeps
    sweep_from: float | None = setting(
        6.0,
        "ours: from so many evaluations per parameter on, sweeps though few of them may matter; None: no sweeps",
        least=1,
    )
    sweep_probe_from: float | None = setting(
        3.0,
        "ours: from so many per parameter on (180 in all, 20 parameters) sweeps are begun, and given up if parameters "
        "act together, or (below sweep_from) if few matter; None: they begin from sweep_from on, and are not given up",
        least=1,
    )
    sweep_signal_variance: float | None = setting(
        5.0,
        "ours: of the default surrogate, since sweeps lead several deviations below the mean; None: its own",
        least=1e-6,
    )
    # Nested subspaces
    new_bins: int = setting(3, "paper: b = 3", least=1)
    initial_dim: int | None = setting(
        4, "ours: few bad first subspaces; None, paper and BAxUS: the d_0 ≤ 3 whose splits end closest to D", least=1
    )
    budget_until_input_dim: int | None = setting(None, "released code: the whole budget; paper: 1000", least=1)
    renew_from: float | None = setting(
        6.0,
        "ours: from so many evaluations per parameter on (20 parameters) a search that stands still in the whole space "
        "begins anew in subspaces, through the best point (not with sweeps or noise); None: never",
        least=1,
    )
    renew_after: int = setting(
        100, "ours: evaluations in the whole space without a gain, doubled after every beginning in vain", least=1
    )
    centred_on_guests: bool = setting(
        True, "ours: the first subspace goes through the best point known beforehand; False: the middle of the box"
    )
    failure_tolerance: Literal["released", "baxus"] = setting(
        "released", "released code: 1 in every subspace, by a sign error that pays; paper: the formula of BAxUS"
    )
    counters: Literal["reached", "exceeded"] = setting(
        "reached", "released code: K changes when a counter reaches its tolerance; paper: when it exceeds it"
    )
    success_threshold: float = setting(
        1e-3, "released code: better by more than 0.1 % of |best|; paper: better at all", least=0
    )
    success_tolerance: int = setting(3, "paper: tau_succ = 3", least=1)
    termination_initial: int = setting(1, "paper: K_init = 1", least=0)
    termination_min: int = setting(0, "paper: K_min = 0", least=0)
    termination_max: int = setting(12, "ours: a few evaluations more in small subspaces; paper: K_max = 7", least=0)
    # Surrogate
    surrogate: Surrogate = setting(
        Surrogate.regularised(),
        "ours: the paper's Matérn-5/2 ARD with unit signal variance and priors; paper: free and without priors",
    )
    rivals: bool = setting(
        True,
        "ours: of four versions of the default surrogate the one is used that predicts best (not with constraints)",
    )
    training: TrainingName = setting(
        "warm", "ours: warm-started L-BFGS-B; released code: 50 configurations, 5 × 50 steps of Adam"
    )
    refit_fraction: float = setting(0.02, "ours: refit when the data have grown by this share (warm training)", least=0)
    max_points: int | None = setting(
        2000, "ours: beyond so many rows the models are made of those around the swarm; None: never", least=1
    )
    standardise: Centre = setting("mean", "released code; BAxUS: median")
    unskew: bool = setting(True, "ours: a long tail of bad values is drawn in (Yeo-Johnson), unless they are noisy")
    flat_spread: float = setting(0.0, "ours: judged by rounding error; released code: 1e-6", least=0)
    failures: Literal["modelled", "worst"] = setting(
        "modelled", "ours: a process of its own learns where evaluations fail; else they count as the worst value seen"
    )
    # Ablations of the paper's section 5.4
    guided_lines: bool = setting(True, "ablation: False draws directions from U[-2, 2]^d")
    line_selection: bool = setting(True, "ablation: False picks a line at random")
    line_optimisation: bool = setting(True, "ablation: False minimises alpha alone, started all over the box")
    embedding: bool = setting(True, "ablation: False works in the input space from the start")

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The algorithm as the paper writes it."""
        published: dict[str, Any] = {
            "failure_tolerance": "baxus",
            "budget_until_input_dim": 1000,
            "counters": "exceeded",
            "success_threshold": 0.0,
            "line_search": "nsga2",
            "acquisition": "ts-pathwise",
            "ts_noise": False,
            "training": "multistart",
            "incumbents": "all",
            "first_particles": "random",
            "distances": "input",
            "surrogate": Surrogate(),
            "rivals": False,
            "unskew": False,
            "max_points": None,
            "sweep_from": None,
            "renew_from": None,
            "termination_max": 7,
            "initial_dim": None,
        }
        return cls(**{**published, **changes})

    @classmethod
    def released(cls, **changes: Any) -> Self:
        """The algorithm as the released code computes it, without its crashes."""
        published: dict[str, Any] = {
            "failure_tolerance": "released",
            "line_search": "nsga2",
            "acquisition": "ts",
            "training": "released",
            "surrogate": Surrogate(),
            "rivals": False,
            "unskew": False,
            "flat_spread": 1e-6,
            "search_precision": "double",
            "max_points": None,
            "sweep_from": None,
            "renew_from": None,
            "termination_max": 7,
            "initial_dim": None,
        }
        return cls(**{**published, **changes})

    def __post_init__(self) -> None:
        check_settings(self)
        if self.line_search == "climb" and self.acquisition != "logei":
            raise MethodError(
                f"line_search='climb' follows acquisition='logei' only; got {self.acquisition!r}, which needs 'nsga2'."
            )
        if not self.termination_min <= self.termination_initial <= self.termination_max:
            raise MethodError(
                "termination_min ≤ termination_initial ≤ termination_max must hold; got "
                f"{self.termination_min}, {self.termination_initial}, {self.termination_max}."
            )
