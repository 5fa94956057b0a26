#include "orthant/validation/verify.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "orthant/core/error.h"
#include "orthant/core/version.h"
#include "orthant/montecarlo/checkpoint.h"

namespace orthant::validation {
namespace {

using montecarlo::ConfidenceSequence;
using montecarlo::Interval;

bool is_fact(const Channel& channel) { return channel.kind == Channel::Kind::kFact; }

std::set<std::size_t> channels_in_use(const Study& study) {
  std::set<std::size_t> used;
  for (const Claim& claim : study.claims) used.insert(claim.channels.begin(), claim.channels.end());
  return used;
}

std::unique_ptr<ConfidenceSequence> sequence_for(const Channel& channel, double alpha) {
  switch (channel.kind) {
    case Channel::Kind::kBounded:
      return montecarlo::bounded_mean(channel.lower, channel.upper, channel.centre, alpha, channel.plan);
    case Channel::Kind::kFrequency:
      return montecarlo::frequency(channel.centre, alpha);
    case Channel::Kind::kAsymptotic:
      return montecarlo::asymptotic_mean(alpha, channel.plan);
    case Channel::Kind::kFact:
      return nullptr;
  }
  return nullptr;
}

/// One study on its way to its verdicts.
class Run {
 public:
  Run(const Study& study, double alpha) : study_(study), moments_(study.channels.size()) {
    const std::set<std::size_t> used = channels_in_use(study);
    for (std::size_t c = 0; c < study.channels.size(); ++c) {
      sequences_.push_back(used.contains(c) ? sequence_for(study.channels[c], alpha) : nullptr);
      random_ = random_ || sequences_.back() != nullptr;
    }
  }

  bool random() const { return random_; }
  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t trials() const { return moments_.empty() ? 0 : moments_[0].count(); }

  void add(const std::vector<montecarlo::ChunkMoments>& chunks) {
    for (const montecarlo::ChunkMoments& chunk : chunks) {
      for (std::size_t c = 0; c < moments_.size(); ++c) {
        moments_[c].merge(chunk[c]);
        if (sequences_[c] != nullptr) sequences_[c]->add(chunk[c]);
      }
    }
    ++blocks_;
  }

  montecarlo::Progress state() const {
    montecarlo::Progress progress{blocks_, moments_, {}};
    for (const auto& sequence : sequences_) {
      progress.sequences.push_back(sequence == nullptr ? std::vector<double>{} : sequence->state());
    }
    return progress;
  }

  void restore(const montecarlo::Progress& progress, const std::string& name) {
    if (progress.channels.size() != moments_.size() || progress.sequences.size() != moments_.size()) {
      throw_invalid_input(name, "channels of " + study_.experiment.name, std::to_string(progress.channels.size()),
                          std::to_string(moments_.size()));
    }
    blocks_ = progress.blocks;
    moments_ = progress.channels;
    for (std::size_t c = 0; c < sequences_.size(); ++c) {
      if (sequences_[c] != nullptr) sequences_[c]->restore(progress.sequences[c]);
    }
  }

  ClaimResult result(const Claim& claim) const {
    ClaimResult worst{claim, Verdict::kHolds, 0, {}, {}, 0};
    double worst_excess = -std::numeric_limits<double>::infinity();
    for (const std::size_t c : claim.channels) {
      const double mean = this->mean(c);
      const Interval in = interval(c);
      worst.verdict = combine(worst.verdict, judge(in, claim.relation, claim.target, claim.margin));
      const double above = mean - claim.target;
      const double excess = claim.relation == Relation::kAtMost    ? above
                            : claim.relation == Relation::kAtLeast ? -above
                                                                   : std::abs(above);
      if (!(excess > worst_excess) && worst_excess > -std::numeric_limits<double>::infinity()) continue;
      worst_excess = excess;
      worst.measured = mean;
      worst.interval = in;
      worst.interval_kind = is_fact(study_.channels[c]) ? "exact" : sequences_[c]->kind();
      worst.trials = is_fact(study_.channels[c]) ? 0 : moments_[c].count();
    }
    return worst;
  }

  std::size_t decided() const {
    std::size_t count = 0;
    for (const Claim& claim : study_.claims) count += result(claim).verdict != Verdict::kUndecided ? 1U : 0U;
    return count;
  }

  /// VerifyProgress::expected of a run until decided, unlimited; infinity while an interval has no end.
  double expected_trials() const {
    double expected = 0;
    for (const Claim& claim : study_.claims) {
      if (result(claim).verdict != Verdict::kUndecided) continue;
      // A claim holds when its last channel does, and falls with its first.
      double to_hold = 0;
      double to_fall = std::numeric_limits<double>::infinity();
      bool falls = false;
      for (const std::size_t c : claim.channels) {
        const Outlook outlook = this->outlook(claim, c);
        falls = falls || outlook.falls;
        (outlook.falls ? to_fall : to_hold) =
            outlook.falls ? std::min(to_fall, outlook.trials) : std::max(to_hold, outlook.trials);
      }
      expected = std::max(expected, falls ? to_fall : to_hold);
    }
    return expected;
  }

 private:
  double mean(std::size_t c) const {
    return is_fact(study_.channels[c]) ? study_.channels[c].value : moments_[c].mean();
  }

  Interval interval(std::size_t c) const {
    Interval in = is_fact(study_.channels[c]) ? Interval{mean(c), mean(c)} : sequences_[c]->interval();
    in.lower -= study_.channels[c].rounding;
    in.upper += study_.channels[c].rounding;
    return in;
  }

  struct Outlook {
    bool falls = false;  ///< the mean of today breaks the claim
    double trials = 0;   ///< until the interval no longer reaches the nearest edge of what the claim allows
  };
  Outlook outlook(const Claim& claim, std::size_t c) const {
    const double at = mean(c);
    const Interval in = interval(c);
    double edge = claim.target;
    if (claim.relation == Relation::kEquals) edge += at < claim.target ? -claim.margin : claim.margin;
    const bool below = at <= edge;
    const bool falls = claim.relation == Relation::kEquals ? std::abs(at - claim.target) > claim.margin
                                                           : below != (claim.relation == Relation::kAtMost);
    const double half = below ? in.upper - at : at - in.lower;
    const double shrink = half / std::abs(edge - at);
    return {falls, static_cast<double>(trials()) * std::max(1.0, shrink * shrink)};
  }

  const Study& study_;
  std::vector<std::unique_ptr<ConfidenceSequence>> sequences_;
  std::vector<Moments> moments_;
  std::uint64_t blocks_ = 0;
  bool random_ = false;
};

/// The checkpoint of the root, on every rank; so is what is wrong with it, lest the others wait for a rank that is
/// gone.
montecarlo::Checkpoint shared_checkpoint(const std::filesystem::path& path, const std::string& key,
                                         montecarlo::Workers& workers) {
  constexpr char kRefused = '!';
  std::string text;
  if (workers.root()) {
    try {
      text = montecarlo::to_json(montecarlo::read_checkpoint(path, key));
    } catch (const Error& error) {
      text = kRefused + std::string(error.what());
    }
  }
  text = workers.broadcast(text);
  if (text.front() == kRefused) throw InvalidInput(text.substr(1));
  return montecarlo::parse_checkpoint(text, key, path.string());
}

}  // namespace

std::vector<ClaimResult> verify(const std::vector<Study>& studies, const VerifyOptions& options,
                                montecarlo::Workers& workers) {
  if (!(options.family_error > 0 && options.family_error < 1)) {
    throw_invalid_argument("verify", "family error", std::to_string(options.family_error), "0 < error < 1");
  }
  const std::uint64_t most = options.trials.value_or(options.most_trials);
  if (most == 0) throw InvalidArgument("verify: got 0 trials, expected at least one");
  std::size_t channels = 0;
  for (const Study& study : studies) channels += channels_in_use(study).size();
  const double alpha = options.family_error / static_cast<double>(std::max<std::size_t>(channels, 1));

  const bool keep = !options.resume.empty();
  montecarlo::Checkpoint checkpoint;
  checkpoint.key = "orthant " + std::string(version()) + " seed=" + std::to_string(options.seed) +
                   " channels=" + std::to_string(channels) + " error=" + std::to_string(options.family_error) + ' ' +
                   options.key;
  if (keep) checkpoint = shared_checkpoint(options.resume, checkpoint.key, workers);

  std::vector<ClaimResult> results;
  for (std::size_t index = 0; index < studies.size(); ++index) {
    const Study& study = studies[index];
    const std::string& name = study.experiment.name;
    Run run(study, alpha);
    if (const auto saved = checkpoint.experiments.find(name); saved != checkpoint.experiments.end()) {
      run.restore(saved->second, options.resume.string());
    }
    while (run.random() && run.blocks() * montecarlo::kBlockTrials < most &&
           (options.trials.has_value() || run.decided() < study.claims.size())) {
      run.add(montecarlo::run_block(study.experiment, options.seed, run.blocks(), most, workers));
      if (keep) {
        checkpoint.experiments[name] = run.state();
        if (workers.root()) montecarlo::write_checkpoint(options.resume, checkpoint);
      }
      if (!options.progress || !workers.root()) continue;
      VerifyProgress now{name, index, studies.size(), run.trials(), {}, most, run.decided(), study.claims.size()};
      const double expected = options.trials ? static_cast<double>(most) : run.expected_trials();
      if (std::isfinite(expected)) {
        now.expected = expected < static_cast<double>(most) ? static_cast<std::uint64_t>(expected) : most;
      }
      options.progress(now);
    }
    for (const Claim& claim : study.claims) results.push_back(run.result(claim));
  }
  return results;
}

}  // namespace orthant::validation
