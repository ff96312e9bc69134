# the interpreter of feature maps on the processor
libcompute_a_SOURCES += \
  src/compute/cpu/backend_cpu.c \
  src/compute/cpu/backend_steps.c \
  src/compute/cpu/backend_steps.h \
  src/compute/cpu/backend_steps_real.h \
  src/compute/cpu/backend_windows.c \
  src/compute/cpu/backend_windows.h \
  src/compute/cpu/counts.h \
  src/compute/cpu/cpu.c \
  src/compute/cpu/cpu_bits.c \
  src/compute/cpu/cpu_grad.c \
  src/compute/cpu/cpu_open.c \
  src/compute/cpu/cpu_state.h \
  src/compute/cpu/cpu_sweep.c \
  src/compute/cpu/bits.c \
  src/compute/cpu/bits.h \
  src/compute/cpu/bits_wide.c \
  src/compute/cpu/hash_loops.h \
  src/compute/cpu/pairs.c \
  src/compute/cpu/pairs.h \
  src/compute/cpu/simd.h \
  src/compute/cpu/simd_amx.c \
  src/compute/cpu/simd_avx2.c \
  src/compute/cpu/simd_avx512.c \
  src/compute/cpu/simd_columns.h \
  src/compute/cpu/simd_counts.h \
  src/compute/cpu/simd_fht.h \
  src/compute/cpu/simd_hash.h \
  src/compute/cpu/simd_level.h \
  src/compute/cpu/simd_pairs.h \
  src/compute/cpu/simd_portable.c \
  src/compute/cpu/simd_real.h \
  src/compute/cpu/simd_rows.h \
  src/compute/cpu/simd_tensor.h \
  src/compute/cpu/simd_term.c \
  src/compute/cpu/simd_windows.h \
  src/compute/cpu/tensor_loops.h
