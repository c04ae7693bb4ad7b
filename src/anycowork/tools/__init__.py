"""The tools that a model may call on a workspace. Each tool inspects first (`prepare`) and acts afterwards (`run`)."""
