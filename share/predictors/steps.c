/* What steps are made of.  A number that is missing is NaN, a word NULL; truth is 1 or 0. */
#ifdef __GNUC__
#define PART static __attribute__((unused))
#else
#define PART static
#endif

/* The word at a place; NULL if it marks a missing cell and is no level and not compared. */
PART const char *word_of(int place)
{
    const char *word = values[place].word;

    if (word == NULL || !is_missing(word))
        return word;
    for (size_t i = 0; *word && known_words[i]; i++)
        if (!strcmp(known_words[i], word))
            return word;
    for (int c = 0; *word && c < COLUMNS; c++)
        for (int i = 0; columns[c].place == place && columns[c].levels && columns[c].levels[i]; i++)
            if (!strcmp(columns[c].levels[i], word))
                return word;
    return NULL;
}

/* Where a function has no value, it is missing. */
static double defined(double x) { return isfinite(x) ? x : NAN; }

PART double plus(double x, double y) { return defined(x + y); }
PART double minus(double x, double y) { return defined(x - y); }
PART double times(double x, double y) { return defined(x * y); }
PART double over(double x, double y) { return defined(x / y); }
PART double power(double x, double y) { return isnan(x) || isnan(y) ? NAN : defined(pow(x, y)); }
PART double negative(double x) { return -x; }
PART double fn_log(double x) { return defined(log(x)); }
PART double fn_log10(double x) { return defined(log10(x)); }
PART double fn_log2(double x) { return defined(log2(x)); }
PART double fn_log1p(double x) { return defined(log1p(x)); }
PART double fn_exp(double x) { return defined(exp(x)); }
PART double fn_sqrt(double x) { return defined(sqrt(x)); }
PART double fn_abs(double x) { return fabs(x); }
PART double fn_sign(double x) { return isnan(x) ? x : (x > 0.0) - (x < 0.0); }
PART double fn_floor(double x) { return floor(x); }
PART double fn_ceil(double x) { return ceil(x); }
PART double fn_round(double x) { return round(x); }
PART double fn_min(double x, double y) { return isnan(x) || isnan(y) ? NAN : x < y ? x : y; }
PART double fn_max(double x, double y) { return isnan(x) || isnan(y) ? NAN : x > y ? x : y; }
PART double fn_mod(double x, double y) { return defined(x - y * floor(x / y)); }
PART double fn_sin(double x) { return sin(x); }
PART double fn_cos(double x) { return cos(x); }
PART double fn_tan(double x) { return defined(tan(x)); }
PART double fn_atan(double x) { return atan(x); }
PART double fn_tanh(double x) { return tanh(x); }
PART double fn_pi(void) { return M_PI; }
PART double fn_coalesce(double x, double y) { return isnan(x) ? y : x; }

/* Dates are decimal years. */
PART int is_leap(double year)
{
    return (fmod(year, 4.0) == 0.0 && fmod(year, 100.0) != 0.0) || fmod(year, 400.0) == 0.0;
}

/* Days since 1 January, to a millisecond. */
PART double day_of(double x)
{
    const double ms = 86400000.0, days = is_leap(floor(x)) ? 366.0 : 365.0;
    const double day = round((x - floor(x)) * days * ms) / ms;

    return day < days ? day : days - 1.0 / ms;
}

PART void date_of(double x, int *month, int *day)
{
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
    const int leap = is_leap(floor(x)), n = (int)day_of(x);

    for (*month = 12; *month > 1 && n < before[*month - 1] + (leap && *month > 2); --*month)
        ;
    *day = n - before[*month - 1] - (leap && *month > 2) + 1;
}

PART double fn_month(double x)
{
    int month, day;

    if (isnan(x))
        return x;
    date_of(x, &month, &day);
    return month;
}

PART double fn_day(double x)
{
    int month, day;

    if (isnan(x))
        return x;
    date_of(x, &month, &day);
    return day;
}

/* Days since Monday; 1 January of year 1 was one. */
PART double week_of(double x)
{
    const double y = floor(x) - 1.0, days = 365.0 * y + floor(y / 4.0) - floor(y / 100.0) +
                                            floor(y / 400.0) + day_of(x);

    return days - 7.0 * floor(days / 7.0);
}

PART double fn_year(double x) { return floor(x); }
PART double fn_yearshare(double x) { return x - floor(x); }
PART double fn_weekday(double x) { return floor(week_of(x)) + 1.0; }
PART double fn_weekshare(double x) { return week_of(x) / 7.0; }
PART double fn_dayshare(double x) { return day_of(x) - floor(day_of(x)); }
PART double fn_hour(double x) { return floor(24.0 * fn_dayshare(x) + 1e-6); }

PART double order(const char *a, const char *b)
{
    return a && b ? (strcmp(a, b) > 0) - (strcmp(a, b) < 0) : NAN;
}

PART double eq(double x, double y) { return isnan(x) || isnan(y) ? NAN : x == y; }
PART double ne(double x, double y) { return isnan(x) || isnan(y) ? NAN : x != y; }
PART double lt(double x, double y) { return isnan(x) || isnan(y) ? NAN : x < y; }
PART double le(double x, double y) { return isnan(x) || isnan(y) ? NAN : x <= y; }
PART double gt(double x, double y) { return isnan(x) || isnan(y) ? NAN : x > y; }
PART double ge(double x, double y) { return isnan(x) || isnan(y) ? NAN : x >= y; }
PART double absent(double x) { return isnan(x); }
PART double absent_word(const char *w) { return w == NULL || *w == '\0'; }
PART double inverse(double x) { return 1.0 - x; }

/* False and missing is false, true or missing is true. */
PART double both(double x, double y)
{
    return x == 0.0 || y == 0.0 ? 0.0 : isnan(x) || isnan(y) ? NAN : 1.0;
}

PART double either(double x, double y)
{
    return x == 1.0 || y == 1.0 ? 1.0 : isnan(x) || isnan(y) ? NAN : 0.0;
}

PART double choose(double c, double x, double y) { return isnan(c) ? NAN : c == 1.0 ? x : y; }

PART const char *choose_word(double c, const char *a, const char *b)
{
    return isnan(c) ? NULL : c == 1.0 ? a : b;
}

