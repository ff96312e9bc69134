/* data/calendar.c -- see calendar.h. */
#include "data/calendar.h"

#include <math.h>

/* Days before each month of a common year, and in the whole year. */
static const int before[13] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 };
static const double PER_DAY = 86400000.0; /* milliseconds */

static bool is_leap(double year)
{
    return (fmod(year, 4.0) == 0.0 && fmod(year, 100.0) != 0.0) || fmod(year, 400.0) == 0.0;
}

/* Days before a month, from 0 to 12, of this kind of year. */
static int days_before(int month, bool leap)
{
    return before[month] + (leap && month > 1);
}

bool calendar_year(int year, int month, int day, double share, double *decimal)
{
    const bool leap = is_leap(year);
    const int first = days_before(month - 1, leap);

    if (day > days_before(month, leap) - first)
        return false;
    *decimal = year + (first + day - 1 + share) / days_before(12, leap);
    return true;
}

double calendar_day(double decimal)
{
    const double year = floor(decimal), days = days_before(12, is_leap(year));
    const double day = round((decimal - year) * days * PER_DAY) / PER_DAY;

    return day < days ? day : days - 1.0 / PER_DAY;
}

bool calendar_timed(double decimal)
{
    const double day = calendar_day(decimal);

    return fabs(day - round(day)) > 1e-5; /* a second has 1.16e-5 days */
}

void calendar_date(double decimal, int *month, int *day)
{
    const bool leap = is_leap(floor(decimal));
    const int days = (int)calendar_day(decimal);

    for (*month = 1; *month < 12 && days >= days_before(*month, leap); ++*month)
        ;
    *day = days - days_before(*month - 1, leap) + 1;
}

void calendar_print(double decimal, struct buf *out)
{
    int month, day;

    if (!(decimal >= 0.0 && decimal < 10000.0)) {
        buf_json_double(out, decimal);
        return;
    }
    const double days = calendar_day(decimal), share = (days - floor(days)) * 86400.0;
    const int seconds = share < 86399.0 ? (int)(share + 1e-3) : 86399;
    calendar_date(decimal, &month, &day);
    buf_printf(out, "%04.0f-%02d-%02d", floor(decimal), month, day);
    if (seconds > 0)
        buf_printf(out, " %02d:%02d", seconds / 3600, seconds / 60 % 60);
    if (seconds % 60 > 0)
        buf_printf(out, ":%02d", seconds % 60);
}

double calendar_weekday(double decimal)
{
    /* 1 January of year 1 was a Monday. */
    const double y = floor(decimal) - 1.0;
    const double days = 365.0 * y + floor(y / 4.0) - floor(y / 100.0) + floor(y / 400.0) +
                        calendar_day(decimal);

    return days - 7.0 * floor(days / 7.0);
}
