from hypothesis import settings

# A second conftest.py would clash with this one where doctests are collected.
pytest_plugins = ["cli.fixtures"]

# The same examples in every run, and no deadline: a loaded machine must not turn a green suite red.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")
