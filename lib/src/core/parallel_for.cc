#include "orthant/core/parallel_for.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "orthant/core/error.h"

namespace orthant {

int default_threads() { return std::max(1, oneapi::tbb::info::default_concurrency()); }

namespace detail {
namespace {

/// Remembers the exception of the lowest index.
class FirstFailure {
 public:
  void keep(std::size_t i) {
    const std::scoped_lock lock(mutex_);
    if (error_ != nullptr && i >= index_) return;
    error_ = std::current_exception();
    index_ = i;
  }
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::size_t index_ = 0;
  std::exception_ptr error_;
};

#ifdef __SANITIZE_THREAD__
// The scheduler's library is not instrumented, and ThreadSanitizer takes its hand-overs for races: plain threads then.
template <class Body>
void spread(std::size_t n, int width, const Body& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < n; i = next++) body(i);
  };
  std::vector<std::jthread> workers;
  for (int t = 1; t < width; ++t) workers.emplace_back(work);
  work();
}
#else
/// Arenas that no call uses. A thread that has worked in one stays awake for it a while: in a new arena the second
/// thread starts after 30 to 120 microseconds, as long as it takes to wake one or to send it to sleep first, in one
/// kept from a call just before after 2.
class Arenas {
 public:
  using Arena = std::unique_ptr<oneapi::tbb::task_arena>;

  /// Never destroyed: threads of the scheduler may outlive any static object.
  static Arenas& all() {
    static auto* const arenas = new Arenas;
    return *arenas;
  }
  Arena take(int width) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(idle_, width, [](const Arena& arena) { return arena->max_concurrency(); });
    if (found == idle_.end()) return std::make_unique<oneapi::tbb::task_arena>(width);
    Arena arena = std::move(*found);
    idle_.erase(found);
    return arena;
  }
  void give_back(Arena arena) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(arena));
  }

 private:
  std::mutex mutex_;
  std::vector<Arena> idle_;
};

template <class Body>
void spread(std::size_t n, int width, const Body& body) {
  // Without leave for more threads than processors, the scheduler would run fewer and say so on stderr.
  using Control = oneapi::tbb::global_control;
  std::optional<Control> leave;
  if (width > default_threads()) leave.emplace(Control::max_allowed_parallelism, static_cast<std::size_t>(width));
  Arenas::Arena arena = Arenas::all().take(width);
  arena->execute([&] { oneapi::tbb::parallel_for(std::size_t{0}, n, body); });
  Arenas::all().give_back(std::move(arena));
}
#endif

}  // namespace

void parallel_for_erased(std::size_t n, int threads, void* body, void (*call)(void* body, std::size_t i)) {
  if (threads < 0) {
    throw_invalid_argument("parallel_for", "threads", std::to_string(threads), "0 (all) or more");
  }
  FirstFailure failure;
  const auto guarded = [&](std::size_t i) {
    try {
      call(body, i);
    } catch (...) {
      failure.keep(i);
    }
  };
  const int width = threads == 0 ? default_threads() : threads;
  if (width == 1 || n <= 1) {
    for (std::size_t i = 0; i < n; ++i) guarded(i);
  } else {
    spread(n, width, guarded);
  }
  failure.rethrow();
}

}  // namespace detail
}  // namespace orthant
