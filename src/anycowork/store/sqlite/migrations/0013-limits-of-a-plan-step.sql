-- How many steps and seconds a turn had used when the present step of its plan began: limits count per step of the plan.

ALTER TABLE turns ADD COLUMN steps_before BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN seconds_before DOUBLE PRECISION NOT NULL DEFAULT 0;
