"""BOIDS: incumbent-guided direction lines in a growing subspace.

Ngo, Ha, Chan & Zhang, *BOIDS: High-Dimensional Bayesian Optimization via Incumbent-Guided Direction Lines and Subspace
Embeddings*, AAAI 2025. Where the paper and its released code differ, a setting says which; docs/deviations.md lists all.

Notation
--------
D, d    input dimension, subspace dimension (d_A of the paper)
m       particles, each with a line through it
U, y    history: points (n, D) in [-1, 1]^D and values (n,)
Z       the rows of U of the current run, in the subspace      (n, d)
p_i, g  personal and global incumbents                          (d,)
alpha   acquisition value, to be minimised
K       termination factor: the subspace is left when K > K_max
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, final, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from boids.algorithms.settings import setting
from boids.blocks import acquisition, schedule
from boids.blocks.bandit import select_line
from boids.blocks.design import DESIGNS, DesignName
from boids.blocks.embedding import Embedding
from boids.blocks.line import Lines
from boids.blocks.nsga2 import NSGA2
from boids.blocks.patience import Patience, PatienceRules
from boids.blocks.scaling import Centre, standardise
from boids.blocks.stopwatch import Stopwatch
from boids.blocks.swarm import Swarm
from boids.errors import MethodError
from boids.gp.fit import ReleasedTraining, fit, screened_starts
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.paths import Path, draw_path
from boids.gp.posterior import Posterior
from boids.records import FloatArray, History, IntArray, Outcome, Proposal

#: The `line` of a proposal that belongs to the initial design.
DESIGN = -1


@final
@dataclass(frozen=True, slots=True)
class BoidsState:
    """Everything that changes during a run, but for the history."""

    input_dim: int
    budget: int
    asked: int
    epoch: int  # restarts so far
    embedding: Embedding
    initial_dim: int
    splits: int
    queue: FloatArray  # design points not handed out yet (k, d)
    rows: IntArray  # rows of the history that belong to the current run (n,)
    swarm: Swarm | None
    moves: IntArray  # how often each line was followed in this run (m,)
    patience: Patience
    hyper: Hyperparameters | None
    fitted_at: int  # number of rows at the last fit

    def data(self, history: History) -> tuple[FloatArray, FloatArray]:
        """Return Z and y of the current run."""
        return self.embedding.project(history.units[self.rows]), history.values[self.rows]


@final
@dataclass(frozen=True)
class Boids:
    """The settings, each with its source; `Boids.paper()` and `Boids.released()` are the two published versions."""

    name: ClassVar[str] = "boids"
    summary: ClassVar[str] = "incumbent-guided lines in a nested random subspace (this package's own default)"
    reference: ClassVar[str] = "Ngo, Ha, Chan & Zhang, AAAI 2025"
    State: ClassVar[type[BoidsState]] = BoidsState
    #: Named versions: class methods that take settings as keyword arguments.
    presets: ClassVar[tuple[str, ...]] = ("paper", "released")

    # Incumbent-guided lines
    particles: int = setting(20, "paper: m = 20")
    inertia: float = setting(0.729, "paper: w = 0.729")
    cognitive: float = setting(2.05 * 0.729, "paper: c1 = 2.05 w")
    social: float = setting(2.05 * 0.729, "paper: c2 = 2.05 w")
    n_init: int = setting(20, "released code; the paper does not say")
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
    bandit_candidates: int = setting(5000, "released code: at most this many over all lines")
    # Line optimisation
    acquisition: Literal["ts", "ts-pathwise", "ei", "logei", "ucb"] = setting(
        "ts", "paper: Thompson sampling; released code: marginal, with noise fixed per row"
    )
    ts_noise: bool = setting(True, "released code: draws include the observation noise; paper: they do not")
    ucb_beta: float = setting(3.0, "released code: mean + √3 std")
    path_features: int = setting(1024, "ours: random features of a posterior draw")
    candidates_per_dim: int = setting(100, "released code: min(100 d, 5000) starting points on the line")
    max_candidates: int = setting(5000, "released code")
    clip_candidates: bool = setting(True, "ours; the released code lets rounding leave the box")
    distances: Literal["subspace", "input"] = setting(
        "subspace", "released code: |z - g| in the subspace; paper: in the input space"
    )
    search: NSGA2 = setting(NSGA2(), "paper: NSGA-II, population 100, 100 generations, pymoo's operators")
    search_precision: Literal["single", "double"] = setting(
        "single", "ours: Thompson values need no more; EI, LogEI and UCB always use double"
    )
    # Nested subspaces
    new_bins: int = setting(3, "paper: b = 3")
    initial_dim: int | None = setting(None, "BAxUS: the d_0 whose splits end closest to D; a number fixes it")
    budget_until_input_dim: int | None = setting(None, "released code: the whole budget; paper: 1000")
    failure_tolerance: Literal["released", "baxus"] = setting(
        "released", "released code: 1 in every subspace (a sign error); paper: the formula of BAxUS"
    )
    counters: Literal["reached", "exceeded"] = setting(
        "reached", "released code: K changes when a counter reaches its tolerance; paper: when it exceeds it"
    )
    success_threshold: float = setting(1e-3, "released code: better by more than 0.1 % of |best|; paper: better at all")
    success_tolerance: int = setting(3, "paper: tau_succ = 3")
    termination_initial: int = setting(1, "paper: K_init = 1")
    termination_min: int = setting(0, "paper: K_min = 0")
    termination_max: int = setting(7, "paper: K_max = 7")
    # Surrogate
    surrogate: Surrogate = setting(Surrogate(), "paper: Matérn-5/2 ARD with its bounds, no priors")
    training: Literal["warm", "multistart", "released"] = setting(
        "warm", "ours: warm-started L-BFGS-B; released code: 50 configurations, 5 × 50 steps of Adam"
    )
    refit_fraction: float = setting(0.02, "ours: refit when the data have grown by this share (warm training)")
    standardise: Centre = setting("mean", "released code; BAxUS: median")
    flat_spread: float = setting(0.0, "ours: judged by rounding error; released code: 1e-6")
    # Ablations of the paper's section 5.4
    guided_lines: bool = setting(True, "ablation: False draws directions from U[-2, 2]^d")
    line_selection: bool = setting(True, "ablation: False picks a line at random")
    line_optimisation: bool = setting(True, "ablation: False minimises alpha alone, started all over the box")
    embedding: bool = setting(True, "ablation: False works in the input space from the start")

    @classmethod
    def paper(cls, **changes: Any) -> Boids:
        """The algorithm as the paper writes it."""
        published: dict[str, Any] = {
            "failure_tolerance": "baxus",
            "budget_until_input_dim": 1000,
            "counters": "exceeded",
            "success_threshold": 0.0,
            "acquisition": "ts-pathwise",
            "ts_noise": False,
            "training": "multistart",
            "incumbents": "all",
            "first_particles": "random",
            "distances": "input",
        }
        return cls(**{**published, **changes})

    @classmethod
    def released(cls, **changes: Any) -> Boids:
        """The algorithm as the released code computes it, without its crashes."""
        published: dict[str, Any] = {
            "training": "released",
            "flat_spread": 1e-6,
            "clip_candidates": False,
            "search_precision": "double",
        }
        return cls(**{**published, **changes})

    def __post_init__(self) -> None:
        check_settings(self)

    # ---------------------------------------------------------------------------------------- init, ask, tell

    def init(self, dim: int, budget: int, rng: np.random.Generator) -> BoidsState:
        """Draw the first subspace and its initial design."""
        if not self.embedding:
            start, splits = dim, 0
        elif self.initial_dim is not None:
            start = min(self.initial_dim, dim)
            splits = schedule.splits_from(start, dim, self.new_bins)
        else:
            start, splits = schedule.initial_dimension(dim, self.new_bins)
        blank = BoidsState(
            input_dim=dim,
            budget=budget,
            asked=0,
            epoch=-1,
            embedding=Embedding.random(dim, start, rng),
            initial_dim=start,
            splits=splits,
            queue=np.empty((0, start)),
            rows=np.empty(0, dtype=np.int64),
            swarm=None,
            moves=np.empty(0, dtype=np.int64),
            patience=Patience.fresh(self.rules),
            hyper=None,
            fitted_at=0,
        )
        return self._begin_run(blank, rng)

    def ready(self, state: BoidsState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return max(1, len(state.queue))

    def ask(
        self, state: BoidsState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[BoidsState, Proposal]:
        """Propose a design point, or the best point of the best line."""
        state = replace(state, asked=state.asked + 1)
        if len(state.queue):
            point, rest = state.queue[0], state.queue[1:]
            return replace(state, queue=rest), self._proposal(state, point, DESIGN)
        if not len(state.rows):
            # Every design point is still being evaluated: one more of its kind.
            return state, self._proposal(state, rng.uniform(-1.0, 1.0, state.embedding.dim), DESIGN)

        watch = Stopwatch()
        points, values = state.data(history)
        if state.swarm is None:
            swarm = self._first_swarm(points, values, rng)
            state = replace(state, swarm=swarm, moves=np.zeros(len(swarm), dtype=np.int64))
        with watch.phase("fit"):
            targets = standardise(values, self.standardise, self.flat_spread)
            state, posterior = self._condition(state, points, targets, rng)
            waiting = [p for p in pending if p.memo["epoch"] == state.epoch]
            if waiting:
                posterior = posterior.fantasise(state.embedding.project(np.array([p.unit for p in waiting])))
        with watch.phase("select"):
            swarm = self._led(state, history)
            lines = self._lines(swarm, rng)
            draw = self._draw(posterior, swarm.leader, rng)
            busy = [int(p.memo["line"]) for p in waiting if p.memo["line"] != DESIGN]  # type: ignore[arg-type]
            i, rewards = self._select_line(draw, posterior, lines, busy, rng)
        with watch.phase("optimise"):
            alpha = self._acquisition(posterior, draw, swarm.leader, float(targets.min()), rng)
            z = self._optimise_on_line(alpha, lines, i, swarm, state.embedding, rng)
        with watch.phase("lift"):
            proposal = self._proposal(state, z, i, reward=float(rewards[i]))
        return state, replace(proposal, times=watch.seconds)

    def tell(
        self,
        state: BoidsState,
        history: History,
        proposal: Proposal,
        outcome: Outcome,
        rng: np.random.Generator,
    ) -> BoidsState:
        """Move the particle of the proposal's line; leave the subspace when patience is exhausted."""
        if proposal.memo["epoch"] != state.epoch:
            return state  # from before a restart: the history has it, this run does not
        _, earlier = state.data(history)
        row = len(history) - 1
        state = replace(state, rows=np.append(state.rows, row))
        z = state.embedding.project(history.units[row])
        line = int(proposal.memo["line"])  # type: ignore[arg-type]
        if line == DESIGN:
            return self._join(state, z, outcome, rng)

        if state.swarm is not None and not outcome.failed:
            # A failed evaluation moves nobody: nothing is known there but that it failed.
            moves = state.moves.copy()
            moves[line] += 1
            state = replace(state, swarm=state.swarm.move(line, z, outcome.value), moves=moves)
        patience = state.patience.update(self._improved(earlier, outcome), self.tolerance(state), self.rules)
        state = replace(state, patience=patience)
        if not patience.exhausted(self.rules):
            return state
        return self._split(state, rng) if state.embedding.splittable else self._restart(state, rng)

    def diagnostics(self, state: BoidsState) -> dict[str, Any]:
        """Return where the run stands."""
        hyper = state.hyper
        return {
            "subspace_dim": state.embedding.dim,
            "restarts": state.epoch,
            "evaluations_in_run": len(state.rows),
            "K": state.patience.factor,
            "successes": state.patience.successes,
            "failures": state.patience.failures,
            "failure_tolerance": self.tolerance(state),
            "line_moves": state.moves.tolist(),
            "signal_variance": None if hyper is None else hyper.signal_variance,
            "noise_variance": None if hyper is None else hyper.noise_variance,
            "lengthscales": None if hyper is None else hyper.lengthscales.tolist(),
        }

    # ------------------------------------------------------------------------------------- the swarm and its lines

    def _first_swarm(self, points: FloatArray, values: FloatArray, rng: np.random.Generator) -> Swarm:
        """Choose the first particles among the evaluated design."""
        order = rng.permutation(len(points))
        if self.first_particles == "design" and len(order) > self.particles and not np.isnan(values).all():
            best = int(np.nanargmin(values))
            order = np.concatenate([[best], order[order != best]])
        # With fewer points than particles several particles start at one point, with velocities of their own;
        # but a restart with too few evaluations left gets a smaller swarm instead.
        wanted = self.particles if len(points) >= self.n_init else min(self.particles, len(points))
        chosen = np.resize(order, wanted)
        return Swarm.at(points[chosen], values[chosen], self._initial_velocity((wanted, points.shape[1]), rng))

    def _initial_velocity(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return np.zeros(shape) if self.initial_velocity == "zero" else rng.uniform(-1.0, 1.0, shape)

    def _join(self, state: BoidsState, z: FloatArray, outcome: Outcome, rng: np.random.Generator) -> BoidsState:
        """Take a design point that came back after the swarm had formed into the swarm, if there is room."""
        if state.swarm is None or len(state.swarm) >= self.particles:
            return state
        swarm = state.swarm.join(z, outcome.value, self._initial_velocity(z.shape, rng))
        return replace(state, swarm=swarm, moves=np.append(state.moves, 0))

    def _led(self, state: BoidsState, history: History) -> Swarm:
        """Return the swarm with its leader taken from all data if so configured (paper), else from the run."""
        swarm = _formed(state)
        if self.incumbents == "run" or np.isnan(history.values).all():
            return swarm
        # After a restart the subspace is the input space, so that older points have a place in it.
        best = int(np.nanargmin(history.values))
        return swarm.follow(state.embedding.project(history.units[best]), float(history.values[best]))

    def _lines(self, swarm: Swarm, rng: np.random.Generator) -> Lines:
        """Return the m lines: incumbent-guided (Eq. 1), or random in the ablation."""
        if self.guided_lines:
            vectors = swarm.velocities(self.inertia, self.cognitive, self.social, rng)
        else:
            vectors = rng.uniform(-2.0, 2.0, swarm.positions.shape)
        still = ~vectors.any(axis=1)
        if still.any():
            low = 0.0 if self.zero_direction == "positive" else -1.0
            vectors[still] = rng.uniform(low, 1.0, (int(still.sum()), vectors.shape[1]))
        lines = Lines.through(swarm.positions, vectors)
        return lines.one_sided() if self.line_extent == "ray" else lines

    # ---------------------------------------------------------------------------------------------- LINE-SELECT

    def _draw(self, posterior: Posterior, centre: FloatArray, rng: np.random.Generator) -> Path:
        """Draw g ~ GP(D)."""
        return draw_path(posterior, rng, self.path_features, self._thompson_dtype, centre)

    def _select_line(
        self, draw: Path, posterior: Posterior, lines: Lines, busy: list[int], rng: np.random.Generator
    ) -> tuple[int, FloatArray]:
        """Return the chosen line and the rewards of all (Eq. 2)."""
        count, dim = lines.origins.shape
        if not self.line_selection:
            return int(rng.integers(count)), np.full(count, np.nan)
        noise = math.sqrt(posterior.hyper.noise_variance) if self.ts_noise else 0.0

        def realisation(origins: FloatArray, directions: FloatArray, t: FloatArray) -> FloatArray:
            values = np.asarray(draw.on_lines(origins, directions, t), dtype=np.float64)
            return values + noise * rng.standard_normal(t.shape) if noise else values

        per_line = max(1, min(self.bandit_candidates // count, self._candidates(dim)))
        return select_line(realisation, lines, per_line, rng, avoid=busy)

    # ------------------------------------------------------------------------------------------------- LINE-OPT

    def _optimise_on_line(
        self,
        alpha: Callable[[NDArray[Any]], NDArray[Any]],
        lines: Lines,
        i: int,
        swarm: Swarm,
        embedding: Embedding,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the point of least alpha on the front of (alpha, |z - g|, |z - p_i|) (Eqs. 3 and 4)."""
        dim = lines.origins.shape[1]
        count = self._candidates(dim)
        dtype = self._search_dtype
        if not self.line_optimisation:
            start = rng.uniform(-1.0, 1.0, (count, dim)).astype(dtype)
            front = self.search.minimise(lambda z: alpha(z)[:, None], start, rng)
        else:
            start = lines.sample(i, count, rng, clip=self.clip_candidates).astype(dtype)
            root = np.sqrt(embedding.sizes) if self.distances == "input" else np.ones(dim)
            weights, targets = root.astype(dtype), np.stack([swarm.leader, swarm.best_positions[i]]).astype(dtype)

            def objectives(z: NDArray[Any]) -> NDArray[Any]:
                values = np.empty((len(z), 3), dtype=dtype)
                values[:, 0] = alpha(z)
                for k, target in enumerate(targets, start=1):
                    offset = (z - target) * weights
                    values[:, k] = np.sqrt(np.einsum("ij,ij->i", offset, offset))
                return values

            front = self.search.minimise(objectives, start, rng)
        chosen = front.points[int(np.argmin(front.values[:, 0]))]
        return np.asarray(np.clip(chosen, -1.0, 1.0), dtype=np.float64)

    def _acquisition(
        self, posterior: Posterior, draw: Path, centre: FloatArray, best: float, rng: np.random.Generator
    ) -> Callable[[NDArray[Any]], NDArray[Any]]:
        """Return alpha as a function of points, to be minimised."""
        if self.acquisition == "ts-pathwise":
            return draw
        predict = posterior.predictor(self._search_dtype, centre)
        if self.acquisition == "ts":
            # One normal per *row of a batch*, the same in every batch: what the released code does.
            rows = max(self._candidates(posterior.inputs.shape[1]), self.search.offspring or self.search.population)
            normals = rng.standard_normal(rows).astype(self._search_dtype)
            noise = posterior.hyper.noise_variance if self.ts_noise else 0.0
            return lambda z: acquisition.marginal_draw(*predict(z), normals, noise)
        if self.acquisition == "ei":
            return lambda z: acquisition.negative_ei(*predict(z), best)
        if self.acquisition == "logei":
            return lambda z: acquisition.negative_log_ei(*predict(z), best)
        return lambda z: acquisition.negative_ucb(*predict(z), self.ucb_beta)

    def _candidates(self, dim: int) -> int:
        return min(self.candidates_per_dim * dim, self.max_candidates)

    @property
    def _thompson_dtype(self) -> type[np.floating[Any]]:
        return np.float32 if self.search_precision == "single" else np.float64

    @property
    def _search_dtype(self) -> type[np.floating[Any]]:
        return self._thompson_dtype if self.acquisition in ("ts", "ts-pathwise") else np.float64

    # ------------------------------------------------------------------------------------------------ the surrogate

    def _condition(
        self, state: BoidsState, points: FloatArray, targets: FloatArray, rng: np.random.Generator
    ) -> tuple[BoidsState, Posterior]:
        """Fit the hyper-parameters if it is time to, and condition the process on the data."""
        likelihood = MarginalLikelihood(self.surrogate, points, targets)
        n, dim = points.shape
        hyper = state.hyper
        if self.training == "released":
            hyper = ReleasedTraining()(likelihood, rng)
        elif self.training == "multistart" or hyper is None:
            starts = [self.surrogate.default_start(dim), *screened_starts(likelihood, rng, 10, 2)]
            hyper = fit(likelihood, [*starts, hyper] if hyper is not None else starts)
        elif n - state.fitted_at >= max(1.0, self.refit_fraction * n):
            hyper = fit(likelihood, [hyper], max_evaluations=20)
        else:
            return state, Posterior.condition(self.surrogate, hyper, points, targets)
        return replace(state, hyper=hyper, fitted_at=n), Posterior.condition(self.surrogate, hyper, points, targets)

    # ------------------------------------------------------------------------------------------ nested subspaces

    @property
    def rules(self) -> PatienceRules:
        """The constants of the termination factor."""
        return PatienceRules(
            initial=self.termination_initial,
            minimum=self.termination_min,
            maximum=self.termination_max,
            success_tolerance=self.success_tolerance,
            exceed=self.counters == "exceeded",
        )

    def tolerance(self, state: BoidsState) -> int:
        """Return tau_fail for the present subspace."""
        dim = state.embedding.dim
        if self.failure_tolerance == "released":
            return schedule.unit_failure_tolerance(dim, state.input_dim)
        until = state.budget if self.budget_until_input_dim is None else self.budget_until_input_dim
        return schedule.baxus_failure_tolerance(
            dim, state.input_dim, state.initial_dim, state.splits, self.new_bins, max(until - self.n_init, 1)
        )

    def _improved(self, earlier: FloatArray, outcome: Outcome) -> bool:
        """Whether the outcome beats the run's best so far by more than the threshold."""
        if outcome.failed:
            return False
        known = earlier[~np.isnan(earlier)]
        if not len(known):
            return True
        best = float(known.min())
        return outcome.value < best - self.success_threshold * abs(best)

    def _split(self, state: BoidsState, rng: np.random.Generator) -> BoidsState:
        """Go on in a finer subspace; all data and the whole swarm come along."""
        hyper = state.hyper or self.surrogate.default_start(state.embedding.dim)
        embedding, parent = state.embedding.split(hyper.lengthscales, self.new_bins, rng)
        # A coordinate that becomes k copies needs √k times its length scale for the same correlations.
        copies = np.bincount(parent, minlength=state.embedding.dim)
        carried = replace(hyper, lengthscales=(hyper.lengthscales * np.sqrt(copies))[parent])
        return replace(
            state,
            embedding=embedding,
            swarm=_formed(state).reindex(parent),
            patience=Patience.fresh(self.rules),
            hyper=self.surrogate.clipped(carried),
            fitted_at=0,
        )

    def _restart(self, state: BoidsState, rng: np.random.Generator) -> BoidsState:
        """Begin again in the input space; the history stays, this run starts without data."""
        return self._begin_run(replace(state, embedding=Embedding.identity(state.input_dim)), rng)

    def _begin_run(self, state: BoidsState, rng: np.random.Generator) -> BoidsState:
        """Queue an initial design in the present embedding and forget everything else of an earlier run."""
        count = min(self.n_init, state.budget - state.asked)
        return replace(
            state,
            epoch=state.epoch + 1,
            queue=DESIGNS[self.design](count, state.embedding.dim, rng),
            rows=np.empty(0, dtype=np.int64),
            swarm=None,
            moves=np.empty(0, dtype=np.int64),
            patience=Patience.fresh(self.rules),
            hyper=None,
            fitted_at=0,
        )

    def _proposal(self, state: BoidsState, z: FloatArray, line: int, **info: float) -> Proposal:
        facts = {"dim": state.embedding.dim, "K": state.patience.factor, "restarts": state.epoch}
        return Proposal(
            unit=state.embedding.lift(z),
            memo={"line": line, "epoch": state.epoch},
            info={"phase": "design" if line == DESIGN else "line", "line": line, **facts, **info},
        )


def _formed(state: BoidsState) -> Swarm:
    """Return the swarm, which exists from the first proposal after the design on."""
    if state.swarm is None:
        raise MethodError("a line's outcome came back before any line was proposed; tell trials to their optimizer.")
    return state.swarm


def check_settings(method: Boids) -> None:
    """Raise a MethodError that names the first setting that makes no sense."""
    at_least = {
        "particles": 1,
        "n_init": 1,
        "bandit_candidates": 1,
        "path_features": 1,
        "candidates_per_dim": 1,
        "max_candidates": 1,
        "new_bins": 1,
        "success_tolerance": 1,
        "inertia": 0,
        "cognitive": 0,
        "social": 0,
        "ucb_beta": 0,
        "refit_fraction": 0,
        "success_threshold": 0,
        "flat_spread": 0,
    }
    for name, least in at_least.items():
        value = getattr(method, name)
        if not (math.isfinite(value) and value >= least):
            raise MethodError(f"{name} must be a number of at least {least}; got {value!r}.")
    for name, hint in get_type_hints(type(method)).items():
        if get_origin(hint) is Literal and getattr(method, name) not in get_args(hint):
            choices = ", ".join(map(repr, get_args(hint)))
            raise MethodError(f"{name} must be one of {choices}; got {getattr(method, name)!r}.")
    for name in ("initial_dim", "budget_until_input_dim"):
        value = getattr(method, name)
        if value is not None and value < 1:
            raise MethodError(f"{name} must be at least 1, or None for the automatic choice; got {value!r}.")
    if not method.termination_min <= method.termination_initial <= method.termination_max:
        raise MethodError(
            "termination_min ≤ termination_initial ≤ termination_max must hold; got "
            f"{method.termination_min}, {method.termination_initial}, {method.termination_max}."
        )
