"""Settings for every test.

Property tests have no deadline (compiled kernels load on first use) and repeat exactly. Ctrl-C reaches the commands
that the tests start, also where the tests themselves run in the background of a shell, which ignores it for them.
Nothing is kept in the user's cache folder.
"""

import os
import signal
import tempfile

from hypothesis import settings

_cache = tempfile.TemporaryDirectory(prefix="vision-pwil-cache-")  # gone at the end of the tests
os.environ["VISION_PWIL_CACHE"] = _cache.name

settings.register_profile("vision_pwil", deadline=None, derandomize=True)
settings.load_profile("vision_pwil")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
