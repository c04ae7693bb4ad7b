"""Runs commands as transactions: bubblewrap, Landlock and seccomp confine them; their changes form a delta, which is committed or dropped."""
