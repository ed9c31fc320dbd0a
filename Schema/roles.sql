-- Roles, and exactly what each may do. `livepush migrate` runs this file after the numbered ones, each time; it can run
-- as often as you like. Run by hand, it needs the owner of the tables, and for the roles themselves CREATEROLE.
--
--     livepush_gateway    what `livepush serve` needs, and nothing else
--     livepush_operator   what people read: the views, and columns of tables without secrets, tokens and content
--
-- Neither can log in. Give them to logins: GRANT livepush_operator TO ...; rights beyond these belong to roles of your
-- own, since this file takes them from these two.

-- Roles belong to the whole cluster: another database of it may have made them, or may be making them right now.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['livepush_gateway', 'livepush_operator'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
END
$$;

-- Nothing is left of what PUBLIC or these roles had on livepush's own objects; what others own stays as it is.
-- Partitions need no rights: everybody goes through their parents.
DO $$
DECLARE
    owner oid := (SELECT relowner FROM pg_class WHERE oid = 'public.app'::regclass);
    object text;
BEGIN
    FOR object IN
        SELECT format('%s public.%I', CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, relname)
        FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT relispartition
            AND relowner = owner
            AND NOT EXISTS (SELECT FROM pg_depend
                WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
        UNION ALL
        SELECT format('FUNCTION %s', oid::regprocedure)
        FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND prokind = 'f' AND proowner = owner
            AND NOT EXISTS (SELECT FROM pg_depend
                WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e')
    LOOP
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC, livepush_gateway, livepush_operator', object);
    END LOOP;
    -- In PostgreSQL 14 everybody may create things in the schema public.
    IF (SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = 'public') THEN
        REVOKE CREATE ON SCHEMA public FROM PUBLIC, livepush_gateway, livepush_operator;
        GRANT USAGE ON SCHEMA public TO livepush_gateway, livepush_operator;
    END IF;
END
$$;

-- The gateway ---------------------------------------------------------------------------------------------------------

GRANT SELECT ON schema_migration, app, certificate, content_schema, application_code, api_token TO livepush_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON account, device, live_activity, start_token, activity_start, start_guard,
    registration_clear, instance, pending, recent_request TO livepush_gateway;
GRANT INSERT ON registration_transfer TO livepush_gateway;
GRANT SELECT, INSERT ON message, delivery, revocation TO livepush_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON scheduled_message TO livepush_gateway;
GRANT SELECT, INSERT, UPDATE ON alarm TO livepush_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON provider_token, waiting_alert, sent_state TO livepush_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON channel TO livepush_gateway;
GRANT SELECT, INSERT, UPDATE ON channel_request TO livepush_gateway;
GRANT SELECT, INSERT, UPDATE ON fan_out TO livepush_gateway;
-- How many recipients of a message to an audience were found.
GRANT UPDATE (recipients) ON message TO livepush_gateway;
-- Accounts that are erased leave their segments.
GRANT SELECT, DELETE ON segment TO livepush_gateway;
GRANT SELECT, INSERT, DELETE ON push_to_all TO livepush_gateway;
GRANT SELECT ON registrations TO livepush_gateway;
GRANT USAGE ON SEQUENCE message_id TO livepush_gateway;
GRANT EXECUTE ON FUNCTION
    create_partitions(integer),
    token_fingerprint(bytea),
    lock_installation(bigint, text),
    lock_token(bigint, bytea),
    is_stale_sequence(bigint, bigint, bigint, bigint),
    comes_too_late(bigint, text, text, text, text, bigint),
    take_installation(bigint, text, text, text),
    register_device(bigint, text, text, bytea, bigint, text, text, text, text, text, boolean, bigint),
    register_activity(bigint, text, text, text, bytea, bigint, text, text, text, timestamptz, boolean, bigint),
    clear_registrations(bigint, text, text, text, boolean, bigint),
    register_start_token(bigint, text, text, text, bytea, bigint, text, text, text, bigint),
    clear_start_token(bigint, text, text, text, bigint),
    runs_activity(bigint, text, text, text),
    await_update_tokens(bigint, text, text, bigint, boolean, text[], bytea, timestamptz),
    undecided_start(bigint, text, bigint, text, interval),
    claim_starts(
        bigint, text, text, text, bigint, timestamptz, boolean, text[], interval, interval, bigint, interval, boolean,
        bytea),
    report_presence(bigint, text, text, boolean, integer),
    move_installation(bigint, text, text),
    release_scheduled(bigint),
    cancel_scheduled(bigint, text, text),
    erase_from_schedule(bigint, text[]),
    push_to_all_wait(bigint),
    count_push_to_all(bigint, bytea, text)
TO livepush_gateway;

-- The operator --------------------------------------------------------------------------------------------------------

GRANT SELECT ON registrations, recent_deliveries, undelivered, scheduled, app_health, alarms, channels, channel_requests,
    fan_outs
TO livepush_operator;
-- The one table that operators fill: who is in which segment.
GRANT SELECT, INSERT, DELETE ON segment TO livepush_operator;
-- A view calls functions with the rights of who reads it.
GRANT EXECUTE ON FUNCTION token_fingerprint(bytea), token_fingerprint(text), plain_reason(text), waiting_recipients(bytea)
TO livepush_operator;

-- For questions that the views do not answer. Column by column, so that a new column is not readable by accident.
GRANT SELECT (
    sdk_app_id, name, administrators, require_imported_accounts, live_activity_alert, live_activity_priority,
    fallback_collapse, placeholder_language, created_at, updated_at, requests_per_second, caller_requests_per_second,
    batch_recipients_per_minute, client_requests_per_minute, usersig_failures_per_minute, schema_policy,
    schema_converts_dates, extensions, seconds_between_pushes_to_all, pushes_to_all_per_day
) ON app TO livepush_operator;
GRANT SELECT (
    sdk_app_id, business_id, bundle_id, team_id, key_id, environment, created_at, updated_at
) ON certificate TO livepush_operator;
GRANT SELECT (code, sdk_app_id, business_id, created_at) ON application_code TO livepush_operator;
GRANT SELECT (sdk_app_id, name, scope, created_at) ON api_token TO livepush_operator;
GRANT SELECT (
    sdk_app_id, attributes_type, version, from_app_version, model, source_file, source_sha256, created_at
) ON content_schema TO livepush_operator;
GRANT SELECT (sdk_app_id, account, imported_at) ON account TO livepush_operator;
GRANT SELECT (
    sdk_app_id, account, installation, business_id, environment, os_version, app_version, language, badge,
    badge_messages, foreground_until, notification_permission, frequent_pushes_enabled, sequence, registered_at,
    bad_days, last_bad_day, quarantined_at
) ON device TO livepush_operator;
GRANT SELECT (
    sdk_app_id, account, la_id, installation, business_id, environment, attributes_type, app_version, sequence,
    started_at, registered_at, last_message, last_timestamp, last_sent_at, end_message, ended_at, next_message,
    budget_hour, budget_pushes, bad_days, last_bad_day, quarantined_at,
    verdict, budget_is_spent
) ON live_activity TO livepush_operator;
GRANT SELECT (
    sdk_app_id, account, attributes_type, installation, business_id, environment, os_version, app_version, sequence,
    registered_at, bad_days, last_bad_day, quarantined_at
) ON start_token TO livepush_operator;
GRANT SELECT (
    sdk_app_id, account, la_id, installation, message_id, token_fingerprint, last_timestamp, sent_at, expires_at,
    waits_until, registered_at, waiting_message, waiting_end, alert_message, alert_until,
    attributes_type
) ON activity_start TO livepush_operator;
GRANT SELECT (sdk_app_id, installation, recent_starts) ON start_guard TO livepush_operator;
GRANT SELECT (sdk_app_id, installation, kind, la_id, sequence, cleared_at) ON registration_clear TO livepush_operator;
GRANT SELECT (
    id, transferred_at, sdk_app_id, installation, from_account, to_account, reason, devices, activities, start_tokens
) ON registration_transfer TO livepush_operator;
GRANT SELECT (id, heartbeat, heartbeat_at, host, started_at) ON instance TO livepush_operator;
GRANT SELECT (
    id, accepted_at, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event, recipients
) ON message TO livepush_operator;
GRANT SELECT (
    message_id, accepted_at, sdk_app_id, account, installation, la_id, event, route, route_reason, fallback, outcome,
    apns_status, apns_reason, apns_id, attempts, priority, priority_reason, timestamp_sent, payload_bytes,
    token_fingerprint, environment, sent_at, finished_at, business_id,
    answers_lost
) ON delivery TO livepush_operator;
GRANT SELECT (
    id, accepted_at, send_at, lifetime, sdk_app_id, dialect, endpoint, msg_key, sender, la_id, event, recipients,
    erased_accounts, cancelled_at, cancelled_by
) ON scheduled_message TO livepush_operator;
GRANT SELECT (
    message_id, account, accepted_at, sdk_app_id, instance_id, due, deadline, takeovers, attempts, reason,
    lone_takeovers, starts, line
) ON pending TO livepush_operator;
GRANT SELECT (
    kind, sdk_app_id, subject, business_id, environment, route, detail, host, first_seen, last_seen, count, fades_at,
    ended_at
) ON alarm TO livepush_operator;
GRANT SELECT (sdk_app_id, message_id, msg_key, accepted_at, repeats) ON recent_request TO livepush_operator;
GRANT SELECT (
    message_id, accepted_at, sdk_app_id, audience, activity, segments_all, segments_any, devices, unknown_devices,
    replaces_older, started_at, listed, advanced_at, outcome, ended_by, finished_at,
    undecided_start
) ON fan_out TO livepush_operator;
GRANT SELECT (
    sdk_app_id, bundle_id, environment, channel_id, storage, created_at, known_since, last_timestamp
) ON channel TO livepush_operator;
GRANT SELECT (
    id, requested_at, answered_at, sdk_app_id, business_id, bundle_id, environment, requested_by, operation, channel_id,
    request_id, event, priority, expiration, timestamp_sent, payload_bytes, warnings, outcome, apns_status, apns_reason,
    may_have_been_processed
) ON channel_request TO livepush_operator;
GRANT SELECT (message_id, accepted_at, sdk_app_id, revoked_at, revoked_by) ON revocation TO livepush_operator;
GRANT SELECT (sdk_app_id, accepted_at, msg_key) ON push_to_all TO livepush_operator;
GRANT SELECT (version, name, applied_at) ON schema_migration TO livepush_operator;
GRANT SELECT (
    sdk_app_id, file, bytes, bytes_done, lines_done, report_bytes, imported, unchanged, kept, refused, started_at,
    updated_at, finished_at
) ON registration_import TO livepush_operator;
GRANT SELECT (
    team_id, key_id, environment, key_fingerprint, issued_at, minted_by
) ON provider_token TO livepush_operator;
GRANT SELECT (
    sdk_app_id, account, la_id, installation, message_id, sent_at, until
) ON waiting_alert TO livepush_operator;
GRANT SELECT (sdk_app_id, account, la_id, installation, message_id, sent_at) ON sent_state TO livepush_operator;
