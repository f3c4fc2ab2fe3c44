"""Learn a frame encoder from videos, and look at it: `vision-pwil encoder train|evaluate|crossvalidate`.

train is `python -m vision_pwil.tcc.train`; evaluate measures Kendall's tau of a saved encoder and draws its alignment;
crossvalidate trains on every fold.
"""

import sys
from collections.abc import Sequence

from vision_pwil.system import cli
from vision_pwil.tcc import crossvalidate, evaluate, train

ACTIONS = ("train", "evaluate", "crossvalidate")


def main(args: Sequence[str], prog: str = "vision-pwil encoder") -> None:
    """The command."""
    action, rest = (args[0], args[1:]) if args else ("--help", [])
    if action == "train":
        train.main(rest, f"{prog} train")
    elif action == "evaluate":
        cli.run(evaluate.main, args=rest, prog=f"{prog} evaluate", description=evaluate.__doc__)
    elif action == "crossvalidate":
        train.main(rest, f"{prog} crossvalidate", crossvalidate.main, crossvalidate.__doc__)
    elif action in ("-h", "--help"):
        print(f"usage: {prog} {{{','.join(ACTIONS)}}} [OPTIONS]\n\n{__doc__}")
    else:
        print(f"error: there is no `{prog} {action}`: choose one of {', '.join(ACTIONS)}.", file=sys.stderr)
        raise SystemExit(2)
