"""Turns judged results into HTML, Markdown and JSON. Trains nothing."""
