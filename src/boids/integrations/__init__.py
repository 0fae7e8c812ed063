"""Adapters to what people already run; each needs its library, and is imported by those who have it."""
