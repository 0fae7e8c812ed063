"""Measure the speed and memory of boids, and bring docs/benchmarks.md up to date.

    python -m benchmarks                     # everything, the same as: make bench
    python -m benchmarks growth floor        # some parts, the same as: make bench PART="growth floor"
    python -m benchmarks --page              # the page again from the numbers on file, nothing is measured
    python -m benchmarks --baseline          # from now on compare with the numbers on file: make bench-baseline

The numbers go to benchmarks/latest.json. They are compared with benchmarks/baseline.json, which holds ratios to a
calibration kernel that is measured in the same run.
"""

from __future__ import annotations

import os

# Before NumPy is imported, and inherited by the processes that measure: one thread, whatever the machine has.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import importlib
import json

from benchmarks import compare, machine, page


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(page.PARTS)}; all if none is named")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page from the numbers on file")
    parser.add_argument("--baseline", action="store_true", help="make the numbers on file those to compare with")
    parser.add_argument("--call", nargs=2, help=argparse.SUPPRESS)  # one case, in the process of its own
    given = parser.parse_args()
    if given.call:
        name, arguments = given.call
        module, _, function = name.partition(":")
        print(json.dumps(getattr(importlib.import_module(module), function)(*json.loads(arguments))))
        return
    unknown = [part for part in given.parts if part not in page.PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; name some of {', '.join(page.PARTS)}, or none for all.")
    if given.baseline:
        page.keep(page.BASELINE, compare.ratios(page.kept(page.LATEST)["parts"], page.PARTS))
    elif not given.page:
        for part in given.parts or page.PARTS:
            measure(part)
    page.write()


def measure(part: str) -> None:
    """Measure one part, keep its numbers, and say what has changed."""
    print(f"{part} …", flush=True)
    module = page.PARTS[part]
    result = module.measure()
    others = page.kept(page.LATEST).get("parts", {})
    page.keep(page.LATEST, {"machine": machine.facts(), "parts": others | {part: result}})
    print(module.section(result))
    numbers = module.numbers(result)
    if numbers:
        print(compare.listing(part, numbers, page.kept(page.BASELINE).get(part, {})), flush=True)


if __name__ == "__main__":
    main()
