"""Named parameters: log scales, integers, categories, switches, and a vector of forty weights."""

import math
import sys

import boids
from boids import Bool, Categorical, Float, Int, Space

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 120
space = Space(
    {
        "rate": Float(1e-5, 1, log=True),
        "layers": Int(1, 12),
        "units": Int(8, 4096, log=True),
        "activation": Categorical(["relu", "tanh", "gelu"]),
        "batch_norm": Bool(),
        "weights": Float(-1, 1, shape=40),
    }
)


def train(params):
    """Return a made-up validation loss."""
    loss = (math.log10(params["rate"]) + 3) ** 2 + 0.1 * (params["layers"] - 5) ** 2
    loss += (math.log2(params["units"]) - 9) ** 2 / 4
    loss += {"relu": 0.3, "tanh": 0.8, "gelu": 0.0}[params["activation"]] + (0.0 if params["batch_norm"] else 0.5)
    return loss + float(((params["weights"] - 0.2) ** 2).mean())


result = boids.minimize(train, space, budget, seed=0)
print(f"{result.fun:.4f} at")
for name, value in result.x.items():
    print(f"  {name} = {value if name != 'weights' else value.round(2)[:5]}")
