"""`python -m boids` is the same as the command `boids`."""

import sys

from boids.cli import main

if __name__ == "__main__":
    sys.exit(main())
