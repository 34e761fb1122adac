"""Theorems, implementations and designs judged for every value, and set side by side."""
