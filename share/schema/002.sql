-- Schema 2: the states that the session has been in, so that undo, `at` and `branch` work after it
-- has been resumed.

-- A state: datasets (by their numbers), kernel, hyperparameters, options, marks of runs.  JSON.
CREATE TABLE snapshot(
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL
);
-- Of each line of the script: what it did to the steps that can be undone (0: made `count` of them, 1:
-- took so many back, 2: did so many again, 3: went on from the state after line `count`), the state
-- after it, how many runs had been made, the last fit, when it ended and how long it took.
CREATE TABLE past(
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    count INTEGER NOT NULL,
    state INTEGER NOT NULL,        -- 0: not kept
    made INTEGER NOT NULL,
    last TEXT NOT NULL,
    at INTEGER NOT NULL,           -- unix time
    seconds REAL NOT NULL,
    sum INTEGER NOT NULL
);
