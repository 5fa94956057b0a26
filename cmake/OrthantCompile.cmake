# One place for how our own targets compile: warnings, sanitizers, floating-point rules.
function(orthant_compile target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Wnull-dereference -Wformat=2
    # Products and sums round one by one, on every compiler: the same bytes everywhere.
    -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 at -O3 reports null dereferences and overlaps inside the standard library's own strings (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-null-dereference -Wno-restrict)
  endif()
  if(ORTHANT_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(ORTHANT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${ORTHANT_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${ORTHANT_SANITIZE})
  endif()
endfunction()
