"""A stand-in for a simulator: a cantilever beam of 20 segments, 60 design parameters, in nothing but standard Python.

    python simulate.py input.json output.json

Reads the design as JSON and writes {"value": cost, "constraints": [deflection, stress, slenderness]}; a design is
feasible where all three are ≤ 0. As simulators do, it crashes, for a fifth of all random designs: the mesh generator
gives up on heights that jump too much from one segment to the next, and the licence server is busy now and then.
"""

import hashlib
import json
import math
import sys
from itertools import pairwise

LENGTH, LOAD = 2.0, 1500.0  # metres, newtons at the tip
MATERIALS = {  # Young's modulus (Pa), density (kg/m³), strength (Pa), price per kg
    "steel": (210e9, 7850.0, 250e6, 1.0),
    "aluminium": (70e9, 2700.0, 180e6, 3.0),
    "titanium": (115e9, 4430.0, 600e6, 20.0),
}
STEEPEST = 6.4  # the largest ratio of neighbouring heights that the mesh generator can take
BUSY = 0.1  # the share of designs for which no licence is to be had


def simulate(design):
    """Return the cost of a design and its three constraints."""
    heights = [h / 1000.0 for h in design["height"]]  # millimetres to metres
    widths = [w / 1000.0 for w in design["width"]]
    steepest = max(max(a / b, b / a) for a, b in pairwise(heights))
    if steepest > STEEPEST:
        raise RuntimeError(f"mesh generator: elements with an aspect ratio of {steepest:.1f}")
    ticket = hashlib.sha256(repr(sorted(design.items())).encode()).digest()
    if ticket[0] / 256 < BUSY:
        raise ConnectionError("licence server: all licences are in use")

    segments = len(heights)
    dx = LENGTH / segments
    cost = deflection = stress = slenderness = 0.0
    for i, (height, width) in enumerate(zip(heights, widths, strict=True)):
        modulus, density, strength, price = MATERIALS[design["material"][i * 4 // segments]]
        holes, ribs = design["holes"][i // 2], design["ribs"][i * 4 // segments]
        moment = LOAD * (LENGTH - (i + 0.5) * dx)
        inertia = width * height**3 / 12.0 * (1.0 - 0.08 * holes)
        deflection += moment**2 / (modulus * inertia) * dx / LOAD
        concentration = 1.0 + 0.12 * holes
        stress = max(stress, concentration * moment * height / 2.0 / inertia / strength)
        slenderness = max(slenderness, height / width / (4.0 * (1.0 + math.log(ribs))))
        mass = density * dx * (width * height * (1.0 - 0.06 * holes) + 2e-5 * ribs)
        cost += mass * price + 0.05 * holes
    for coated in design["coated"]:
        cost += 0.3 if coated else 1.5  # rust has its price
    return cost, [deflection / 0.02 - 1.0, stress - 1.0, slenderness - 1.0]


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        point = json.load(file)
    value, constraints = simulate(point)
    with open(sys.argv[2], "w") as file:
        json.dump({"value": value, "constraints": constraints}, file)
