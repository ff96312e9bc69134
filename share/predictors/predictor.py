#!/usr/bin/env python3
@ABOUT@
#
#   python3 THIS_FILE NEW.csv > predictions.csv       or, from Python:
#
#   rows = csv.DictReader(open("NEW.csv", newline=""))
#   result = predict(rows)                            # result["mean"][row, target]
#
# It needs NumPy and nothing else.  Columns are found by their names; cells are text or numbers.
import csv
import math
import re
import sys

import numpy as np
from numpy import arccos as acos, arcsin as asin, cos, exp, log1p, sin, sqrt  # noqa: F401

M_PI = math.pi

# Cells that count as missing, unless they are a level of their column.
MISSING = {"", "NA", "N/A", "NaN", "nan", "NULL", "null", "?", "-"}

# What an encoded input is: a number, 1 where the cell has a level, 1 where it is missing, always 0.
NUMBER, LEVEL, FLAG, CONSTANT = range(4)
# What is done about missing cells and unseen levels.
STOP, FILL, DROP = range(3)
# Steps from a row to its features: they work on v (projections), p (phases) and g (gains).
(SCALE_IN, CIRCLE, APPEND, SIGN, FHT, SHUFFLE, SCALE, PHASE, TIMES, RELU, ERF, SINCOS, EMIT, COPY,
 ONE) = range(15)

@DATA@


def number(text):
    """A cell as a number; an ISO date becomes a decimal year."""
    date = re.fullmatch(r"(\d{4})-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?)?)?",
                        text)
    if not date:
        return float(text)
    year, month, day = int(date[1]), int(date[2]), int(date[3] or 1)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    before = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)[month - 1]
    hours = int(date[4] or 0) + int(date[5] or 0) / 60 + float(date[6] or 0) / 3600
    days = before + (leap and month > 2) + day - 1 + hours / 24
    return year + days / (366 if leap else 365)


def level_of(cell, levels):
    """The index of a level: by its text, else as a number; None: never seen."""
    if cell in levels:
        return levels.index(cell)
    for i, level in enumerate(levels):
        try:
            if float(level) == float(cell):
                return i
        except ValueError:
            pass
    return None


@STEPS@


def is_missing(word, place):
    """Whether a word marks a missing cell: not if it is a level of this place, or compared."""
    return word == "" or (word in MISSING and word not in known_words and not any(
        word in levels for _, levels, p in columns if p == place and levels))


def prepare(row):
    """What the places of a row (a mapping from names to cells) hold: text for columns of the file,
    numbers or text for those that steps compute, None where the row lacks a column. And the index
    of the step whose condition leaves the row out; None: it stays."""
    values = []
    for names in file_columns:
        name = next((n for n in names if n in row), None)
        values.append(None if name is None else
                      "" if row[name] is None else str(row[name]).strip())

    def number_of(place):
        cell = values[place]
        if isinstance(cell, float):
            return cell
        return math.nan if cell in MISSING else number(cell)

    def word_of(place):
        return None if is_missing(values[place], place) else values[place]

    for k, (_, let, step, needs, instead) in enumerate(steps):
        if any(values[n] is None for n in needs):  # passed over
            values.append(values[instead] if let else None)
            continue
        value = step(number_of, word_of)
        values.append("" if value is None else value if isinstance(value, str) else float(value))
        if not let and values[-1] != 1:
            return values, k
    return values, None


def lacking(values, place):
    """The name of the first column that a place lacks."""
    while place >= len(file_columns):
        place = next(n for n in steps[place - len(file_columns)][3] if values[n] is None)
    return file_columns[place][0]


def encode(values):
    """The values of a row as the model reads it; None if it is left out."""
    cells = []
    for name, levels, place in columns:
        text = values[place]
        if text is None:
            raise KeyError("there is no column %r (the head of this program lists those it reads)"
                           % lacking(values, place))
        if levels:
            cell = level_of(text, levels)
            missing = cell is None
        else:
            cell = (text if isinstance(text, float) else
                    math.nan if text in MISSING else number(text))
            missing = math.isnan(cell)
        if missing and missing_policy == STOP:
            raise ValueError("column %r: the cell %r is missing or was never seen" % (name, text))
        if missing and missing_policy == DROP:
            return None
        cells.append(None if missing else cell)
    x = np.zeros(len(inputs))
    for i, (column, kind, level, fill, mean, sd, limit) in enumerate(inputs):
        cell = cells[column]
        if kind == CONSTANT:
            continue
        if kind == FLAG:
            value = float(cell is None)
        elif cell is None:
            value = fill
        else:
            value = cell if kind == NUMBER else float(cell == level)
        x[i] = (value - mean) / sd
        if limit > 0:
            x[i] = min(max(x[i], -limit), limit)
    return x


def weight_of(values):
    """The weight of a row: 1 without a column of weights."""
    value = None if weight_place is None else values[weight_place]
    return 1.0 if value is None or value in MISSING else float(value)


def read_inputs(step, x, v, size):
    """The first steps of a projection: inputs over their lengthscales, in `size` columns."""
    op, first, count, value, scale = step
    if op == APPEND:
        v[:, count] = value
        return v
    v = np.zeros((len(x), size))
    part = x[:, first:first + count]
    if op == SCALE_IN:
        v[:, :count] = part / np.asarray(scale) if scale else part
    else:  # CIRCLE: `value` is the period
        angle = 2 * M_PI * part / value
        v[:, 0:2 * count:2] = cos(angle) / np.asarray(scale)
        v[:, 1:2 * count:2] = sin(angle) / np.asarray(scale)
    return v


@ENGINE@


@CLASSES@


def in_units(mean, latent, weight):
    """Predictions in units of the targets, from scaled means and latent variances."""
    result = {"mean": np.empty_like(mean)}
    if latent is not None:
        for name in ("sd_latent", "sd", "lo95", "hi95"):
            result[name] = np.empty_like(mean)
    for j, (_, centre, unit, _, noise, reach95) in enumerate(targets):
        middle = mean[:, j] * unit + centre
        names = [] if latent is None else [("sd_latent", latent[:, j]),
                                           ("sd", latent[:, j] + noise ** 2 / weight)]
        result["mean"][:, j] = exp(middle) if log_target else middle
        for name, variance in names:
            variance = variance * unit ** 2
            result[name][:, j] = sqrt(variance)
            if log_target:  # a log-normal distribution
                result["mean"][:, j] = exp(middle + variance / 2)
                result[name][:, j] = result["mean"][:, j] * sqrt(np.expm1(variance))
        for name, side in (("lo95", -1), ("hi95", 1)) if names else ():
            end = middle + side * reach95 * sqrt(names[1][1]) * unit
            result[name][:, j] = exp(end) if log_target else end
    return result


notes = []  # what the last call of predict has to say: which rows it left out


def tell(prepared, encoded):
    """Fills notes."""
    notes.clear()
    for k, (text, let, _, needs, _) in enumerate(steps):
        n = sum(step == k for _, step in prepared)
        if n:
            notes.append("%d row%s left out by %s" % (n, " is" if n == 1 else "s are", text))
        place = len(file_columns) + k
        without = next((v for v, _ in prepared if len(v) > place and v[place] is None), None)
        if not let and without:
            notes.append("no row is left out by %s: there is no column %s"
                         % (text, lacking(without, place)))
    n = sum(x is None for x in encoded) - sum(step is not None for _, step in prepared)
    if n:
        notes.append("%d row%s left out for missing cells" % (n, " is" if n == 1 else "s are"))


def predict(rows):
    """Arrays of rows by targets: "mean", and with variances "sd_latent" (of the function), "sd"
    (of a new measurement), "lo95" and "hi95" (the ends of its central 95 % interval); of classes
    "p", "class", "mean_latent" and "sd_latent".  Rows that are left out, for their missing cells or
    by a condition, hold NaN; notes tells how many."""
    prepared = [prepare(row) for row in rows]
    encoded = [encode(values) if step is None else None for values, step in prepared]
    tell(prepared, encoded)
    kept = [i for i, x in enumerate(encoded) if x is not None]
    x = np.array([encoded[i] for i in kept]).reshape(len(kept), len(inputs))
    weight = np.array([weight_of(prepared[i][0]) for i in kept])
    parts = [model(x[i:i + 256]) for i in range(0, len(kept), 256)]
    mean = np.vstack([p[0] for p in parts]) if parts else np.zeros((0, len(targets)))
    latent = np.vstack([p[1] for p in parts]) if parts and parts[0][1] is not None else None
    found = in_classes(mean, latent) if class_names else in_units(mean, latent, weight)
    result = {}
    for name in found:
        result[name] = np.full((len(prepared), len(targets)), np.nan, dtype=found[name].dtype)
        result[name][kept] = found[name]
    return result


def main():
    source = open(sys.argv[1], newline="", encoding="utf-8", errors="surrogateescape") \
        if len(sys.argv) > 1 else sys.stdin
    result = predict(csv.DictReader(source))
    for note in notes:
        print(note, file=sys.stderr)
    out = csv.writer(sys.stdout, lineterminator="\n")
    several = len(targets) > 1
    out.writerow(["row"] + [name + ("_" + t[0] if several else "")
                            for t in targets for name in result])
    for i in range(len(next(iter(result.values())))):
        cells = [result[name][i, j] for j in range(len(targets)) for name in result]
        if not math.isnan(cells[0]):
            out.writerow([i + 1] + [c if isinstance(c, str) else repr(float(c)) for c in cells])


if __name__ == "__main__":
    main()
