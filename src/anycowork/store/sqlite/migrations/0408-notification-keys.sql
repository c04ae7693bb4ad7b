-- The key that this server signs Web Push with: browsers subscribe to it, so all servers of the database share it.
CREATE TABLE notification_keys (
  name TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  private_key TEXT NOT NULL
) WITHOUT ROWID;
