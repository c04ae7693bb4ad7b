-- Whose data folder holds what a job (the layers and copies of its tasks) or a turn (the held changes of a command) needs to go on. Only the
-- process on that data folder works in the chat as long as it lives.
ALTER TABLE jobs ADD COLUMN data_folder TEXT COLLATE "C";
ALTER TABLE turns ADD COLUMN data_folder TEXT COLLATE "C";
CREATE INDEX jobs_by_data_folder ON jobs (chat_id) WHERE data_folder IS NOT NULL;
CREATE INDEX turns_by_data_folder ON turns (chat_id) WHERE data_folder IS NOT NULL AND state IN ('parked', 'due');

ALTER TABLE peers ADD COLUMN data_folder TEXT COLLATE "C";

-- A forwarded request is for one process.
ALTER TABLE forwarded_requests ADD COLUMN peer_id TEXT COLLATE "C" NOT NULL DEFAULT '';
DROP INDEX forwarded_requests_open;
CREATE INDEX forwarded_requests_open ON forwarded_requests (peer_id) WHERE taken_by IS NULL;
