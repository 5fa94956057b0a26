#include "orthant/quantizer/method.h"

#include <gtest/gtest.h>

#include <string>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/quantizer/policy.h"
#include "quantizer/value_pattern.h"

namespace orthant::quantizer {
namespace {

std::string refusal(std::string_view text) {
  try {
    parse_method(text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Method, ExamplesOfTheDocumentation) {
  for (const char* text :
       {"turbo-mse:4",
        "turbo-prod:4,sketch=orthogonal",
        "turbo-prod:4,sketch=hadamard",
        "rabitq:4,search=fast",
        "eden:4,scale=matched",
        "qjl:256",
        "polar:4",
        "kivi:2",
        "uniform:4,axis=channel,group=32,sym=1",
        "kvquant:3,outliers=0.05,sink=2",
        "fp8:e4m3,scale=head",
        "nvfp4",
        "mxfp4",
        "q8_0",
        "q4_0",
        "iq4_nl",
        "bf16",
        "f16",
        "f32",
        "turbo-mse:4,rotation=hadamard:3",
        "eden:2,rotation=kac:4",
        "turbo-mse:3,rotation=none",
        "turbo-mse:3,match=full,segments=4,centre=rotating,align=256,calibration=stats/gemma.safetensors",
        "uniform:4,bias=after",
        "split:3+2,channels=16",
        "q8_0,residual=1000000000"}) {
    const Method method = parse_method(text);
    EXPECT_EQ(method.to_string(), text);
    EXPECT_EQ(parse_method(method.to_full_string()), method) << method.to_full_string();
  }
}

TEST(Method, ValuesAreResolved) {
  const Method method = parse_method("uniform:4,sym=1");
  EXPECT_EQ(method.family(), "uniform");
  EXPECT_EQ(method.integer("bits"), 4);
  EXPECT_EQ(method.integer("group"), 64);
  EXPECT_EQ(method.integer("sym"), 1);
  EXPECT_EQ(method.text("axis"), "token");
  EXPECT_DOUBLE_EQ(parse_method("kvquant:3").real("outliers"), 0.01);
  EXPECT_FALSE(method.has("search"));
  EXPECT_THROW(method.text("search"), InvalidArgument);
  EXPECT_THROW(method.integer("axis"), InvalidArgument);
  EXPECT_EQ(parse_method("split:4+2").text("bits"), "4+2");
}

TEST(Method, DefaultsAndSpellingsAreCanonical) {
  EXPECT_EQ(parse_method("uniform:04,group=064,axis=token").to_string(), "uniform:4");
  EXPECT_EQ(parse_method("uniform:4,sym=1,axis=channel"), parse_method("uniform:4,axis=channel,sym=1"));
  EXPECT_EQ(parse_method("kvquant:3,outliers=0.0100").to_string(), "kvquant:3");
  EXPECT_EQ(parse_method("turbo-mse:4,rotation=haar").to_string(), "turbo-mse:4");
  EXPECT_EQ(parse_method("q4_0,rotation=none").to_string(), "q4_0");
  EXPECT_NE(parse_method("uniform:4"), parse_method("uniform:4,sym=1"));
  EXPECT_NE(parse_method("q4_0"), parse_method("q5_0"));
  EXPECT_EQ(parse_method("q4_0").with("rotation", "hadamard:03").to_string(), "q4_0,rotation=hadamard:3");
  EXPECT_THROW(parse_method("q4_0").with("rotation", "spin"), InvalidArgument);
}

TEST(Method, RefusalsNameWhatIsKnown) {
  EXPECT_EQ(refusal("uniform:4,grp=64"),
            "method \"uniform\": option, got \"grp\", expected axis, group, sym, meta, rotation, match, segments, "
            "centre, align, calibration, bias, sink, residual, exact");
  EXPECT_EQ(refusal("uniform:9"), "method \"uniform\": bits, got \"9\", expected N, N from 1 to 8");
  EXPECT_EQ(refusal("turbo-mse"), "method \"turbo-mse\": bits, got nothing, expected turbo-mse:N, N from 0 to 8");
  EXPECT_EQ(refusal("rabitq:4,search=slow"), "method \"rabitq\": search, got \"slow\", expected exact|fast");
  EXPECT_EQ(refusal("q4_0:4"), "method \"q4_0:4\": argument, got \"4\", expected none");
  EXPECT_EQ(refusal("uniform:4,sym"), "method \"uniform:4,sym\": option, got \"sym\", expected name=value");
  EXPECT_EQ(refusal("uniform:4,sym=1,sym=1"),
            "method \"uniform:4,sym=1,sym=1\": option \"sym\", got it twice, expected it once");
  EXPECT_NE(refusal("turbo:4").find("one of turbo-mse, turbo-prod, eden, qjl"), std::string::npos);
  for (const char* bad : {"",
                          ":",
                          "uniform:",
                          "uniform:4,",
                          "uniform:4,,sym=1",
                          "uniform: 4",
                          "uniform:-1",
                          "uniform:4.5",
                          "uniform:4bits",
                          "uniform:99999999999999999999",
                          "kvquant:3,outliers=nan",
                          "kvquant:3,outliers=0.6",
                          "kvquant:3,outliers=-0",
                          "split:4",
                          "split:4+",
                          "turbo-mse:4,rotation=kac",
                          "turbo-mse:4,rotation=hadamard:",
                          "turbo-mse:4,calibration=",
                          "UNIFORM:4",
                          "kivi:2,sym=1"}) {
    EXPECT_NE(refusal(bad), "accepted") << bad;
  }
}

TEST(Method, EveryFamilyRoundTripsWithEveryValueChanged) {
  for (const FamilyRule& rule : method_families()) {
    std::string text(rule.name);
    if (rule.has_argument) text += rule.values[0].pattern.find('+') != std::string_view::npos ? ":2+3" : ":2";
    if (rule.name == "fp8") text = "fp8:e5m2";
    Method method = parse_method(text);
    for (const ValueRule& value : rule.values) {
      // Each alternative of the pattern, numbers replaced by one in range.
      std::string_view rest = value.pattern;
      while (true) {
        const std::size_t bar = rest.find('|');
        std::string example;
        for (const char c : rest.substr(0, bar)) example += c == 'N' ? "7" : c == 'X' ? "0.25" : std::string(1, c);
        method = method.with(value.name, example);
        EXPECT_EQ(method.text(value.name), example);
        EXPECT_EQ(parse_method(method.to_string()), method) << method.to_string();
        EXPECT_EQ(parse_method(method.to_full_string()), method) << method.to_full_string();
        if (bar == std::string_view::npos) break;
        rest.remove_prefix(bar + 1);
      }
    }
  }
}

TEST(Method, DefaultsMatchTheirOwnPatterns) {
  for (const FamilyRule& rule : method_families()) {
    for (const ValueRule& value : rule.values) {
      if (value.fallback.empty()) continue;
      EXPECT_EQ(match_value(value, value.fallback), std::string(value.fallback)) << rule.name << ' ' << value.name;
    }
  }
}

TEST(Method, MutatedTextIsRefusedOrRoundTrips) {
  const std::string seeds[] = {"turbo-mse:4,rotation=hadamard:3", "kvquant:3,outliers=0.01,sink=1",
                               "split:4+2,channels=8", "uniform:4,axis=token,group=64,sym=0"};
  RngStream rng(1, Domain::kData, 0);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = seeds[rng.below(4)];
    for (std::uint64_t edits = 1 + rng.below(3); edits > 0; --edits) {
      const std::size_t at = rng.below(text.size());
      switch (rng.below(3)) {
        case 0:
          text[at] = static_cast<char>(rng.below(256));
          break;
        case 1:
          text.erase(at, 1);
          break;
        default:
          text.insert(at, 1, ",:=+.0123456789"[rng.below(15)]);
          break;
      }
      if (text.empty()) text = "x";
    }
    try {
      const Method method = parse_method(text);
      ASSERT_EQ(parse_method(method.to_string()), method) << text;
      ++accepted;
    } catch (const InvalidArgument&) {
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(Policy, PartsInAnyOrderEachAtMostOnce) {
  const Policy policy = parse_policy("  V=uniform:4,group=64 \tK=turbo-mse:4 ");
  EXPECT_EQ(to_string(policy), "K=turbo-mse:4 V=uniform:4");
  EXPECT_EQ(parse_policy(to_string(policy)), policy);
  EXPECT_EQ(to_string(parse_policy("")), "");
  EXPECT_FALSE(parse_policy("V=q4_0").keys.has_value());
  for (const char* bad :
       {"turbo-mse:4", "K=", "K=turbo-mse:4 K=turbo-mse:3", "E=q4_0", "Q=q4_0", "k=q4_0", "K= q4_0"}) {
    EXPECT_THROW(parse_policy(bad), InvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace orthant::quantizer
