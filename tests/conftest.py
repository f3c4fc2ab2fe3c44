"""Settings for every test.

Property tests have no deadline (compiled kernels load on first use) and repeat exactly. Ctrl-C reaches the commands
that the tests start, also where the tests themselves run in the background of a shell, which ignores it for them.
"""

import signal

from hypothesis import settings

settings.register_profile("vision_pwil", deadline=None, derandomize=True)
settings.load_profile("vision_pwil")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
