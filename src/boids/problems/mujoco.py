"""Walking robots: the weights of a linear policy that makes a simulated robot run; HalfCheetah-102 and five relatives.

Mania, Guy and Recht, Simple random search of static linear policies is competitive for reinforcement learning, NeurIPS
2018, for the policies; Ngo et al., BOIDS, AAAI 2025, appendix, for the half-cheetah as a benchmark. The value is

    -(mean return of 3 episodes of up to 1000 steps),    a = W (o - mean) / std,

with the rewards of Gymnasium's "v4" environments. There are two protocols:

- "stationary", the default, is a pure function of x. The package ships mean and std of each robot under random actions;
  where std = 0 an observation is ignored. Normalised observations are limited to ±10, without which a contact force
  that the random actions hardly ever caused would make the humanoid's control cost a thousand times larger; the other
  robots hardly ever reach the limit. The episodes start from the reset seeds 0, 1, 2 (with seed s: 3s, 3s + 1, 3s + 2).
- "paper" is what the paper's authors measured. Mean and std are those of all observations since the problem was made,
  the present one included, and the starts continue one random stream, that of seed 2023. The value at x depends on
  every evaluation before it; the state is kept with the run, and evaluations in parallel are refused.

What other versions of MuJoCo change. A robot that moves is a chaotic system: a difference in the last digit, from
another version's solver or another processor's sums, is another gait some hundred steps later. Values at policies that
hardly act agree to 1e-8 between MuJoCo 2.3 and 4.0. Values at other policies agree about as well as those of other
reset seeds: for one random policy 7862.5, 7874.4 and 7862.6 with MuJoCo 4.0, 3.3 and 2.3. A trained gait gave -6488
with its weights rounded in the 16th digit, and -6416 without. With one version on one machine, every value is
reproduced bit for bit.

An evaluation whose simulation is unstable, or that MuJoCo gives up, is nan, and leaves no trace in the state.

======  =====================================================================
symbol  meaning, shape
======  =====================================================================
n, k    observations and actions of the robot
D       n k
x       q policies, (q, D); each is W, row by row
W       weights, (k, n)
o, a    observation (n,), action (k,), which is not limited: costs count it all
======  =====================================================================
"""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Literal, final

import numpy as np

from boids.errors import ProblemError
from boids.problems.mujoco_simulation import EXTRA, Robot, SimulationFailed, environment, episode
from boids.problems.problem import Evaluator, Problem, ProblemFactory, integer
from boids.records import FloatArray

ROLLOUTS = 3
STEPS = 1000
#: Where normalised observations end in the stationary protocol.
LIMIT = 10.0
#: The seed of the paper's environment, and what its normaliser adds to every std.
PAPER_SEED = 2023
PAPER_EPSILON = 1e-6

REFERENCE = "Mania, Guy and Recht, Simple random search of static linear policies, NeurIPS 2018"
STATISTICS = "mujoco_statistics.json"

ROBOTS = {
    robot.name: robot
    for robot in (
        Robot("half-cheetah", "half_cheetah_v4", "HalfCheetahEnv", 17, 6),
        Robot("swimmer", "swimmer_v4", "SwimmerEnv", 8, 2),
        Robot("hopper", "hopper_v4", "HopperEnv", 11, 3),
        Robot("walker2d", "walker2d_v4", "Walker2dEnv", 17, 6),
        Robot("ant", "ant_v4", "AntEnv", 111, 8, (("use_contact_forces", True),)),
        Robot("humanoid", "humanoid_v4", "HumanoidEnv", 376, 17),
    )
}
#: The ant without its 84 contact forces, and without their cost.
ANT_216 = Robot("ant", "ant_v4", "AntEnv", 27, 8)

_LOGGER = logging.getLogger(__name__)


# The stationary protocol


@final
@dataclass(frozen=True, slots=True, eq=False)
class FrozenNormaliser:
    """o -> (o - mean) / scale within ±limit; a scale of inf ignores an observation. Arrays are (n,)."""

    mean: FloatArray
    scale: FloatArray
    limit: float = LIMIT

    def __call__(self, observation: FloatArray) -> FloatArray:
        """Return the normalised observation (n,)."""
        normalised: FloatArray = (observation - self.mean) / self.scale
        # Not np.clip, which takes five times as long on so small an array.
        np.minimum(normalised, self.limit, out=normalised)
        return np.maximum(normalised, -self.limit, out=normalised)


@final
@dataclass(frozen=True, slots=True, eq=False)
class StationaryReturn:
    """X -> -(mean return) from fixed starts with a fixed normaliser: a pure function, for any thread or process."""

    robot: Robot
    normalise: FrozenNormaliser
    seeds: tuple[int, ...]
    steps: int = STEPS

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the values (q,) at the rows of `x`, nan where the simulation fails."""
        return np.array([self._value(point) for point in x], dtype=np.float64)

    def _value(self, point: FloatArray) -> float:
        if not np.all(np.isfinite(point)):
            return float("nan")
        weights = _weights(self.robot, point)
        try:
            with environment(self.robot) as simulation:
                returns = [episode(simulation, weights, self.normalise, self.steps, seed) for seed in self.seeds]
        except SimulationFailed as failure:
            return _failed(self.robot, failure)
        return float(-np.mean(returns))


# The paper's protocol


@final
@dataclass(slots=True, eq=False)
class RunningNormaliser:
    """o -> (o - mean) / (std + 1e-6) over all observations so far, by Welford's recursion; changes with every call.

    Attributes
    ----------
    count
        How many observations there were.
    mean, squares
        Their mean, and the sum of squared differences from it, (n,) each; replaced, never written to.
    """

    count: int
    mean: FloatArray
    squares: FloatArray

    def __call__(self, observation: FloatArray) -> FloatArray:
        """Take an observation (n,) into account, and return it normalised."""
        self.count += 1
        delta = observation - self.mean
        self.mean = self.mean + delta / self.count
        # This form of the recursion, and no equivalent one: in a chaotic system the last digit matters.
        self.squares = self.squares + delta * delta * (self.count - 1) / self.count
        std = np.sqrt(self.squares / (self.count - 1)) if self.count > 1 else np.abs(self.mean)
        normalised: FloatArray = (observation - self.mean) / (std + PAPER_EPSILON)
        return normalised


@final
class RunningReturn:
    """X -> -(mean return) with a normaliser and a random stream that go on from evaluation to evaluation.

    The values depend on the order of evaluations. Threads wait for each other; which is first is for them to decide. A
    copy, also a pickled one, starts from the state of its original, and goes its own way.

    Parameters
    ----------
    seed
        Of the stream of starts.
    """

    def __init__(self, robot: Robot, seed: int, rollouts: int = ROLLOUTS, steps: int = STEPS) -> None:
        self._robot, self._seed, self._rollouts, self._steps = robot, seed, rollouts, steps
        self._normalise = RunningNormaliser(0, np.zeros(robot.observations), np.zeros(robot.observations))
        self._generator = np.random.default_rng(seed)
        self._lock = threading.Lock()

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the values (q,) at the rows of `x`, one after the other; nan where the simulation fails."""
        with self._lock:
            return np.array([self._value(point) for point in x], dtype=np.float64)

    def _value(self, point: FloatArray) -> float:
        if not np.all(np.isfinite(point)):
            return float("nan")
        weights, normalise = _weights(self._robot, point), replace(self._normalise)
        before = self._generator.bit_generator.state
        try:
            with environment(self._robot) as simulation:
                simulation.np_random = self._generator
                if not normalise.count:
                    simulation.reset()  # the environment was reset when it was made; nobody looked at that start
                returns = [episode(simulation, weights, normalise, self._steps) for _ in range(self._rollouts)]
        except SimulationFailed as failure:
            self._generator.bit_generator.state = before
            return _failed(self._robot, failure)
        self._normalise = normalise
        return float(-np.mean(returns))

    def state(self) -> dict[str, Any]:
        """Return the normaliser and the random stream, as JSON can hold them."""
        with self._lock:
            return {
                "robot": self._robot.name,
                "count": self._normalise.count,
                "mean": self._normalise.mean.tolist(),
                "squares": self._normalise.squares.tolist(),
                "generator": self._generator.bit_generator.state,
            }

    def restore(self, state: Any) -> None:
        """Go back to what `state` returned; the next values are those that followed."""
        try:
            mean, squares = (np.array(state[key], dtype=np.float64) for key in ("mean", "squares"))
            fits = mean.shape == squares.shape == (self._robot.observations,) and state["robot"] == self._robot.name
            count = integer("count", state["count"], 0)
            generator = np.random.default_rng(0)
            generator.bit_generator.state = state["generator"]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ProblemError(
                f"The state of problem {self._robot.name!r} must be what its state() returned, but {error!r}; "
                "start a new run."
            ) from error
        if not fits:
            raise ProblemError(
                f"The state must be one of problem {self._robot.name!r} with {self._robot.observations} observations, "
                f"but is one of {state['robot']!r} with {mean.size}; make the problem with the options of that run."
            )
        with self._lock:
            self._normalise, self._generator = RunningNormaliser(count, mean, squares), generator

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (self._robot, self._seed, self._rollouts, self._steps, self.state())


def _revive(robot: Robot, seed: int, rollouts: int, steps: int, state: dict[str, Any]) -> RunningReturn:
    copy = RunningReturn(robot, seed, rollouts, steps)
    copy.restore(state)
    return copy


def _weights(robot: Robot, point: FloatArray) -> FloatArray:
    return np.ascontiguousarray(point).reshape(robot.actions, robot.observations)


def _failed(robot: Robot, failure: SimulationFailed) -> float:
    _LOGGER.warning("An evaluation of problem %r failed: %s", robot.name, failure)
    return float("nan")


# The problems, as the registry builds them


def locomotion(
    name: str,
    dim: int,
    seed: int,
    *,
    protocol: Literal["stationary", "paper"] = "stationary",
    rollouts: int = ROLLOUTS,
    steps: int = STEPS,
) -> Problem:
    """A robot's linear policy on [-1, 1]^D.

    Parameters
    ----------
    name
        One of `ROBOTS`.
    dim
        The number of weights; for the ant 888, or 216 without contact forces.
    seed
        Decides the starts; 0 gives the seeds 0, 1, 2, and the paper's in its protocol.
    protocol
        "stationary" or "paper", see the top of this file.
    rollouts
        How many episodes the return is averaged over.
    steps
        After how many steps an episode ends, if the robot has not fallen before.
    """
    robot = ANT_216 if (name, dim) == ("ant", ANT_216.weights) else ROBOTS[name]
    rollouts, steps = integer("rollouts", rollouts, 1), integer("steps", steps, 1)
    if protocol not in ("stationary", "paper"):
        raise ProblemError(f"protocol must be 'stationary' or 'paper', but got {protocol!r}; leave it out.")
    evaluate: Evaluator
    if protocol == "paper":
        evaluate = RunningReturn(robot, PAPER_SEED + seed, rollouts, steps)
        note = "running normaliser as in the paper: values depend on what was evaluated before"
    else:
        seeds = tuple(range(rollouts * seed, rollouts * (seed + 1)))
        evaluate = StationaryReturn(robot, shipped_normaliser(robot), seeds, steps)
        note = "a pure function of x"
    return Problem(
        name=name,
        evaluate=evaluate,
        low=np.full(dim, -1.0),
        high=np.ones(dim),
        summary=f"{SUMMARIES[name]}; {note}; MuJoCo {version('mujoco')}",
        reference=REFERENCE,
        cost=COSTS[name],
        noisy=protocol == "paper",
    )


@lru_cache(maxsize=len(ROBOTS) + 1)
def shipped_normaliser(robot: Robot) -> FrozenNormaliser:
    """Return a robot's normaliser for the stationary protocol."""
    table = json.loads(files("boids.problems").joinpath("_data", STATISTICS).read_text(encoding="utf-8"))
    # The ant without contact forces observes what stands first for the ant with them.
    mean, std = (np.array(table["robots"][robot.name][key][: robot.observations]) for key in ("mean", "std"))
    scale = np.where(std > 0.0, std, np.inf)
    for array in (mean, scale):
        array.setflags(write=False)
    return FrozenNormaliser(mean, scale)


SUMMARIES = {
    "half-cheetah": "17 x 6 weights of a policy that makes a half-cheetah run; a random one pays for its torques",
    "swimmer": "8 x 2 weights of a policy that makes a three-link swimmer advance",
    "hopper": "11 x 3 weights of a policy that makes a leg hop; most fall within 30 steps",
    "walker2d": "17 x 6 weights of a policy that makes two legs walk in the plane; most fall within 30 steps",
    "ant": "111 x 8 weights of a policy that makes a four-legged robot run; 216 without contact forces",
    "humanoid": "376 x 17 weights of a policy that makes a humanoid walk; most fall within 30 steps",
}
COSTS = {
    "half-cheetah": "a tenth of a second",
    "swimmer": "a fifth of a second",
    "hopper": "milliseconds to a tenth of a second",  # until it falls
    "walker2d": "milliseconds to half a second",
    "ant": "hundredths of a second to a second",
    "humanoid": "hundredths of a second to seconds",
}

FACTORIES: dict[str, ProblemFactory] = {
    name: ProblemFactory(
        build=partial(locomotion, name),
        summary=SUMMARIES[name],
        reference=REFERENCE,
        domain="[-1, 1]^D" if name == "ant" else f"[-1, 1]^{robot.weights}",
        default_dim=robot.weights,
        minimum_dim=ANT_216.weights if name == "ant" else robot.weights,
        optimum=None,
        extra=EXTRA,
        cost=COSTS[name],
        kind="simulated",
        dims=(ANT_216.weights, robot.weights) if name == "ant" else (robot.weights,),
    )
    for name, robot in ROBOTS.items()
}
