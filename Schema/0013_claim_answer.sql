-- The claim decides and changes a row in one UPDATE, whose RETURNING knows the row only as it is afterwards: what was
-- decided stands in the row.

ALTER TABLE live_activity
    ADD COLUMN verdict text,
    ADD COLUMN budget_is_spent boolean;
COMMENT ON COLUMN live_activity.verdict IS 'What the newest message that asked to be sent was told: claimed, superseded, unchanged, paced, activity_ended, not_live, quarantined.';
COMMENT ON COLUMN live_activity.budget_is_spent IS 'Whether the newest message that asked to be sent found the budget of priority 10 of its phone spent.';

-- Of two indexes that promise the same, the planner takes the younger. The claim finds an activity by its key; with the
-- key as the younger one, the other activities of its phone, which the budget counts, stand on the same page of it.
ALTER TABLE live_activity DROP CONSTRAINT live_activity_pkey,
    ADD PRIMARY KEY (sdk_app_id, account, la_id, installation);
