-- Where a call may go over the network, as a person was shown it.

ALTER TABLE approvals ADD COLUMN network TEXT NOT NULL DEFAULT '[]';
