#pragma once

#include <algorithm>
#include <cstddef>

namespace orthant::quantizer {

/// When the tokens of a stream go from exact to coded. Of T tokens,
///   the first `sinks` stay exact for ever;   of the n = max(0, T - sinks - keep) next ones
///   coded(T) = first + floor((n - first) / step) * step, none while n < first;
///   the rest, `keep` to keep + step - 1 of them once there are so many, are exact.
/// KIVI's keys (residual R): keep 0, step R; its values: keep R, step 1; both `after` the read: the query of the newest
/// token still sees what the flush then takes. A window of the last R tokens: keep R, step 1, before the read. A prompt
/// coded whole, then R tokens at a time (transformers' QuantizedCache): first P, step R, after the read.
struct FlushSchedule {
  std::size_t sinks = 0;
  std::size_t keep = 0;
  std::size_t step = 1;  ///< at least 1, a multiple of the codec's block
  bool before_read = true;
  std::size_t first = 0;  ///< tokens of the first flush, a multiple of the codec's block; 0: as any other

  /// Coded tokens once the flush that T tokens call for has been done.
  std::size_t coded(std::size_t tokens) const {
    if (tokens < sinks + keep + first) return 0;
    return first + (tokens - sinks - keep - first) / step * step;
  }
  /// The most tokens, sinks apart, that are exact at once.
  std::size_t most_recent() const { return keep + std::max(first, step); }
  /// Coded tokens when the query of token T - 1 reads.
  std::size_t coded_when_read(std::size_t tokens) const {
    return coded(before_read ? tokens : std::max<std::size_t>(tokens, 1) - 1);
  }
  /// False when every token is coded before any query reads it.
  bool keeps_exact_tokens() const { return sinks > 0 || keep > 0 || step > 1 || first > 1 || !before_read; }
  /// True when a query reading T tokens sees token j exactly.
  bool exact_when_read(std::size_t j, std::size_t tokens) const {
    return j < sinks || j >= sinks + coded_when_read(tokens);
  }
};

}  // namespace orthant::quantizer
