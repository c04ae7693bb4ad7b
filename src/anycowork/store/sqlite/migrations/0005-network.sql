-- Where a call may go over the network, as a person was shown it; and whether it has run already, so that its changes wait for the answer.

ALTER TABLE approvals ADD COLUMN network TEXT NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN held BIGINT NOT NULL DEFAULT 0;
