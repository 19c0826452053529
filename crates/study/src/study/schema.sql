-- The tables of a study, version 1. docs/STUDY.md says what each column means.
CREATE TABLE header (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    title TEXT NOT NULL,
    tailmark TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    source TEXT NOT NULL,
    plan TEXT NOT NULL CHECK (json_valid(plan)),
    settings TEXT NOT NULL CHECK (json_valid(settings)),
    assumed TEXT NOT NULL CHECK (json_valid(assumed)),
    study TEXT NOT NULL
) STRICT;

CREATE TABLE system (
    position INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    driver TEXT NOT NULL,
    place TEXT NOT NULL,
    semantics TEXT NOT NULL,
    settings TEXT NOT NULL CHECK (json_valid(settings)),
    ceiling_for TEXT
) STRICT;

CREATE TABLE fact (
    position INTEGER PRIMARY KEY,
    system TEXT,
    "group" TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX fact_once ON fact (ifnull(system, ''), "group", name);

CREATE TABLE notice (
    position INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

-- One measured phase; exactly one row of load or point belongs to it, or it is the
-- warm-up of the phase of a point.
CREATE TABLE phase (
    id INTEGER PRIMARY KEY,
    started_ms INTEGER NOT NULL,
    duration_s REAL NOT NULL,
    operations INTEGER NOT NULL,
    start_lag BLOB,
    counters TEXT NOT NULL CHECK (json_valid(counters)),
    failed INTEGER NOT NULL,
    totals_digest BLOB,
    details_digest BLOB,
    drained INTEGER NOT NULL,
    censored INTEGER NOT NULL,
    lag_no_client BLOB,
    lag_woken_late BLOB,
    warmup_of INTEGER REFERENCES phase ON DELETE CASCADE,
    steady_s REAL,
    not_steady TEXT,
    ranks TEXT CHECK (ranks IS NULL OR json_valid(ranks)),
    drained_failed INTEGER NOT NULL,
    figures TEXT NOT NULL CHECK (json_valid(figures))
) STRICT;

CREATE TABLE load (
    phase INTEGER PRIMARY KEY REFERENCES phase ON DELETE CASCADE,
    system TEXT NOT NULL,
    records INTEGER NOT NULL,
    threads INTEGER NOT NULL
) STRICT;

CREATE TABLE point (
    phase INTEGER PRIMARY KEY REFERENCES phase ON DELETE CASCADE,
    system TEXT NOT NULL,
    workload TEXT NOT NULL,
    distribution TEXT NOT NULL,
    threads INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    target_rate REAL,
    arrivals TEXT,
    is_trial INTEGER
) STRICT;
CREATE UNIQUE INDEX point_once ON point
    (system, workload, distribution, threads, repeat, ifnull(target_rate, -1), ifnull(arrivals, ''),
     ifnull(is_trial, 0));

-- What a percentage among the rates of the plan came to.
CREATE TABLE resolved_rate (
    position INTEGER PRIMARY KEY,
    system TEXT NOT NULL,
    workload TEXT NOT NULL,
    distribution TEXT NOT NULL,
    requested TEXT NOT NULL,
    of_system TEXT NOT NULL,
    peak_ops_per_sec REAL NOT NULL,
    rate REAL NOT NULL
) STRICT;
CREATE UNIQUE INDEX resolved_rate_once ON resolved_rate (system, workload, distribution, requested);

CREATE TABLE kind (
    phase INTEGER NOT NULL REFERENCES phase ON DELETE CASCADE,
    kind TEXT NOT NULL,
    count INTEGER NOT NULL,
    not_found INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    service BLOB NOT NULL,
    response BLOB,
    failed BLOB,
    failed_response BLOB,
    censored_service BLOB,
    censored_response BLOB,
    block_qos TEXT CHECK (block_qos IS NULL OR json_valid(block_qos)),
    drained_bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX kind_phase ON kind (phase);

-- What was imported of latencies without their histogram.
CREATE TABLE summary (
    phase INTEGER NOT NULL REFERENCES phase ON DELETE CASCADE,
    kind TEXT NOT NULL,
    time TEXT NOT NULL,
    name TEXT NOT NULL,
    ns REAL NOT NULL
) STRICT;
CREATE INDEX summary_phase ON summary (phase);

CREATE TABLE error (
    phase INTEGER NOT NULL REFERENCES phase ON DELETE CASCADE,
    kind TEXT NOT NULL,
    cause TEXT NOT NULL,
    count INTEGER NOT NULL,
    example TEXT NOT NULL
) STRICT;
CREATE INDEX error_phase ON error (phase);

CREATE TABLE finding (
    phase INTEGER NOT NULL REFERENCES phase ON DELETE CASCADE,
    code TEXT NOT NULL,
    text TEXT NOT NULL,
    evidence TEXT CHECK (evidence IS NULL OR json_valid(evidence))
) STRICT;
CREATE INDEX finding_phase ON finding (phase);

CREATE TABLE interval (
    id INTEGER PRIMARY KEY,
    phase INTEGER NOT NULL REFERENCES phase ON DELETE CASCADE,
    start_s REAL NOT NULL,
    length_s REAL NOT NULL,
    operations INTEGER NOT NULL,
    failed INTEGER NOT NULL
) STRICT;
CREATE INDEX interval_phase ON interval (phase);

CREATE TABLE interval_kind (
    interval INTEGER NOT NULL REFERENCES interval ON DELETE CASCADE,
    kind TEXT NOT NULL,
    count INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    service BLOB NOT NULL,
    response BLOB
) STRICT;
CREATE INDEX interval_kind_interval ON interval_kind (interval);

-- The instants of the samples of one or several series.
CREATE TABLE tick (
    id INTEGER PRIMARY KEY,
    phase INTEGER NOT NULL REFERENCES phase ON DELETE CASCADE,
    at_s BLOB NOT NULL
) STRICT;
CREATE INDEX tick_phase ON tick (phase);

CREATE TABLE series (
    phase INTEGER NOT NULL REFERENCES phase ON DELETE CASCADE,
    tick INTEGER NOT NULL REFERENCES tick ON DELETE CASCADE,
    probe TEXT NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    "values" BLOB NOT NULL
) STRICT;
CREATE INDEX series_phase ON series (phase);
CREATE INDEX series_tick ON series (tick);
