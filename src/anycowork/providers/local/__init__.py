"""Local models: the catalogue, downloads, and the child process that runs one of them."""
