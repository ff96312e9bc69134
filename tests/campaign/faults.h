/* tests/campaign/faults.h -- the log of changes that faults.c writes. */
#ifndef GPDESK_TESTS_CAMPAIGN_FAULTS_H
#define GPDESK_TESTS_CAMPAIGN_FAULTS_H

#include <stdint.h>

enum faults_what { FAULTS_WRITE, FAULTS_SYNC, FAULTS_CREATE, FAULTS_SIZE, FAULTS_RENAME,
                   FAULTS_LINK, FAULTS_UNLINK };

/* Followed by the path, the other path (of a rename or link) and the bytes. */
struct faults_record {
    uint32_t what, path, other, unused;
    int64_t offset, ms; /* ms: of the monotonic clock */
    uint64_t bytes;
};

#endif
