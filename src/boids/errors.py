"""Every exception that boids raises on purpose; one sentence each: expected, got, remedy."""


class BoidsError(Exception):
    """Base of all errors that boids raises on purpose."""


class SpaceError(BoidsError, ValueError):
    """A search space, or a point of it, is not valid."""


class StoreError(BoidsError):
    """A saved run cannot be read or written."""


class BudgetExhausted(BoidsError):
    """`Optimizer.ask` was called after the last evaluation of the budget had been handed out."""


class MissingExtra(BoidsError, ImportError):
    """A feature needs an optional dependency that is not installed."""


class MethodError(BoidsError, ValueError):
    """A method's name or one of its options is not valid."""


class ProblemError(BoidsError, ValueError):
    """A benchmark problem's name, one of its options or a point given to it is not valid."""


class TellError(BoidsError, ValueError):
    """`Optimizer.tell` got a value that is not a number, or a trial that is not waiting for one."""
