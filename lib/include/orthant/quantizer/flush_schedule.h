#pragma once

#include <algorithm>
#include <cstddef>

namespace orthant::quantizer {

/// When the tokens of a stream go from exact to coded. Of T tokens,
///   the first `sinks` stay exact for ever;   coded(T) = floor(max(0, T - sinks - keep) / step) * step come next;
///   the rest, `keep` to keep + step - 1 of them once there are so many, are exact.
/// KIVI's keys (residual R): keep 0, step R; its values: keep R, step 1; both `after` the read: the query of the newest
/// token still sees what the flush then takes. A window of the last R tokens: keep R, step 1, before the read.
struct FlushSchedule {
  std::size_t sinks = 0;
  std::size_t keep = 0;
  std::size_t step = 1;  ///< at least 1, a multiple of the codec's block
  bool before_read = true;

  /// Coded tokens once the flush that T tokens call for has been done.
  std::size_t coded(std::size_t tokens) const {
    return tokens <= sinks + keep ? 0 : (tokens - sinks - keep) / step * step;
  }
  /// Coded tokens when the query of token T - 1 reads.
  std::size_t coded_when_read(std::size_t tokens) const {
    return coded(before_read ? tokens : std::max<std::size_t>(tokens, 1) - 1);
  }
  /// False when every token is coded before any query reads it.
  bool keeps_exact_tokens() const { return sinks > 0 || keep > 0 || step > 1 || !before_read; }
  /// True when a query reading T tokens sees token j exactly.
  bool exact_when_read(std::size_t j, std::size_t tokens) const {
    return j < sinks || j >= sinks + coded_when_read(tokens);
  }
};

}  // namespace orthant::quantizer
