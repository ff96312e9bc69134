/* main.c -- arguments and locale, then the workbench or a script. */
#include "config.h"

#include <stdio.h>

int main(void)
{
    printf("gpdesk %s\n", PACKAGE_VERSION);
    return 0;
}
