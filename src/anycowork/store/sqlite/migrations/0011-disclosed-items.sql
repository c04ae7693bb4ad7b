-- What a decision grants, item by item, as every client shows it. An approval of an earlier release has none.

ALTER TABLE approvals ADD COLUMN items TEXT NOT NULL DEFAULT '[]';
