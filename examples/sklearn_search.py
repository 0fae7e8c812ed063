"""Sixty-two hyper-parameters of a scikit-learn pipeline: how to bend each of twenty measurements of tumours.

python examples/sklearn_search.py [candidates]        (needs `pip install "boids-opt[sklearn]"`)
"""

import sys

from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import SplineTransformer

from boids import Float, Int
from boids.integrations.sklearn import BoidsSearchCV

CANDIDATES = int(sys.argv[1]) if len(sys.argv) > 1 else 60
COLUMNS = [*range(10), *range(20, 30)]  # of ten characteristics of the cells: their means, and the worst of them

# A generalised additive model: every measurement becomes a spline of its own, and the splines' values are weighed.
PIPELINE = Pipeline(
    [
        ("bend", ColumnTransformer([(f"m{i}", SplineTransformer(), [i]) for i in COLUMNS])),
        ("weigh", LogisticRegression(max_iter=500)),
    ]
)
SPACE = (
    {f"bend__m{i}__n_knots": Int(2, 8) for i in COLUMNS}
    | {f"bend__m{i}__degree": Int(1, 3) for i in COLUMNS}
    | {f"bend__m{i}__knots": ["uniform", "quantile"] for i in COLUMNS}
    | {"weigh__C": Float(1e-2, 1e2, log=True), "weigh__class_weight": [None, "balanced"]}
)


def main():
    """Run the example."""
    x, y = load_breast_cancer(return_X_y=True)
    seen, unseen, seen_is, unseen_is = train_test_split(x, y, stratify=y, random_state=0)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)  # the same for every candidate
    search = BoidsSearchCV(
        PIPELINE, SPACE, n_iter=CANDIDATES, scoring="neg_log_loss", cv=folds, random_state=0, batch_size=2
    )
    search.fit(seen, seen_is)
    before = cross_val_score(PIPELINE, seen, seen_is, scoring="neg_log_loss", cv=folds).mean()
    plain = log_loss(unseen_is, PIPELINE.fit(seen, seen_is).predict_proba(unseen))
    print(f"{len(SPACE)} hyper-parameters, {len(search.cv_results_['params'])} candidates")
    print(f"log loss: {-before:.4f} as it comes, {-search.best_score_:.4f} after the search")
    print(f"on cases that the search has not seen: {plain:.4f} and {-search.score(unseen, unseen_is):.4f}")


if __name__ == "__main__":
    main()
