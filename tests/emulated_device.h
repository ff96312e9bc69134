/* tests/emulated_device.h -- what tests ask of the emulated device. */
#ifndef EMULATED_DEVICE_H
#define EMULATED_DEVICE_H

#include <stddef.h>

extern int emu_order;           /* of the threads of a block: port.h */
size_t emulated_launches(void); /* so far */
size_t emulated_replays(void);  /* of launches remembered, so far */
size_t emulated_used(void);     /* bytes in use */
size_t emulated_calls(void);    /* so far, of any kind */
size_t emulated_requests(void); /* so far, for memory */

#endif
