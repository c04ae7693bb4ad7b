-- Jobs and their tasks. A turn that plans, works on a task or closes a job names both.

ALTER TABLE turns ADD COLUMN job_id TEXT;
ALTER TABLE turns ADD COLUMN task_id TEXT;
CREATE INDEX turns_by_job ON turns (job_id, task_id) WHERE job_id IS NOT NULL;

CREATE TABLE jobs (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  request TEXT NOT NULL,
  message_id TEXT NOT NULL,
  principal TEXT NOT NULL,
  status TEXT NOT NULL,
  plan_id TEXT,
  plan TEXT,
  on_failure TEXT NOT NULL,
  parallel BIGINT NOT NULL,
  limits TEXT NOT NULL,
  final_response TEXT,
  error TEXT,
  created_at TEXT NOT NULL,
  completed_at TEXT
) WITHOUT ROWID;
CREATE INDEX jobs_by_chat ON jobs (chat_id, id);

CREATE TABLE tasks (
  job_id TEXT NOT NULL,
  id TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  ordinal BIGINT NOT NULL,
  description TEXT NOT NULL,
  dependencies TEXT NOT NULL,
  status TEXT NOT NULL,
  claimed BIGINT NOT NULL,
  result TEXT,
  error TEXT,
  attempt BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  interruptions BIGINT NOT NULL,
  turn_id TEXT,
  created_at TEXT NOT NULL,
  started_at TEXT,
  completed_at TEXT,
  PRIMARY KEY (job_id, id)
) WITHOUT ROWID;
CREATE INDEX tasks_by_chat ON tasks (chat_id);
