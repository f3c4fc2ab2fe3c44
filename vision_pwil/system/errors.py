"""The package's exceptions: each is a sentence for a person, and command lines print no more than that."""


class InputError(ValueError):
    """Bad input from a person or a file: what is wrong, where, and what to do. Commands exit with status 2."""


class Interrupted(Exception):
    """Ctrl-C or SIGTERM asked to stop, and what was done is saved: the sentence says how to go on. Status 130."""
