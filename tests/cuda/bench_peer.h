/* tests/cuda/bench_peer.h -- what cuBLAS and the memory of the device take for the same work, in
 * seconds (events; medians), by bench_peer.cu. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or why there are none. */
const char *peer_open(void);
/* t = Z p, w = Z't by two cublasSgemv, Z n x M in float32. */
double peer_two_gemv(size_t n, size_t M);
/* Y = Z'(Z Omega) by two cublasSgemm a block of rows, M x L; Z in float32, as many rows as fit. */
double peer_two_gemm(size_t n, size_t M, size_t L);
/* Writing n x M numbers of 4 bytes, by a kernel. */
double peer_write(size_t n, size_t M);
/* G = Z'Z by cublasSsyrk, as above. */
double peer_syrk(size_t n, size_t M);

#ifdef __cplusplus
}
#endif
#endif
