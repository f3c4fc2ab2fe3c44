"""The agents and what they share."""
