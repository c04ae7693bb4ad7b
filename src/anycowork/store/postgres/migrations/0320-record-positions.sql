-- Positions of records come from a sequence, so that nobody waits for another writer to learn the next one.
CREATE SEQUENCE record_positions;
SELECT setval('record_positions', GREATEST(1, (SELECT MAX(position) FROM records), (SELECT MAX(last_position) FROM house)));
