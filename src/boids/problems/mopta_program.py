"""Mopta08 by its official program, which reads a point from a file and writes 69 numbers to another one.

The program runs without arguments in a folder of its own, where it reads ``input.txt`` (124 lines) and writes
``output.txt`` (69 lines: mass, then the constraints). The file names are fixed, so every evaluation gets a fresh
folder: evaluations may run side by side, and an output can never be that of an earlier point.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
D       number of variables, 124
x       q points of [0, 1]^D, (q, D)
r       responses (q, 69): the mass f, then g_1 … g_68, feasible where g <= 0
======  =========================================================================
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from boids.errors import ProblemError
from boids.records import FloatArray

N_RESPONSES = 69

#: How much of what a failing program said goes into the error, in characters.
QUOTED = 500


@final
@dataclass(frozen=True, slots=True)
class Program:
    """X -> r, one run of the program per point.

    Attributes
    ----------
    path
        The program's absolute path: it runs in another folder.
    timeout
        Seconds after which a run is stopped.
    """

    path: str
    timeout: float

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the responses (q, 69) at the rows of `x`."""
        responses = np.empty((len(x), N_RESPONSES))
        for row, point in zip(responses, x, strict=True):
            # Somebody else may have written there, or hold a file open on Windows: not worth a failed evaluation.
            with tempfile.TemporaryDirectory(prefix="boids-mopta-", ignore_cleanup_errors=True) as folder:
                # Floats of Python, whose text has all digits: Fortran reads 1e-05, but no np.float64(1e-05).
                lines = [f"{value!r}\n" for value in point.tolist()]
                Path(folder, "input.txt").write_text("".join(lines), encoding="ascii")
                said = self._run(folder)
                row[:] = self._read(Path(folder, "output.txt"), said)
        return responses

    def _run(self, folder: str) -> str:
        """Run the program to its end and return what it printed."""
        try:
            # S603: no shell is involved, and to run a program of the user's choice is the purpose.
            process = subprocess.Popen(  # noqa: S603
                [self.path],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a group of its own, so that what it starts can be stopped with it
            )
        except OSError as error:
            raise ProblemError(f"The Mopta program {self.path} should run, but {_why_not(self.path, error)}.") from None
        with process:
            try:
                output, _ = process.communicate(timeout=self.timeout)
            except subprocess.TimeoutExpired:
                _kill(process)
                raise ProblemError(
                    f"The Mopta program {self.path} should end within {self.timeout:g} seconds, but did not and was "
                    "stopped; give it more with timeout=…."
                ) from None
            except BaseException:  # an interrupt: the program, in its own group, has not heard of it
                _kill(process)
                raise
        said = output.decode(errors="replace").strip()[-QUOTED:]
        if process.returncode != 0:
            raise ProblemError(
                f"The Mopta program {self.path} should end with exit code 0, but {_ending(process.returncode)}"
                f"{_quoted(said)}; check that it is the right one for this system."
            )
        return said

    def _read(self, path: Path, said: str) -> FloatArray:
        """Return the numbers of an output file, 69 finite ones."""
        expected = f"The Mopta program {self.path} should write {N_RESPONSES} finite numbers to output.txt, but"
        remedy = "check that it is the official program, with input.txt and output.txt as its files"
        try:
            text = path.read_text(encoding="ascii", errors="replace")
        except OSError:
            raise ProblemError(f"{expected} wrote no such file{_quoted(said)}; {remedy}.") from None
        words = text.split()
        try:
            numbers = np.array([float(word) for word in words], dtype=np.float64)
        except ValueError as error:  # stars, where Fortran's number did not fit
            raise ProblemError(f"{expected} wrote something else ({error}); {remedy}.") from None
        if len(numbers) != N_RESPONSES:
            raise ProblemError(f"{expected} wrote {len(numbers)}{_quoted(said)}; {remedy}.")
        if not np.all(np.isfinite(numbers)):
            line = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise ProblemError(f"{expected} wrote {words[line]} in line {line + 1}; check that the point is in [0, 1].")
        return numbers


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Stop the program and whatever it has started."""
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError):  # it has just ended by itself
            os.killpg(process.pid, signal.SIGKILL)


def _why_not(path: str, error: OSError) -> str:
    if not Path(path).is_file():
        return "there is no such file; run `boids problems fetch mopta`, or say where it is with executable=PATH"
    if isinstance(error, PermissionError):
        return "it may not be executed; allow it with `chmod +x`, or copy it to a disk that allows programs"
    if error.errno == errno.ENOEXEC:
        return "it is not a program for this system; run `boids problems fetch mopta` to get the right one"
    return f"the system refuses ({error.strerror or error}); check that it is a program for this system"


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with {code}"
    try:
        return f"crashed with {signal.Signals(-code).name}"
    except ValueError:
        return f"crashed with signal {-code}"


def _quoted(said: str) -> str:
    return f" and printed {said!r}" if said else ""
