/* compute/cpu/cpu.c -- the choice among the tables of simd.h: the widest level that this machine
 * has, or the one that was asked for before the first use. */
#include "compute/cpu/simd.h"

#include "compute/backend.h"
#include "compute/linalg/blas.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

static _Atomic(const struct simd *) chosen;

/* The tables, widest first. */
static const struct simd *cpu_table(size_t i)
{
    static const struct simd *const tables[] = {
#ifdef __x86_64__
        &simd_amx, &simd_avx512, &simd_avx2,
#endif
        &simd_portable,
    };
    return i < sizeof tables / sizeof tables[0] ? tables[i] : NULL;
}

#ifdef __x86_64__
/* True when the CPU has F16C, which not every compiler's __builtin_cpu_supports knows. */
static bool cpu_f16c(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

static bool cpu_runs(const struct simd *s)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (s == &simd_amx)
        return cpu_runs(&simd_avx512) && simd_amx_usable();
    if (s == &simd_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (s == &simd_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpu_f16c();
#endif
    return s == &simd_portable;
}

/* Written once: threads that ask in their inner loops would take the line from each other. */
const struct simd *cpu_simd_now(void)
{
    const struct simd *s = atomic_load_explicit(&chosen, memory_order_acquire);

    if (s)
        return s;
    for (size_t i = 0; !s; i++)
        if (cpu_runs(cpu_table(i)))
            s = cpu_table(i);
    atomic_store(&chosen, s);
    return s;
}

const char *cpu_level(void)
{
    return cpu_simd_now()->name;
}

const char *cpu_blas(void)
{
    return blas_describe();
}

enum status cpu_force_level(const char *level, struct err *err)
{
    for (size_t i = 0; cpu_table(i); i++)
        if (strcmp(cpu_table(i)->name, level) == 0) {
            if (!cpu_runs(cpu_table(i)))
                return err_set(err, ST_UNSUPPORTED, "this processor has no %s", level);
            atomic_store(&chosen, cpu_table(i));
            return ST_OK;
        }
    return err_set(err, ST_NOT_FOUND,
                   "there is no processor level \"%s\": portable, avx2, avx512 or amx", level);
}
