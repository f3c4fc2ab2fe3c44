"""Learn to open the door from demonstrations: `python -m vision_pwil.train_door`.

`vision-pwil train` with the door's preset: by default it learns from the demonstrations that come with the package.
"""

import sys

from vision_pwil.commands import train
from vision_pwil.tasks import door

if __name__ == "__main__":
    train.with_preset(sys.argv[1:], "python -m vision_pwil.train_door", door.PRESET, door.ENV_ID, __doc__)
