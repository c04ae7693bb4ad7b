"""Several servers and workers on one database: who is alive, who runs which job, who takes over."""
