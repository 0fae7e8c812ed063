"""The page to watch runs: those that go on, and those that have ended; it reads, and never writes."""
