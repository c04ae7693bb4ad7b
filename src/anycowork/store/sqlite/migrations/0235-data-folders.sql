-- Whose data folder holds what a job or a turn needs to go on. Empty where one process uses the database.
ALTER TABLE jobs ADD COLUMN data_folder TEXT;
ALTER TABLE turns ADD COLUMN data_folder TEXT;
