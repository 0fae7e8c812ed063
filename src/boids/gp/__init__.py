"""Gaussian-process regression with NumPy and SciPy only: kernels, fitting, posteriors and posterior draws."""
