import signal

from hypothesis import settings

# A shell that starts the suite in the background, or with nohup, lets it ignore these, and with it every program that
# the tests start and interrupt.
for number, handler in {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}.items():
    if hasattr(signal, number) and signal.getsignal(getattr(signal, number)) is signal.SIG_IGN:
        signal.signal(getattr(signal, number), handler)

# A second conftest.py would clash with this one where doctests are collected.
pytest_plugins = ["cli.fixtures"]

# The same examples in every run, and no deadline: a loaded machine must not turn a green suite red.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")
