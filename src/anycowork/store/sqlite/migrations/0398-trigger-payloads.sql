-- Which parameters a trigger takes from the body of its requests, and where they stand in it.
ALTER TABLE schedules ADD COLUMN payload TEXT NOT NULL DEFAULT '{}';
