/* data/calendar.h -- dates as decimal years: 2 July 2019 at noon is 2019 + (182 + 1/2) / 365. Years
 * are those of the proleptic Gregorian calendar. */
#ifndef GPDESK_CALENDAR_H
#define GPDESK_CALENDAR_H

#include "base/text.h"

#include <stdbool.h>

/* The decimal year of a date. month: 1 to 12; share: of the day, 0 to 1, less or more with a time
 * zone. False if the month does not have this day. */
bool calendar_year(int year, int month, int day, double share, double *decimal);
/* Day of the year from 0, with the time of day as a fraction. Rounded to milliseconds, because a
 * decimal year of today is exact to some microseconds. */
double calendar_day(double decimal);
/* True if it is not midnight, to a second. False for NaN. */
bool calendar_timed(double decimal);
/* Month from 1, and day of the month from 1. */
void calendar_date(double decimal, int *month, int *day);
/* As ISO 8601: 2021-03-04, with the time of day unless it is midnight: 2021-03-04 10:20, 10:20:05.
 * Beyond the years 0 to 9999 the decimal year itself. */
void calendar_print(double decimal, struct buf *out);
/* Days since Monday, with the time of day: 0 to 7. */
double calendar_weekday(double decimal);

#endif
