"""Robots of MuJoCo, as Gymnasium models them: one environment per robot and thread, and episodes with a linear policy.

Todorov, Erez and Tassa, MuJoCo: a physics engine for model-based control, IROS 2012; Towers et al., Gymnasium, 2024.

Environments are made from their classes, without the wrappers of ``gymnasium.make``: those check every step's types
and warn of old versions, but change no number. What is left of a step's time is physics: 5/6 for the half-cheetah.

- A robot is the same in every version of Gymnasium: "v4" is fixed for good, and its dimensions are checked.
- An environment belongs to one thread, so threads never share one; it is only memory, which goes with the thread.
- A reset clears all of a simulation: positions, velocities, warm starts of the solver, counts of warnings. Nothing of
  an episode, however it ended, can be seen in the next one.

======  ==========================================================
symbol  meaning, shape
======  ==========================================================
o       an observation, (n,)
a       an action: the torques at the joints, (k,)
W       a policy, (k, n)
======  ==========================================================
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from boids.errors import ProblemError
from boids.problems import extras
from boids.records import FloatArray

EXTRA = "mujoco"

_LOGGER = logging.getLogger(__name__)


@final
@dataclass(frozen=True, slots=True)
class Robot:
    """Which environment to make; plain data, so that it can be sent to workers at no cost.

    Attributes
    ----------
    name
        The problem's name.
    module, kind
        Where Gymnasium has the class of the environment, and what it is called.
    observations, actions
        n and k.
    options
        Arguments of the class.
    """

    name: str
    module: str
    kind: str
    observations: int
    actions: int
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def weights(self) -> int:
        """How many weights a linear policy has."""
        return self.observations * self.actions


class SimulationFailed(Exception):
    """The simulator gave up, or noticed that its numbers had become useless."""


@contextmanager
def environment(robot: Robot) -> Iterator[Any]:
    """Lend this thread's environment of a robot, with MuJoCo's messages in the log instead of files and terminals.

    Raises
    ------
    SimulationFailed
        If MuJoCo raises an error within the block.
    MissingExtra
        If Gymnasium or MuJoCo is not installed.
    """
    mujoco = extras.load("mujoco", EXTRA, robot.name)
    with _QUIET:
        if robot not in _OWN.environments:
            _OWN.environments[robot] = _make(robot)
        try:
            yield _OWN.environments[robot]
        except (mujoco.FatalError, mujoco.UnexpectedError) as error:
            # After an error inside of MuJoCo not even a reset is sure to work.
            del _OWN.environments[robot]
            raise SimulationFailed(f"MuJoCo stopped: {error}") from error


def episode(
    simulation: Any,
    weights: FloatArray,
    normalise: Callable[[FloatArray], FloatArray],
    steps: int,
    seed: int | None = None,
) -> float:
    """Return the sum of rewards with a = W normalise(o), until the robot falls or `steps` are done.

    Parameters
    ----------
    seed
        Decides the start; None draws it from the environment's own generator.

    Raises
    ------
    SimulationFailed
        If the simulation was unstable. MuJoCo would start the robot afresh in the midst of the episode.
    """
    observation, _ = simulation.reset(seed=seed)
    total = 0.0
    for _ in range(steps):
        observation, reward, fallen, _, _ = simulation.step(weights @ normalise(observation))
        total += reward
        if fallen:
            break
    _check_stable(simulation)
    return total


def _check_stable(simulation: Any) -> None:
    from mujoco import mjtWarning, mju_warningText

    for kind in (mjtWarning.mjWARN_BADQPOS, mjtWarning.mjWARN_BADQVEL, mjtWarning.mjWARN_BADQACC):
        warning = simulation.data.warning[kind]
        if warning.number:
            raise SimulationFailed(str(mju_warningText(kind, warning.lastinfo)))


def _make(robot: Robot) -> Any:
    extras.load("imageio", EXTRA, robot.name)  # Gymnasium wants it for pictures, and does not say so in an ImportError
    module = extras.load(f"gymnasium.envs.mujoco.{robot.module}", EXTRA, robot.name)
    made = getattr(module, robot.kind)(**dict(robot.options))
    shapes = (*made.observation_space.shape, *made.action_space.shape)
    if shapes != (robot.observations, robot.actions):
        raise ProblemError(
            f"{robot.module} must have {robot.observations} observations and {robot.actions} actions, but in this "
            f"version of Gymnasium it has {shapes}; install gymnasium 1.4."
        )
    return made


class _Own(threading.local):
    """What each thread has for itself."""

    def __init__(self) -> None:
        self.environments: dict[Robot, Any] = {}


class _Quiet:
    """While any thread is in the block, MuJoCo's warnings go to the log; afterwards to where they went before.

    Otherwise MuJoCo prints them, and writes a file MUJOCO_LOG.TXT into the current folder, as soon as the model of the
    half-cheetah is read, which has a deprecated attribute. The handler is one for the whole process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: Any = None

    def __enter__(self) -> None:
        from mujoco import get_mju_user_warning, set_mju_user_warning

        with self._lock:
            if not self._inside:
                self._before = get_mju_user_warning()
                set_mju_user_warning(_LOGGER.debug)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        from mujoco import set_mju_user_warning

        with self._lock:
            self._inside -= 1
            if not self._inside:
                set_mju_user_warning(self._before)


_OWN = _Own()
_QUIET = _Quiet()
