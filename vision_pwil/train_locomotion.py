"""Imitate states and actions in any Gymnasium environment: `python -m vision_pwil.train_locomotion --env Hopper-v5`.

`vision-pwil train` with the preset of the paper's locomotion: PWIL with D4PG, TD3 or SAC, its ablations, and the
paper's baselines, behavioural cloning and DAC.
"""

import sys

from vision_pwil.commands import train
from vision_pwil.tasks import locomotion

if __name__ == "__main__":
    train.with_preset(sys.argv[1:], "python -m vision_pwil.train_locomotion", locomotion.PRESET, "Hopper-v5", __doc__)
