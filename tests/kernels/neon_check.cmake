# Builds tests/kernels/neon_check.cc for AArch64 and runs it emulated. Variables: CXX, QEMU, SOURCE, RANDOM123, PROGRAM.
set(sources
  tests/kernels/neon_check.cc
  lib/src/kernels/choose_table.cc lib/src/kernels/code_search.cc lib/src/kernels/cpu_features.cc lib/src/kernels/level_grid.cc
  lib/src/kernels/scoring.cc lib/src/kernels/target_neon.cc lib/src/kernels/target_scalar.cc
  lib/src/cache/row_format.cc lib/src/cache/tile_layout.cc
  lib/src/core/error.cc lib/src/core/half.cc lib/src/core/printable.cc lib/src/core/rng.cc)
list(TRANSFORM sources PREPEND ${SOURCE}/)
execute_process(
  COMMAND ${CXX} -std=c++20 -O2 -static -ffp-contract=off -I${SOURCE}/tests -I${SOURCE}/lib/src -I${SOURCE}/lib/include
    -I${SOURCE}/lib/src/core -idirafter ${RANDOM123} ${sources} -o ${PROGRAM}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${QEMU} -cpu max ${PROGRAM} COMMAND_ERROR_IS_FATAL ANY)
