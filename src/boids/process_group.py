"""Process groups: ending a process together with everything it has started, and saying how it ended."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

#: Seconds between the polite signal and the one that cannot be refused.
GRACE = 2.0
_LONGEST_PAUSE = 0.05


def describe_exit(code: int) -> str:
    """Return how a process ended, from its exit code; negative codes are signals.

    Examples
    --------
    >>> describe_exit(3)
    'ended with exit code 3'
    >>> describe_exit(-11)
    'was killed by signal SEGV'
    """
    if code >= 0:
        # A shell reports a signal of the program it has started as 128 plus the signal's number.
        by_shell = f" (signal {_signal_name(code - 128)}, if by a shell)" if _is_signal(code - 128) else ""
        return f"ended with exit code {code}{by_shell}"
    out_of_memory = " (which the system sends when memory runs out)" if _signal_name(-code) == "KILL" else ""
    return f"was killed by signal {_signal_name(-code)}{out_of_memory}"


def end_group(group: int, reap: Callable[[], object], grace: float = GRACE) -> None:
    """Ask the processes of a group to end, and kill those that have not after `grace` seconds; POSIX only.

    A process that has moved to another group, as daemons do, is out of reach.

    Parameters
    ----------
    group
        The process id of the group's leader, which is a child of the calling process. The system does not give the
        number to anybody else while a member lives.
    reap
        Collects the leader's exit code without waiting for it: until then a dead leader counts as a member.
    """
    if sys.platform == "win32":
        # Nobody comes here: callers kill the one process there, which is as far as that system goes.
        raise NotImplementedError("Windows has no process groups of this kind.")
    try:
        os.killpg(group, signal.SIGTERM)
        deadline, pause = time.monotonic() + grace, 0.001
        while time.monotonic() < deadline:
            reap()
            os.killpg(group, 0)  # asks whether there is anybody left
            if not _has_living(group):
                break
            time.sleep(pause)
            pause = min(2.0 * pause, _LONGEST_PAUSE)
    except (ProcessLookupError, PermissionError):  # nobody is left; some systems say it in the second way
        return
    except BaseException:  # a second Ctrl-C: whoever sends it does not want to wait
        _kill(group)
        raise
    _kill(group)


def _kill(group: int) -> None:
    if sys.platform != "win32":
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return


def _has_living(group: int) -> bool:
    """Return whether there is more of a group than zombies, which stay for long where the first process is no init."""
    if not os.path.exists("/proc/self/stat"):  # not Linux: nothing is known of them
        return True
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = path.read_bytes().rpartition(b")")[2].split()[:3]
        except (OSError, ValueError):  # ended meanwhile
            continue
        if int(of_group) == group and state not in b"ZX":
            return True
    return False


def _is_signal(number: int) -> bool:
    return number in {member.value for member in signal.Signals}


def _signal_name(number: int) -> str:
    return signal.Signals(number).name.removeprefix("SIG") if _is_signal(number) else str(number)
