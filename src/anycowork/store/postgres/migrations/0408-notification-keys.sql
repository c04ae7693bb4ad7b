-- The key that this server signs Web Push with: browsers subscribe to it, so all servers of the database share it.
CREATE TABLE notification_keys (
  name TEXT COLLATE "C" PRIMARY KEY NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  private_key TEXT COLLATE "C" NOT NULL
);
