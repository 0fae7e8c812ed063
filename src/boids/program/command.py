"""The command line of an external program: a template that is filled in for every evaluation, never read by a shell.

A command is split into words once. Placeholders such as ``{input}`` are replaced inside the words, so a value can be
neither split into two words nor mistaken for anything else.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from boids.errors import CommandError, did_you_mean, shorten

#: Placeholders that stand for something else than a parameter.
RESERVED = ("input", "output", "dir", "trial")

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_SHELL_WORDS = {"|", "||", "&", "&&", ";", "<", "<<", ">", ">>", "2>", "2>>", "&>", ">&", "2>&1"}


def split(command: Any) -> tuple[str, ...]:
    """Return a command's words; a string is split as a POSIX shell would, which is all that is done in its manner."""
    if isinstance(command, str):
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise CommandError(f"The command {shorten(command)} cannot be split into words: {error}.") from None
        for word in words:
            if word in _SHELL_WORDS:
                raise CommandError(
                    f"The command {shorten(command)} has {word!r} in it, but no shell reads it; put what needs a shell "
                    "into a script, or give the words as a list if the program itself is to get that word."
                )
    elif isinstance(command, Iterable) and not isinstance(command, (bytes, Mapping)):
        words = []
        for word in command:
            text = os.fspath(word) if isinstance(word, os.PathLike) else word
            if not isinstance(text, str):
                raise CommandError(f"The words of a command must be strings, got {word!r}.")
            words.append(text)
    else:
        raise CommandError(f"A command must be a string or a list of strings, got {command!r}.")
    if not words or not words[0]:
        raise CommandError("The command is empty; its first word must be a program.")
    if any("\0" in word for word in words):
        raise CommandError("A command cannot hold the character 0.")
    return tuple(words)


def placeholders(word: str) -> list[str]:
    """Return the names in braces in a word, in order."""
    names = []
    for match in _PIECE.finditer(word):
        if match[0] in ("{", "}"):
            raise CommandError(
                f"The word {shorten(word)} of the command has a lone brace; write {{{{ or }}}} for a literal one."
            )
        if match[1] is not None:
            names.append(match[1])
    return names


def fill(word: str, values: Mapping[str, str]) -> str:
    """Return a word with its placeholders replaced, and double braces made single."""
    return _PIECE.sub(lambda match: match[0][0] if match[1] is None else values[match[1]], word)


def check(used: Iterable[str], names: Collection[str]) -> None:
    """Refuse placeholders that stand for nothing, or for two things; `names` are those of the parameters."""
    for name in used:
        if name in RESERVED and name in names:
            raise CommandError(
                f"{{{name}}} in the command could be a parameter or what boids puts there; rename the parameter."
            )
        if name not in RESERVED and name not in names:
            known = [*RESERVED, *names]
            shown = ", ".join(f"{{{each}}}" for each in known[:12]) + (", …" if len(known) > 12 else "")
            hint = did_you_mean(name, known, f"known are {shown}.")
            raise CommandError(
                f"The command has {{{name}}}, which is neither a parameter nor one of boids' own placeholders; {hint} "
                "Braces that are meant as such are written {{ and }}."
            )


def anchor(words: Iterable[str], path: str | None = None) -> tuple[str, ...]:
    """Return the words with paths that hold in the current folder made absolute, for the program will run elsewhere.

    That is the program itself, which must exist; every word that names a file; every word with a separator in it
    that names a folder; and either after an option's ``=``, as in ``--config=case.toml``. Words with placeholders stay
    as they are.

    Parameters
    ----------
    path
        The folders to look for the program in; None is the environment's PATH.
    """
    first, *others = words
    if placeholders(first):
        raise CommandError(f"The program must be fixed, got {shorten(first)}; placeholders belong in its arguments.")
    return (_literal(find_program(fill(first, {}), path)), *(_anchored(word) for word in others))


def find_program(name: str, path: str | None = None) -> str:
    """Return the absolute path of a program, or say why it cannot be run."""
    found = shutil.which(name, path=path)
    if found is not None:
        return str(Path(found).absolute())
    here = Path(name)
    if here.is_dir():
        problem = "is a folder; give the path of the program in it"
    elif not here.is_file():
        where = "a file that exists" if here.name != name else "found in the folders of PATH"
        problem = f"is not {where}; check its spelling, and the folder you are in"
    elif os.access(here, os.X_OK):  # in the current folder, which is not searched
        problem = f"is not found in the folders of PATH; write './{name}' for the one in the current folder"
    else:
        problem = f"is not executable; run `chmod +x {name}`, or write its interpreter first, as in 'python {name}'"
    raise CommandError(f"The program {name!r} {problem}.")


def _anchored(word: str) -> str:
    if placeholders(word):
        return word
    text = fill(word, {})
    option, equals, value = text.partition("=")
    if not (text.startswith("-") and equals):
        option, equals, value = "", "", text
    if not value or Path(value).is_absolute() or not _is_here(value):
        return word
    return _literal(f"{option}{equals}{Path(value).absolute()}")


def _is_here(value: str) -> bool:
    try:
        here = Path(value)
        # The name of a package that lies in the current folder, as in `python -m package`, is not meant as a path.
        return here.is_file() or (here.is_dir() and Path(value).name != value and value not in {".", ".."})
    except (OSError, ValueError):  # too long for a path
        return False


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
