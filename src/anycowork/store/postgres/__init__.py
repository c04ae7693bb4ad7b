"""The PostgreSQL store: the shared statements of `store/sql` over asyncpg, for one or several servers. Imported only with a database URL."""
