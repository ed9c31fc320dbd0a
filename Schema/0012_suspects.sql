-- A message that kills its process is told from those that merely were in it: by running it alone.

ALTER TABLE pending ADD COLUMN lone_takeovers smallint NOT NULL DEFAULT 0;
COMMENT ON COLUMN pending.takeovers IS 'How many instances in a row died while they worked on it.';
COMMENT ON COLUMN pending.lone_takeovers IS 'How many of them worked on no other row that had lost an instance before; from 2, and 3 takeovers, the message is quarantined.';
COMMENT ON COLUMN undelivered.takeovers IS 'How many gateways in a row died while they worked on it.';

DROP INDEX pending_suspect;
-- By how much company a row is to have: see InstanceDeaths.
CREATE INDEX pending_suspect ON pending
    ((CASE WHEN lone_takeovers > 0 OR takeovers > 2 THEN 3 ELSE takeovers END), due)
    WHERE instance_id IS NULL AND takeovers > 0;
