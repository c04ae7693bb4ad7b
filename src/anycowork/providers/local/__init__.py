"""The local model: which ones are known, how they come here, and the child process that runs one of them."""
