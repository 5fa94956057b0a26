#include "workers.h"

#ifdef ORTHANT_HAVE_MPI
#define OMPI_SKIP_MPICXX 1  // the C interface alone: no C++ library of MPI is linked
#include <mpi.h>

#include <cstdlib>
#include <exception>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/parallel_for.h"
#endif

namespace orthant::apps {
namespace {

#ifdef ORTHANT_HAVE_MPI

class MpiWorkers final : public montecarlo::Workers {
 public:
  explicit MpiWorkers(int threads) : threads_(threads) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  ~MpiWorkers() override { MPI_Finalize(); }
  MpiWorkers(const MpiWorkers&) = delete;
  MpiWorkers& operator=(const MpiWorkers&) = delete;

  void map(std::size_t n, std::size_t width, const std::function<void(std::size_t, std::span<double>)>& task,
           std::span<double> results) override {
    require_size("Workers::map", "results", results.size(), n * width);
    // Rank r does tasks r, r + ranks, ...; the gathered parts lie rank after rank.
    const auto share = [&](int rank) {
      return (n + static_cast<std::size_t>(ranks_ - 1 - rank)) / static_cast<std::size_t>(ranks_);
    };
    const auto own = static_cast<std::size_t>(rank_);
    const auto ranks = static_cast<std::size_t>(ranks_);
    std::vector<double> mine(share(rank_) * width);
    std::string failure;
    try {
      parallel_for(share(rank_), threads_,
                   [&](std::size_t k) { task(own + k * ranks, std::span(mine).subspan(k * width, width)); });
    } catch (const std::exception& error) {
      failure = *error.what() != '\0' ? error.what() : "unknown error";
    }
    throw_together(failure);

    std::vector<int> counts(ranks);
    std::vector<int> starts(ranks);
    int total = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      counts[static_cast<std::size_t>(rank)] = static_cast<int>(share(rank) * width);
      starts[static_cast<std::size_t>(rank)] = total;
      total += counts[static_cast<std::size_t>(rank)];
    }
    std::vector<double> all(results.size());
    MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, all.data(), counts.data(), starts.data(),
                   MPI_DOUBLE, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t from = static_cast<std::size_t>(starts[i % ranks]) + i / ranks * width;
      for (std::size_t j = 0; j < width; ++j) results[i * width + j] = all[from + j];
    }
  }

  bool root() const override { return rank_ == 0; }

  std::string broadcast(const std::string& text) override { return broadcast_from(0, text); }

 private:
  std::string broadcast_from(int rank, const std::string& text) {
    int size = static_cast<int>(text.size());
    MPI_Bcast(&size, 1, MPI_INT, rank, MPI_COMM_WORLD);
    std::string copy = rank_ == rank ? text : std::string(static_cast<std::size_t>(size), '\0');
    MPI_Bcast(copy.data(), size, MPI_CHAR, rank, MPI_COMM_WORLD);
    return copy;
  }

  /// A failure anywhere is thrown everywhere: no rank is left waiting.
  void throw_together(const std::string& failure) {
    int mine = failure.empty() ? ranks_ : rank_;
    int first = ranks_;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first < ranks_) throw Error(broadcast_from(first, failure));
  }

  int threads_;
  int rank_ = 0;
  int ranks_ = 1;
};

#endif

}  // namespace

std::unique_ptr<montecarlo::Workers> make_workers(int threads) {
#ifdef ORTHANT_HAVE_MPI
  // Set by mpirun; without it MPI would only cost its start.
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr) {
    return std::make_unique<MpiWorkers>(threads);
  }
#endif
  return montecarlo::thread_workers(threads);
}

}  // namespace orthant::apps
