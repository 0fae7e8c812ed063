"""A function of the user's in a process that knows nothing of the run, such as a Dask worker started in another folder.

Such a process outlives the run, and the user's files may have changed before the next one.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, final

from boids.user_code import imported

_turn = threading.Lock()
#: The folders of the runs that have had functions imported in this process.
_folders: set[str] = set()


@final
class FunctionElsewhere:
    """A function that is imported where this is unpickled: from the folder where the run was begun, or Python's path.

    It is called in that folder if it is there. The folder stays the current one: a worker with several threads could
    not change it back without taking it away from another evaluation.
    """

    def __init__(self, name: str, folder: str, fun: Any = None) -> None:
        self._name, self._folder, self._fun = name, folder, fun

    def __reduce__(self) -> tuple[Any, ...]:
        return _found, (self._name, self._folder)

    def __call__(self, x: Any) -> Any:
        """Evaluate a point."""
        if os.path.isdir(self._folder):
            os.chdir(self._folder)
        return self._fun(x)


def _found(name: str, folder: str) -> FunctionElsewhere:
    with _turn:
        _forget()
        _folders.add(folder)
        return FunctionElsewhere(name, folder, imported(name, folder))


def _forget() -> None:
    """Forget the modules that came from folders of earlier runs: their files may be others by now."""
    for name, module in list(sys.modules.items()):
        file, first = getattr(module, "__file__", None) or "", name.partition(".")[0]
        for folder in _folders:
            own = os.path.join(folder, first)
            # Not all that lies in the folder: it may have an environment with whole libraries in it.
            if file == f"{own}.py" or file.startswith(own + os.sep):
                sys.modules.pop(name, None)
    sys.path[:] = [each for each in sys.path if each not in _folders]
