-- Where people are told that a decision waits for them. `secret` signs or encrypts what is sent there.
CREATE TABLE notification_targets (
  id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  person TEXT COLLATE "C" NOT NULL,
  principal TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  address TEXT COLLATE "C" NOT NULL,
  secret TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL,
  disabled TEXT COLLATE "C",
  failures BIGINT NOT NULL,
  last_sent_at TEXT COLLATE "C",
  last_error TEXT COLLATE "C",
  hour_began TEXT COLLATE "C",
  hour_sent BIGINT NOT NULL DEFAULT 0
);
-- Each wait once for each target.
CREATE TABLE notifications (
  target_id TEXT COLLATE "C" NOT NULL,
  wait_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  kind TEXT COLLATE "C" NOT NULL,
  chat_id TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  attempts BIGINT NOT NULL,
  due_at TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (target_id, wait_id)
);
