#pragma once

#include <cstddef>
#include <type_traits>

namespace orthant {

/// Threads that `threads = 0` stands for: the processors this process may run on (a rank bound to one core has one), at
/// least 1.
int default_threads();

namespace detail {
void parallel_for_erased(std::size_t n, int threads, void* body, void (*call)(void* body, std::size_t i));
}

/// Calls body(i) once for each i < n, on at most `threads` threads (0: default_threads(); 1: in the caller, in order).
/// Deterministic as long as body(i) writes only what belongs to i. When calls throw, every index is still tried and
/// the exception of the lowest index is rethrown, whatever the number of threads.
template <class Body>
void parallel_for(std::size_t n, int threads, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  detail::parallel_for_erased(n, threads, const_cast<void*>(static_cast<const void*>(&body)),
                              [](void* b, std::size_t i) { (*static_cast<Plain*>(b))(i); });
}

}  // namespace orthant
