"""An imitation task: environment, what is compared, how an episode ends, what the policy sees, reward."""
