"""68 hyper-parameters of a scikit-learn pipeline, tuned by cross-validation and judged on cases that were held back.

The pipeline reads handwritten digits: every one of 64 pixels has a weight of its own, then comes kernel ridge
regression (needs `pip install 'boids-opt[problems]'`).

    python examples/sklearn_pipeline.py [evaluations]
"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import boids
from boids import Categorical, Float, Space

BUDGET = int(sys.argv[1]) if len(sys.argv) > 1 else 150
SPACE = Space(
    {
        "weight": Float(0.05, 1, log=True, shape=64),
        "contrast": Float(0.25, 2, log=True),
        "kernel": Categorical(["rbf", "laplacian"]),
        "gamma": Float(1e-3, 1, log=True),
        "alpha": Float(1e-4, 1, log=True),
    }
)
# The best of a grid of 12 combinations of gamma and alpha, all weights equal.
BY_HAND = {"weight": np.ones(64), "contrast": 1.0, "kernel": "rbf", "gamma": 0.3, "alpha": 1e-3}

pixels, digits = load_digits(return_X_y=True)
x, x_held, y, y_held = train_test_split(
    pixels / 16, np.eye(10)[digits], train_size=500, random_state=0, stratify=digits
)
FOLDS = KFold(5, shuffle=True, random_state=0)


def pipeline(p):
    """Return the pipeline that a point of the space describes."""
    return make_pipeline(
        FunctionTransformer(lambda pixels: pixels ** p["contrast"] * p["weight"]),
        KernelRidge(kernel=p["kernel"], gamma=p["gamma"], alpha=p["alpha"]),
    )


def error(p):
    """Return the cross-validated squared error."""
    return -cross_val_score(pipeline(p), x, y, cv=FOLDS, scoring="neg_mean_squared_error").mean()


def held_back(p):
    """Return the squared error on the 1297 cases that the search never sees, and the share of wrong digits."""
    answers = pipeline(p).fit(x, y).predict(x_held)
    return ((answers - y_held) ** 2).mean(), (answers.argmax(axis=1) != y_held.argmax(axis=1)).mean()


if __name__ == "__main__":
    # Begin with the settings chosen by hand: the search is laid through them.
    result = boids.minimize(error, SPACE, BUDGET, seed=0, x0=BY_HAND, progress=True)
    for name, p in (("by hand", BY_HAND), ("tuned", result.x)):
        print(f"{name}: cross-validated {error(p):.5f}, held back {held_back(p)[0]:.5f}, {held_back(p)[1]:.2%} wrong")
