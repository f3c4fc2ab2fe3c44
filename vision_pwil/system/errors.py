"""The one exception for bad input: a sentence that says what is wrong, where, and what to do."""


class InputError(ValueError):
    """Bad input from a person or a file; command lines print its sentence and exit with status 2."""


class Interrupted(Exception):
    """Ctrl-C or SIGTERM asked to stop, and what was under way has been saved; command lines exit with status 130."""
