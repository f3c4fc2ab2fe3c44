"""Command lines: arguments in, one call, words out."""
