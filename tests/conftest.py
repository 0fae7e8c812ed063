from hypothesis import settings

# The same examples in every run, and no deadline: a loaded machine must not turn a green suite red.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")
