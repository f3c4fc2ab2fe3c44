"""Settings for every test: property tests have no deadline (compiled kernels load on first use) and repeat exactly."""

from hypothesis import settings

settings.register_profile("vision_pwil", deadline=None, derandomize=True)
settings.load_profile("vision_pwil")
