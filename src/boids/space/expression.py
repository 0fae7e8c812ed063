"""Linear constraints written as text, such as "x1 <= 2*x2 + 1" or "0 <= sum(w) - n <= 3".

The text is parsed as a Python expression, of which a few kinds of nodes are understood; nothing is ever evaluated. On
the way up the tree, every node becomes a linear form.

======  =============================================================================  ==========
symbol  meaning                                                                        shape
======  =============================================================================  ==========
N       number of the space's natural columns
form    coefficients of the natural columns, and a constant as the last entry          (N + 1,)
======  =============================================================================  ==========
"""

from __future__ import annotations

import ast
import math
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from boids.errors import SpaceError, did_you_mean, shown
from boids.records import FloatArray, IntArray
from boids.space.checks import shorten
from boids.space.space import Space

_SYMBOLS: dict[type[ast.cmpop], str] = {ast.LtE: "<=", ast.Lt: "<=", ast.GtE: ">=", ast.Gt: ">=", ast.Eq: "=="}
_FLIPPED = {"<=": ">=", ">=": "<=", "==": "=="}
_TABLE = 'write it as a table, {"coefficients": {name: factor}, "upper": …}, instead'


@final
@dataclass(frozen=True)
class Names:
    """The names by which linear constraints may call the natural columns of a space."""

    space: Space

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each natural column, by its own name, such as "lr" or "w[3]"."""
        return {column: place for place, column in enumerate(self.space.columns)}

    @cached_property
    def vectors(self) -> dict[str, IntArray]:
        """The places of the components of each vector parameter."""
        vectors, start = {}, 0
        for name, parameter in self.space.parameters.items():
            if parameter.is_numeric:
                width = parameter.shape or 1
                if parameter.shape is not None:
                    vectors[name] = np.arange(start, start + width)
                start += width
        return vectors

    def unknown(self, name: str) -> str:
        """Return a sentence on why a name is none of a number."""
        parameter = self.space.parameters.get(name)
        if parameter is not None:
            return f"{name!r} is {parameter.kind}, and has no number that could be added up."
        vector = name.rstrip("0123456789")
        if vector != name and vector in self.vectors:
            return f"the space has no {name!r}; {vector!r} is a vector, its components are {self._written(vector)}."
        known = [each for each, parameter in self.space.parameters.items() if parameter.is_numeric]
        hint = did_you_mean(name, known, f"it has {shorten([self._written(each) for each in known])}.")
        return f"the space has no {name!r}; {hint}"

    def _written(self, name: str) -> str:
        """Return how a parameter is written in an expression."""
        vector = self.vectors.get(name)
        return name if vector is None else f"{name}[0] to {name}[{len(vector) - 1}]"


@final
@dataclass(frozen=True)
class Inequality:
    """lower ≤ coefficients · x ≤ upper for natural columns x (N,), and what the user called it."""

    coefficients: FloatArray
    lower: float
    upper: float
    text: str


def read_text(text: str, names: Names) -> list[Inequality]:
    """Return what a text says, one inequality or equation per comparison sign; < and > count as <= and >=."""
    reader = _Reader(text, names)
    try:
        tree = ast.parse(" ".join(text.split()), mode="eval").body
        if not isinstance(tree, ast.Compare):
            raise reader.error("compare two sides with <=, >= or ==.")
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
            sides = [reader.form(node) for node in (tree.left, *tree.comparators)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, SpaceError):
            raise
        if re.search("(?<![<>=!])=(?!=)", text):
            raise reader.error("an equation is written with two signs, ==.") from None
        raise reader.error(f"it is not a Python expression; if a name is none that Python allows, {_TABLE}.") from None
    inequalities = []
    for left, operator, right in zip(sides, tree.ops, sides[1:], strict=False):
        symbol = _SYMBOLS.get(type(operator), "")
        if not symbol:
            raise reader.error("compare with <=, >= or == only.")
        if not left[:-1].any():  # so that both ends of "0 <= x1 - x2 <= 3" speak of x1 - x2
            left, right, symbol = right, left, _FLIPPED[symbol]
        with np.errstate(over="ignore", invalid="ignore"):
            form = left - right + 0.0  # no -0.0
        if not np.isfinite(form).all():
            raise reader.error("its numbers are too large.")
        bound = 0.0 - float(form[-1])
        lower, upper = (-math.inf if symbol == "<=" else bound), (math.inf if symbol == ">=" else bound)
        inequalities.append(Inequality(form[:-1], lower, upper, text))
    if not any(inequality.coefficients.any() for inequality in inequalities):
        raise reader.error("it does not depend on any parameter.")
    return inequalities


@final
@dataclass(frozen=True)
class _Reader:
    """Turns the nodes of one text's tree into linear forms."""

    text: str
    names: Names

    def error(self, reason: str) -> SpaceError:
        return SpaceError(f"Linear constraint {shown(self.text)}: {reason}")

    def form(self, node: ast.expr) -> FloatArray:
        """Return the linear form (N + 1,) of a node."""
        match node:
            case ast.Constant(value=value) if isinstance(value, (int, float)) and not isinstance(value, bool):
                return self._constant(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.form(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.form(operand)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._sum(node)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._product(self.form(left), self.form(right))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._quotient(self.form(left), self.form(right))
            case ast.BinOp(op=ast.Pow()):
                raise self.error(f"it must be linear, but has the power {_code(node)}.")
            case ast.Name(id=name):
                return self._column(self._scalar(name))
            case ast.Subscript(value=ast.Name(id=name), slice=index) if not isinstance(index, ast.Slice):
                return self._column(self._component(name, index))
            case ast.Call(func=ast.Name(id="sum"), args=[argument], keywords=[]):
                return self._total(argument)
        raise self.error(
            f"{_code(node)} is not understood; use numbers, names, w[0], sum(w), sum(w[1:3]), +, -, *, / and brackets."
        )

    def _sum(self, node: ast.expr) -> FloatArray:
        # "a + b + …" is nested to the left: a thousand terms are read in a loop, not in a thousand nested calls.
        total = np.zeros(len(self.names.places) + 1)
        while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            term = self.form(node.right)
            total += term if isinstance(node.op, ast.Add) else -term
            node = node.left
        return total + self.form(node)

    def _product(self, left: FloatArray, right: FloatArray) -> FloatArray:
        if left[:-1].any() and right[:-1].any():
            raise self.error("it must be linear, but two parameters are multiplied.")
        product: FloatArray = left[-1] * right if right[:-1].any() else left * right[-1]
        return product

    def _quotient(self, left: FloatArray, right: FloatArray) -> FloatArray:
        if right[:-1].any():
            raise self.error("it must be linear, but something is divided by a parameter.")
        if right[-1] == 0.0:
            raise self.error("it divides by zero.")
        quotient: FloatArray = left / right[-1]
        return quotient

    def _total(self, argument: ast.expr) -> FloatArray:
        match argument:
            case ast.Name(id=name):
                return self._column(self._vector(name))
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(lower=lower, upper=upper, step=step)):
                ends = [None if end is None else self._integer(end) for end in (lower, upper, step)]
                if ends[2] == 0:
                    raise self.error("the step of a slice must not be zero.")
                return self._column(self._vector(name)[slice(*ends)])
        raise self.error(
            f"sum takes a vector parameter or a slice of one, as in sum(w) or sum(w[1:3]), not {_code(argument)}."
        )

    def _constant(self, value: float) -> FloatArray:
        form = np.zeros(len(self.names.places) + 1)
        try:
            form[-1] = value
        except OverflowError:
            form[-1] = math.inf
        return form

    def _column(self, places: int | IntArray) -> FloatArray:
        form = np.zeros(len(self.names.places) + 1)
        form[places] = 1.0
        return form

    def _scalar(self, name: str) -> int:
        name = self._spelling(name)
        if name in self.names.vectors:
            raise self.error(f"{name!r} is a vector; write {name}[0] for a component or sum({name}).")
        if name not in self.names.places:
            raise self.error(self.names.unknown(name))
        return self.names.places[name]

    def _vector(self, name: str) -> IntArray:
        name = self._spelling(name)
        if name in self.names.places:
            raise self.error(f"{name!r} is a single number, not a vector; write {name}.")
        if name not in self.names.vectors:
            raise self.error(self.names.unknown(name))
        return self.names.vectors[name]

    def _component(self, name: str, index: ast.expr) -> int:
        places, i = self._vector(name), self._integer(index)
        if not -len(places) <= i < len(places):
            raise self.error(f"{name}[{i}] does not exist; {name!r} has {len(places)} components, counted from 0.")
        return int(places[i])

    def _integer(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=value) if type(value) is int:
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if type(value) is int:
                return -value
        raise self.error(f"an index must be an integer, not {_code(node)}.")

    def _spelling(self, name: str) -> str:
        """Return the space's spelling of a name: Python's parser replaces letters by their compatible forms (µ, ﬁ)."""
        if name in self.names.vectors or name in self.names.places:
            return name
        known = (*self.names.vectors, *self.names.places)
        return next((each for each in known if unicodedata.normalize("NFKC", each) == name), name)


def _code(node: ast.expr) -> str:
    return shown(ast.unparse(node))
