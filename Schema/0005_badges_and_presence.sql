-- Badges are counted in the device's row, in place and by every notification: room for new versions of a row on its page,
-- and no index may hold the columns badge, badge_messages and foreground_until.
ALTER TABLE device SET (fillfactor = 80);

ALTER TABLE device ADD COLUMN badge_messages bigint[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN device.badge_messages IS 'The last 8 messages that were counted in badge, newest first: one that is sent again after a crash is not counted again. More than one, since messages under way together can come in any order.';
COMMENT ON COLUMN device.badge IS 'The number on the app''s icon: as the phone reported it, and what was counted since.';
COMMENT ON COLUMN device.foreground_until IS 'Until then the app is in front, as the phone reported: normal notifications are not sent to it.';

CREATE FUNCTION report_presence(
    for_app bigint, for_account text, for_installation text, is_in_front boolean, new_unread integer
) RETURNS TABLE (foreground_until timestamptz)
LANGUAGE sql VOLATILE AS $$
    UPDATE device SET
        foreground_until = CASE WHEN is_in_front THEN clock_timestamp() + interval '5 minutes' END,
        badge = CASE WHEN is_in_front THEN 0 ELSE coalesce(new_unread, badge) END
    WHERE sdk_app_id = for_app AND account = for_account AND installation = for_installation
    RETURNING device.foreground_until
$$;
COMMENT ON FUNCTION report_presence(bigint, text, text, boolean, integer) IS 'POST /v1/presence: the app came to the front, which clears its number, or left it with new_unread on its icon (null: as it was). No row: the account has no device token on the installation.';
