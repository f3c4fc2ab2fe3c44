"""Any environment as flat vectors; cameras and the fast renderer; replaying demonstrations to frames."""
