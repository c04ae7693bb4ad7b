-- A lease ends by itself: another server may take it from then on. Without a time (leases of earlier releases) it has ended.
ALTER TABLE leases ADD COLUMN expires_at TEXT;
