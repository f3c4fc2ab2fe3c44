"""Film a gripper that goes to the red point in a straight line, each time at another pace: 30 videos."""

from pathlib import Path

import gymnasium as gym
import gymnasium_robotics
import imageio.v3 as imageio
import numpy as np

gym.register_envs(gymnasium_robotics)
CLOSE = {"lookat": np.array([1.35, 0.75, 0.55]), "distance": 1.0, "azimuth": 135.0, "elevation": -25.0}
env = gym.make("FetchReach-v4", render_mode="rgb_array", width=256, height=256, default_camera_config=CLOSE)
rng = np.random.default_rng(0)
Path("videos").mkdir(exist_ok=True)
for number in range(30):
    (seen, _), frames = env.reset(seed=number), []
    speed = rng.uniform(0.2, 0.4)
    while np.linalg.norm(seen["desired_goal"] - seen["achieved_goal"]) > 0.015 and len(frames) < 49:
        way = seen["desired_goal"] - seen["achieved_goal"]
        step = speed * way / max(np.linalg.norm(way), 0.03) + rng.normal(0, 0.05, 3)
        seen, *_ = env.step(np.append(step, 0.0).astype(np.float32))
        frames.append(env.render())
    imageio.imwrite(f"videos/{number:02d}.mp4", frames, fps=25)
    print(number, len(frames), np.linalg.norm(seen["desired_goal"] - seen["achieved_goal"]).round(3))
