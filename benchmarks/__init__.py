"""Speed and memory: what a proposal costs, by phase, size and method, and against an earlier measurement."""
