-- A gpdesk session, schema 1.  user_version counts the migrations that have run; application_id
-- says that the file is ours.  `sum` is a CRC-32 over the table's name and the row's other values
-- (store_db.c, rowsum): what was damaged on disk is noticed, not believed.

-- Who wrote this, and where.
CREATE TABLE meta(
    key TEXT NOT NULL UNIQUE,
    value TEXT NOT NULL,
    sum INTEGER NOT NULL
);
-- Every command line, numbered in the order of typing, with its outcome.
CREATE TABLE command(
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,           -- unix time
    line TEXT NOT NULL,
    status TEXT NOT NULL,          -- "ok" or the name of the failure
    seconds REAL NOT NULL,
    sum INTEGER NOT NULL
);
-- Canonical state-changing lines: what `script` writes.
CREATE TABLE script(
    id INTEGER PRIMARY KEY,
    line TEXT NOT NULL,
    sum INTEGER NOT NULL
);
-- Notes, warnings and errors as they were told.
CREATE TABLE message(
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    run TEXT NOT NULL,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL
);
-- What is current: datasets, kernel, hyperparameters, bounds, seed.  JSON.
CREATE TABLE state(
    key TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL
);
-- Every state that a dataset had when something used it: path, size, checksum, how it was read,
-- roles, policies, split.  JSON; the split's parts are blobs of owner "d<id>".
CREATE TABLE dataset(
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL
);
-- Fits (r1, r2, ...) and tunings (t1, ...): settings, outcome, scores.  JSON; numbers that are
-- long are blobs whose owner is the run's name.
CREATE TABLE run(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL
);
-- Arrays in parts of at most 8 MiB, little-endian.
CREATE TABLE blob(
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    what TEXT NOT NULL,
    part INTEGER NOT NULL,
    data BLOB NOT NULL,
    sum INTEGER NOT NULL,
    UNIQUE(owner, what, part)
);
