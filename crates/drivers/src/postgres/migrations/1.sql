-- Names compare by their bytes, whatever the language of the database.

-- The schema's own number, and the oldest program (by the number that it was built for) that can still work with it.
CREATE TABLE version (number INTEGER NOT NULL, serves INTEGER NOT NULL CHECK (serves <= number));

-- Jobs that have ended lie apart: whatever is looked for all the time is looked for among the living, however many
-- have ended, and a reader that holds back the cleaning of one part does not slow the other.
CREATE TABLE job (
    id        BIGINT NOT NULL,
    version   BIGINT NOT NULL,
    state     SMALLINT NOT NULL CHECK (state BETWEEN 0 AND 7),
    line      BIGINT NOT NULL,
    lane      BIGINT,
    position  BIGINT,
    attempt   INTEGER NOT NULL CHECK (attempt >= 0),
    attempts  INTEGER NOT NULL CHECK (attempts > 0),
    rescues   INTEGER NOT NULL,
    fence     BIGINT NOT NULL,
    session   BIGINT,
    submitted BIGINT NOT NULL,
    at        BIGINT NOT NULL,
    flags     INTEGER NOT NULL,
    payload   BYTEA NOT NULL,
    CHECK ((state = 3) = (session IS NOT NULL)),
    CHECK ((lane IS NULL) = (position IS NULL))
) PARTITION BY LIST (state);
-- A state is in every index below, so no update could stay in its page anyway: none is kept free.
CREATE TABLE job_living PARTITION OF job (PRIMARY KEY (id)) FOR VALUES IN (0, 1, 2, 3, 4)
    WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX job_ready   ON job_living (line, id) INCLUDE (version) WHERE state = 2;
CREATE INDEX job_due     ON job_living (at, id)      WHERE state IN (1, 4);
CREATE INDEX job_running ON job_living (session, id) WHERE state = 3;
CREATE UNIQUE INDEX job_waiting ON job_living (lane, position) WHERE state = 0 AND position > 0;
CREATE TABLE job_ended PARTITION OF job (PRIMARY KEY (id)) FOR VALUES IN (5, 6, 7);
CREATE INDEX job_dead ON job_ended (id) WHERE state = 6;

CREATE TABLE result (id BIGINT PRIMARY KEY, body BYTEA NOT NULL);

CREATE TABLE line (
    id        BIGINT PRIMARY KEY,
    kind      TEXT COLLATE "C" NOT NULL,
    owner     TEXT COLLATE "C" NOT NULL,
    priority  SMALLINT NOT NULL CHECK (priority BETWEEN 0 AND 9),
    batch     BIGINT,
    limit_key TEXT COLLATE "C"
);
CREATE INDEX line_batch ON line (batch) WHERE batch IS NOT NULL;

CREATE TABLE lane (
    id       BIGINT PRIMARY KEY,
    name     TEXT COLLATE "C" NOT NULL UNIQUE,
    next     BIGINT NOT NULL CHECK (next > 0),
    head     BIGINT,
    waiting  BIGINT NOT NULL CHECK (waiting >= 0),
    on_dead  BOOLEAN NOT NULL,
    halted   BOOLEAN NOT NULL,
    paused   BOOLEAN NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE batch (
    id        BIGINT PRIMARY KEY,
    name      TEXT COLLATE "C" NOT NULL,
    owner     TEXT COLLATE "C" NOT NULL,
    opened    BIGINT NOT NULL,
    settled   BIGINT NOT NULL,
    phase     SMALLINT NOT NULL CHECK (phase BETWEEN 0 AND 3),
    total     BIGINT NOT NULL,
    done      BIGINT NOT NULL,
    dead      BIGINT NOT NULL,
    cancelled BIGINT NOT NULL,
    repaired  BIGINT NOT NULL,
    then_job  BIGINT,
    then_when BOOLEAN,
    cancel    BOOLEAN NOT NULL,
    last      BIGINT NOT NULL,
    first     BIGINT NOT NULL,
    CHECK (done + dead + cancelled <= total),
    CHECK (phase < 2 OR done + dead + cancelled = total)
) WITH (fillfactor = 50);

CREATE TABLE account (
    owner   TEXT COLLATE "C" PRIMARY KEY,
    weight  BIGINT NOT NULL CHECK (weight > 0),
    quota   BIGINT NOT NULL,
    backlog BIGINT NOT NULL CHECK (backlog >= 0)
) WITH (fillfactor = 50);

CREATE TABLE tally (
    owner TEXT COLLATE "C" NOT NULL, kind TEXT COLLATE "C" NOT NULL,
    waiting BIGINT NOT NULL, scheduled BIGINT NOT NULL, ready BIGINT NOT NULL, running BIGINT NOT NULL,
    retrying BIGINT NOT NULL, done BIGINT NOT NULL, dead BIGINT NOT NULL, cancelled BIGINT NOT NULL,
    PRIMARY KEY (owner, kind)
) WITH (fillfactor = 50);

CREATE TABLE unique_key (
    kind TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C" NOT NULL, job BIGINT NOT NULL, until BIGINT NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE INDEX unique_key_until ON unique_key (until);
CREATE INDEX unique_key_job   ON unique_key (job) WHERE until = 9223372036854775807;

CREATE TABLE step (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job BIGINT NOT NULL, name TEXT COLLATE "C" NOT NULL, output BYTEA NOT NULL,
    UNIQUE (job, name)
);

CREATE TABLE error (
    job BIGINT NOT NULL, fence BIGINT NOT NULL, attempt INTEGER NOT NULL,
    started BIGINT NOT NULL, ended BIGINT NOT NULL, failure TEXT NOT NULL, error TEXT NOT NULL,
    PRIMARY KEY (job, fence)
);

CREATE TABLE session (
    id BIGINT PRIMARY KEY, node TEXT NOT NULL, number INTEGER NOT NULL,
    pools TEXT NOT NULL, kinds TEXT NOT NULL, opened BIGINT NOT NULL, until BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE lease (
    name TEXT COLLATE "C" PRIMARY KEY, holder TEXT NOT NULL, term BIGINT NOT NULL CHECK (term > 0),
    until BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE secret (name TEXT COLLATE "C" PRIMARY KEY, sealed BYTEA NOT NULL, until BIGINT NOT NULL);

CREATE TABLE message (
    queue TEXT COLLATE "C" NOT NULL, number BIGINT NOT NULL, body BYTEA NOT NULL,
    PRIMARY KEY (queue, number)
);

-- Small things that are only ever read whole: kinds, schedules, tokens, pauses, gauges, buckets, progress, queues.
CREATE TABLE record (
    space TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C" NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (space, key)
) WITH (fillfactor = 50);

-- What happened, a block for each commit that has something to tell. Blocks are numbered by whoever has the right to
-- commit, so a later one never becomes visible before an earlier one.
CREATE TABLE event (
    block BIGINT PRIMARY KEY, at BIGINT NOT NULL, origin BIGINT NOT NULL, events INTEGER NOT NULL CHECK (events > 0),
    body BYTEA NOT NULL
);
-- Compressing what is dense already would cost the commit more than it saves.
ALTER TABLE event ALTER COLUMN body SET STORAGE EXTERNAL;

-- Counts the commits of all nodes. A sequence leaves no dead rows behind, however often it moves.
CREATE SEQUENCE commits;
