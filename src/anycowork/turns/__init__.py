"""The turn runtime: starts, schedules, parks, recovers and locks turns. Jobs and workflows register what runs their turns."""
