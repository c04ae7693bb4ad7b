-- Runs of the job engine and the signals that they wait for. DBOS hands out their segments; what they did stands in the records, so these
-- rows may be lost. SQLite has none of it: there one process runs everything.
CREATE TABLE engine_runs (
  run_id TEXT COLLATE "C" PRIMARY KEY,
  kind TEXT COLLATE "C" NOT NULL,
  payload TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL DEFAULT 'active',
  segment BIGINT NOT NULL DEFAULT 0,
  attempts BIGINT NOT NULL DEFAULT 0,
  epoch BIGINT NOT NULL DEFAULT 0,
  owner TEXT COLLATE "C",
  waits_for TEXT COLLATE "C",
  signal TEXT COLLATE "C",
  result TEXT COLLATE "C",
  error TEXT COLLATE "C",
  changed_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX engine_runs_state ON engine_runs (state, changed_at);

CREATE TABLE engine_signals (
  seq BIGINT GENERATED ALWAYS AS IDENTITY,
  run_id TEXT COLLATE "C" NOT NULL REFERENCES engine_runs (run_id) ON DELETE CASCADE,
  dedup TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  payload TEXT COLLATE "C" NOT NULL,
  consumed BOOLEAN NOT NULL DEFAULT false,
  PRIMARY KEY (run_id, dedup)
);
