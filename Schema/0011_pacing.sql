-- Pacing: about one push a second to an activity, and of what waits meanwhile only the newest. The claim keeps it, so
-- that it holds across lanes and instances. Like the other columns it updates, this one may stand in no index.

ALTER TABLE live_activity ADD COLUMN next_message bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN live_activity.next_message IS 'Newest message that asked for its turn and was told to wait a moment; an older one that was not claimed before is superseded.';
