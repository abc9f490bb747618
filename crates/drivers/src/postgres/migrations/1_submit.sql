-- Jobs that programs handed in inside their own transactions, with `submit` below. The leading node makes jobs of them,
-- in the commit that removes them here. One that cannot become a job now says why, and is tried again.
CREATE TABLE handed_in (
    id         BIGINT PRIMARY KEY,
    kind       TEXT COLLATE "C" NOT NULL,
    owner      TEXT COLLATE "C" NOT NULL,
    priority   SMALLINT NOT NULL CHECK (priority BETWEEN 0 AND 9),
    lane       TEXT COLLATE "C",
    halts      BOOLEAN NOT NULL,
    limit_key  TEXT COLLATE "C",
    attempts   INTEGER CHECK (attempts > 0),
    due        BIGINT,
    unique_key TEXT COLLATE "C",
    unique_for BIGINT CHECK (unique_for > 0),
    payload    BYTEA NOT NULL,
    again      BIGINT NOT NULL DEFAULT 0,
    refused    TEXT
);
CREATE UNIQUE INDEX handed_in_unique ON handed_in (kind, unique_key) WHERE unique_key IS NOT NULL;
-- Counts inside the last part of an id.
CREATE SEQUENCE handed_in_count MINVALUE 0 MAXVALUE 2047 CYCLE;

-- An id as it is shown everywhere: 13 letters of Crockford's alphabet.
CREATE FUNCTION id_text(id BIGINT) RETURNS TEXT LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((id >> (5 * n)) & 31)::integer + 1, 1), '' ORDER BY n DESC)
    FROM generate_series(0, 12) AS n
$$;

-- Refuses what is no name.
CREATE FUNCTION checked_name(what TEXT, name TEXT) RETURNS VOID LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF octet_length(name) NOT BETWEEN 1 AND 256 OR name ~ '[\u0001-\u001f\u007f-\u009f]' THEN
        RAISE EXCEPTION '% is no name', what USING ERRCODE = 'invalid_parameter_value',
            HINT = 'A name has 1 to 256 bytes and no control characters.';
    END IF;
END
$$;

-- Submits a job inside the caller's transaction: it comes into being if and when that commits. The answer is the job's id.
-- This version of the function stays as it is; one that takes more gets a name of its own.
CREATE FUNCTION submit_v1(
    kind TEXT, payload JSONB, owner TEXT DEFAULT 'default', lane TEXT DEFAULT NULL, strict_lane BOOLEAN DEFAULT FALSE,
    priority INTEGER DEFAULT 5, limit_key TEXT DEFAULT NULL, attempts INTEGER DEFAULT NULL,
    delay INTERVAL DEFAULT NULL, due TIMESTAMPTZ DEFAULT NULL, unique_key TEXT DEFAULT NULL,
    unique_for INTERVAL DEFAULT NULL
) RETURNS TEXT
-- With the rights of the schema's owner: whoever may call it needs no right to the tables.
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    now_us  CONSTANT BIGINT := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    due_us  BIGINT := CASE
        WHEN submit_v1.delay IS NOT NULL THEN now_us + (extract(epoch FROM submit_v1.delay) * 1000000)::bigint
        ELSE (extract(epoch FROM submit_v1.due) * 1000000)::bigint END;
    body    CONSTANT BYTEA := convert_to(submit_v1.payload::text, 'UTF8');
    known   BIGINT;
    new_id  BIGINT;
BEGIN
    PERFORM checked_name('the kind', coalesce(submit_v1.kind, ''));
    PERFORM checked_name('the owner', coalesce(submit_v1.owner, ''));
    PERFORM checked_name('the lane', submit_v1.lane);
    PERFORM checked_name('the limit key', submit_v1.limit_key);
    PERFORM checked_name('the unique key', submit_v1.unique_key);
    IF NOT EXISTS (SELECT FROM record WHERE space = 'kind' AND key = submit_v1.kind) THEN
        RAISE EXCEPTION 'no worker has ever served jobs of kind "%"', submit_v1.kind
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Check its spelling, or start a worker that serves it first.';
    ELSIF submit_v1.priority IS NULL OR submit_v1.priority NOT BETWEEN 0 AND 9 THEN
        RAISE EXCEPTION '% is not a priority', submit_v1.priority
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Use 0 (least urgent) to 9 (most urgent).';
    ELSIF submit_v1.attempts NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION '% attempts are not possible', submit_v1.attempts
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Use 1 to 1000.';
    ELSIF body IS NULL OR octet_length(body) > 1048576 THEN
        RAISE EXCEPTION 'the payload is missing or too large'
            USING ERRCODE = 'invalid_parameter_value', HINT = 'A payload is JSON of at most 1 MiB.';
    ELSIF submit_v1.delay IS NOT NULL AND submit_v1.due IS NOT NULL THEN
        RAISE EXCEPTION 'both a delay and a due time' USING ERRCODE = 'invalid_parameter_value', HINT = 'Give one of them.';
    ELSIF due_us > now_us + 366 * 86400000000 THEN
        RAISE EXCEPTION 'too far in the future' USING ERRCODE = 'invalid_parameter_value', HINT = 'At most 366 days.';
    ELSIF submit_v1.unique_for IS NOT NULL AND (submit_v1.unique_key IS NULL
            OR submit_v1.unique_for <= interval '0' OR submit_v1.unique_for > interval '366 days') THEN
        RAISE EXCEPTION 'unique_for needs a unique_key and a time of up to 366 days'
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Without unique_for a key is unique until its job has ended.';
    ELSIF EXISTS (SELECT FROM account WHERE owner = submit_v1.owner AND backlog >= quota) THEN
        RAISE EXCEPTION 'owner "%" has as many unfinished jobs as it may have', submit_v1.owner
            USING ERRCODE = 'program_limit_exceeded', HINT = 'Try again later, or raise its quota.';
    END IF;
    LOOP
        SELECT job INTO known FROM unique_key WHERE kind = submit_v1.kind AND key = submit_v1.unique_key AND until > now_us;
        IF NOT FOUND THEN
            SELECT id INTO known FROM handed_in WHERE kind = submit_v1.kind AND unique_key = submit_v1.unique_key;
        END IF;
        IF FOUND THEN
            RETURN id_text(known);
        END IF;
        -- Milliseconds since 2025, the number that no node has, and a count.
        new_id := (((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1735689600000) << 21) | (1023 << 11)
            | nextval('handed_in_count');
        CONTINUE WHEN EXISTS (SELECT FROM job WHERE id = new_id);
        INSERT INTO handed_in (id, kind, owner, priority, lane, halts, limit_key, attempts, due, unique_key, unique_for, payload)
        VALUES (new_id, submit_v1.kind, submit_v1.owner, submit_v1.priority, submit_v1.lane,
            coalesce(submit_v1.strict_lane, FALSE), submit_v1.limit_key, submit_v1.attempts, due_us, submit_v1.unique_key,
            (extract(epoch FROM submit_v1.unique_for) * 1000000)::bigint, body)
        -- The same key, from a transaction that has committed just now: its job is the answer.
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
    END LOOP;
    PERFORM pg_notify(current_schema() || '.commits', '');
    RETURN id_text(new_id);
END
$$;

-- The current version, for people.
CREATE FUNCTION submit(
    kind TEXT, payload JSONB, owner TEXT DEFAULT 'default', lane TEXT DEFAULT NULL, strict_lane BOOLEAN DEFAULT FALSE,
    priority INTEGER DEFAULT 5, limit_key TEXT DEFAULT NULL, attempts INTEGER DEFAULT NULL,
    delay INTERVAL DEFAULT NULL, due TIMESTAMPTZ DEFAULT NULL, unique_key TEXT DEFAULT NULL,
    unique_for INTERVAL DEFAULT NULL
) RETURNS TEXT LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT submit_v1(kind, payload, owner, lane, strict_lane, priority, limit_key, attempts, delay, due, unique_key, unique_for)
$$;

-- Nobody calls them by accident: whoever shall submit is granted it.
REVOKE ALL ON FUNCTION submit_v1, submit FROM PUBLIC;
