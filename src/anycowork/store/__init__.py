"""Records and tables on SQLite: writes them in groups, makes them durable, reads them back. Fans nothing out; that is `events`."""
