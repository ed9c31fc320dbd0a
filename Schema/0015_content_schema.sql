-- What apps decode: a content-state is checked before it is pushed, and so are the attributes of a start.

CREATE TABLE content_schema (
    sdk_app_id bigint NOT NULL REFERENCES app ON DELETE CASCADE,
    attributes_type text NOT NULL CHECK (octet_length(attributes_type) BETWEEN 1 AND 128),
    version integer NOT NULL CHECK (version > 0),
    from_app_version text CHECK (from_app_version ~ '^[0-9]'),
    model json NOT NULL CHECK (octet_length(model::text) <= 1048576),
    source_file text,
    source_sha256 text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (sdk_app_id, attributes_type, version)
);
COMMENT ON TABLE content_schema IS 'How an iOS app decodes an ActivityAttributes type, version by version. Written by `livepush schema`; rows are added and removed, never changed.';
COMMENT ON COLUMN content_schema.sdk_app_id IS 'The app it belongs to.';
COMMENT ON COLUMN content_schema.attributes_type IS 'Name of the ActivityAttributes type, as phones register it.';
COMMENT ON COLUMN content_schema.version IS 'Counts up from 1 within app and type.';
COMMENT ON COLUMN content_schema.from_app_version IS 'First version of the iOS app that has it; null: every version for which no other row counts. A device is checked against the row with the newest from_app_version that is not newer than its app.';
COMMENT ON COLUMN content_schema.model IS 'Properties, types and names in JSON of ContentState and attributes; `livepush schema show` prints it.';
COMMENT ON COLUMN content_schema.source_file IS 'Name of the Swift file it was read from; null: it was given as JSON.';
COMMENT ON COLUMN content_schema.source_sha256 IS 'SHA-256 of that file in hex.';
COMMENT ON COLUMN content_schema.created_at IS 'When it was added; running gateways follow within 5 seconds.';

ALTER TABLE app
    ADD COLUMN schema_policy text NOT NULL DEFAULT 'reject'
        CHECK (schema_policy IN ('reject', 'fallback', 'warn')),
    ADD COLUMN schema_converts_dates boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN app.schema_policy IS 'What becomes of a content-state that the app cannot decode: reject refuses it, fallback sends a normal notification instead, warn sends it all the same. Counts where there is a content_schema.';
COMMENT ON COLUMN app.schema_converts_dates IS 'true: a date in Unix seconds or milliseconds is rewritten to the seconds since 2001 that Swift decodes; false: it counts as a fault.';
