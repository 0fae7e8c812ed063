"""Search spaces: the user's values to the signed cube and back; the only package that knows parameter types."""

from boids.space.categorical import Categorical
from boids.space.files import SpaceFile, read_space, space_document
from boids.space.parameters import Bool, Float, Int
from boids.space.space import Space

__all__ = ["Bool", "Categorical", "Float", "Int", "Space", "SpaceFile", "read_space", "space_document"]
