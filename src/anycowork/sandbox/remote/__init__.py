"""Commands that run on joined workers: the workspace travels by content, and what a command changed comes back as a layer."""
