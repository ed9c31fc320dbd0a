-- What waits for an APNs that takes no more pushes of a key stands in a line, apart from the rest of the queue: nobody else
-- waits behind it, and it keeps its place.

ALTER TABLE pending ADD COLUMN line text;
COMMENT ON COLUMN pending.line IS 'For which key and environment of APNs it waits, as team/key/environment, since too many pushes wait there already; its due is unchanged and tells its place. Null: for none.';

DROP INDEX pending_due;
CREATE INDEX pending_due ON pending (due) WHERE instance_id IS NULL AND line IS NULL;
-- Of messages that were accepted at the same time the order is that of their ids.
CREATE INDEX pending_line ON pending (line, due, message_id) WHERE instance_id IS NULL AND line IS NOT NULL;
CREATE INDEX pending_line_deadline ON pending (deadline) WHERE instance_id IS NULL AND line IS NOT NULL;
