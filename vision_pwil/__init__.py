"""Primal Wasserstein Imitation Learning (PWIL), from states or from pixels."""

import sys

__version__ = "0.1.0"

if sys.argv[:1] == ["-m"]:  # Python is looking for a command of this package, and will import much before it starts
    from vision_pwil.system.interrupt import end_quietly

    end_quietly()
