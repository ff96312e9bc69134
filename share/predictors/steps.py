# What steps are made of.  A number that is missing is NaN, a word None; truth is 1 or 0.
def some(f):
    """f, which is missing where an argument is, or where f has no finite value."""
    def value(*x):
        try:
            y = math.nan if any(math.isnan(v) for v in x) else float(f(*x))
        except (ValueError, ZeroDivisionError, OverflowError):
            y = math.nan
        return y if math.isfinite(y) else math.nan
    return value


plus = some(lambda x, y: x + y)
minus = some(lambda x, y: x - y)
times = some(lambda x, y: x * y)
over = some(lambda x, y: x / y)
power = some(math.pow)
negative = some(lambda x: -x)
fn_log, fn_log10, fn_log2, fn_log1p = map(some, (math.log, math.log10, math.log2, math.log1p))
fn_exp, fn_sqrt, fn_abs = map(some, (math.exp, math.sqrt, abs))
fn_sign = some(lambda x: (x > 0) - (x < 0))
fn_floor, fn_ceil = some(math.floor), some(math.ceil)
fn_round = some(lambda x: math.copysign(math.floor(abs(x) + 0.5), x))
fn_min, fn_max = some(min), some(max)
fn_mod = some(lambda x, y: x - y * math.floor(x / y))
fn_sin, fn_cos, fn_tan = map(some, (math.sin, math.cos, math.tan))
fn_atan, fn_tanh = some(math.atan), some(math.tanh)
eq, ne = some(lambda x, y: x == y), some(lambda x, y: x != y)
lt, le = some(lambda x, y: x < y), some(lambda x, y: x <= y)
gt, ge = some(lambda x, y: x > y), some(lambda x, y: x >= y)
inverse = some(lambda x: 1 - x)


def fn_pi():
    return math.pi


def fn_coalesce(x, y):
    return y if math.isnan(x) else x


# Dates are decimal years.
def is_leap(year):
    return (year % 4 == 0 and year % 100 != 0) or year % 400 == 0


def day_of(x):
    """Days since 1 January, to a millisecond."""
    days, ms = 366 if is_leap(math.floor(x)) else 365, 86400000
    day = math.floor((x - math.floor(x)) * days * ms + 0.5) / ms
    return day if day < days else days - 1 / ms


def date_of(x):
    leap, n, month = is_leap(math.floor(x)), int(day_of(x)), 12
    before = [b + (leap and k > 1) for k, b in
              enumerate((0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334))]
    while month > 1 and n < before[month - 1]:
        month -= 1
    return month, n - before[month - 1] + 1


def week_of(x):
    """Days since Monday; 1 January of year 1 was one."""
    y = math.floor(x) - 1
    return (365 * y + y // 4 - y // 100 + y // 400 + day_of(x)) % 7


fn_year = some(math.floor)
fn_yearshare = some(lambda x: x - math.floor(x))
fn_month, fn_day = some(lambda x: date_of(x)[0]), some(lambda x: date_of(x)[1])
fn_weekday = some(lambda x: math.floor(week_of(x)) + 1)
fn_weekshare = some(lambda x: week_of(x) / 7)
fn_dayshare = some(lambda x: day_of(x) - math.floor(day_of(x)))
fn_hour = some(lambda x: math.floor(24 * fn_dayshare(x) + 1e-6))


def order(a, b):
    """Of words, in the order of their bytes."""
    if a is None or b is None:
        return math.nan
    a, b = (w.encode("utf-8", "surrogateescape") for w in (a, b))
    return float((a > b) - (a < b))


def absent(x):
    return float(math.isnan(x))


def absent_word(word):
    return float(not word)


def both(x, y):
    """False and missing is false."""
    return 0.0 if x == 0 or y == 0 else math.nan if math.isnan(x) or math.isnan(y) else 1.0


def either(x, y):
    """True or missing is true."""
    return 1.0 if x == 1 or y == 1 else math.nan if math.isnan(x) or math.isnan(y) else 0.0


def choose(c, x, y):
    return math.nan if math.isnan(c) else x if c == 1 else y


def choose_word(c, a, b):
    return None if math.isnan(c) else a if c == 1 else b


