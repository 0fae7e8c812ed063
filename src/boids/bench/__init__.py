"""Experiments: methods × problems × repetitions, and what to make of them; files are the interface between the two."""
