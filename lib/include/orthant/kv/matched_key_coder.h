#pragma once

#include <memory>

#include "orthant/cache/matched_key_cache.h"
#include "orthant/kv/matched_keys.h"
#include "orthant/quantizer/make_quantizer.h"
#include "orthant/quantizer/method.h"

namespace orthant::kv {

/// What cache::MatchedKeyCache needs to hold one head's keys under a method such as "turbo-mse:3,match=diag,align=256":
/// the head's frame, mean and map, and the codes of each segment. Without segments a diagonal map keeps the channels in
/// their own order, which is scored faster; matched_quantizer sorts them, so the two rotate differently and their codes
/// are equally good, not equal. Throws InvalidArgument for methods other than turbo-mse and eden, and for align=pre,
/// whose keys have no scores straight from the codes. The method's sink, residual and calibration are not looked at:
/// exact tokens are the cache's options, the calibration is in the head.
std::shared_ptr<const cache::MatchedKeyCoder> matched_key_coder(const quantizer::Method& method,
                                                                const MatchedHead& head,
                                                                const quantizer::QuantizerContext& context = {});

}  // namespace orthant::kv
