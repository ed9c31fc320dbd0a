-- Pacing: about one push a second to an activity, and of what waits meanwhile only the newest. The claim keeps it, so
-- that it holds across lanes and instances. Like the other columns it updates, this one may stand in no index.

ALTER TABLE live_activity ADD COLUMN next_message bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN live_activity.next_message IS 'Newest message that asked for its turn and was told to wait a moment; an older one that was not claimed before is superseded.';

-- Of the same state twice within a minute only the first is pushed.
ALTER TABLE live_activity ADD COLUMN last_state bigint;
COMMENT ON COLUMN live_activity.last_state IS 'Digest of content state, stale date and relevance score of the newest claim for this token; null: APNs did not accept it, or nobody knows.';

CREATE FUNCTION forget_last_state() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.last_state := NULL;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION forget_last_state() IS 'Trigger: a new token of an activity was sent no state yet.';
-- The claim does not set the token, so it never asks this.
CREATE TRIGGER forget_last_state BEFORE UPDATE OF token ON live_activity
    FOR EACH ROW WHEN (OLD.token IS DISTINCT FROM NEW.token) EXECUTE FUNCTION forget_last_state();
COMMENT ON TRIGGER forget_last_state ON live_activity IS 'A new token was sent no state yet.';

-- The budget of priority 10: an installation's bucket is the sum over its activities.
ALTER TABLE live_activity
    ADD COLUMN budget_hour bigint NOT NULL DEFAULT 0,
    ADD COLUMN budget_pushes integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN live_activity.budget_hour IS 'The hour that budget_pushes counts, in hours since 1970-01-01T00:00Z.';
COMMENT ON COLUMN live_activity.budget_pushes IS 'How many messages with priority 10 were claimed for it in that hour.';
