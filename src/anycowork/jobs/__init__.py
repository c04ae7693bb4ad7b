"""Jobs: an approved plan carried out task by task by worker agents, durably."""
