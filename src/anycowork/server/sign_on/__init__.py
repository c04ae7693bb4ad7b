"""Sign-on with an OpenID provider: people, their access by group, and sessions that end with the provider's."""
