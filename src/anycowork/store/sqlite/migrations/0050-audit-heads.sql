-- Whether the file with the heads of the audit chains was begun: a file that was there and is gone must not be taken for a new one.

ALTER TABLE house ADD COLUMN audit_heads BIGINT NOT NULL DEFAULT 0;
