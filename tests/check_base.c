/* tests/check_base.c -- status, memory, text, log. */
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/text.h"
#include "support.h"

#include <check.h>

START_TEST(status_names)
{
    ck_assert_str_eq(status_name(ST_NOT_PD), "not-pd");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base");
    TCase *tc = tcase_create("status");
    tcase_add_test(tc, status_names);
    suite_add_tcase(s, tc);
    return support_run(s);
}
