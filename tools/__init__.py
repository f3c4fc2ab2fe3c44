"""Programs for those who work on the package: its command reference, its notebooks, its kept results."""
