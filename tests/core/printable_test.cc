#include "orthant/core/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "orthant/core/error.h"

namespace orthant {
namespace {

TEST(Printable, TextStaysAsItIs) {
  for (const std::string text : {"", "gemma-3-270m (Q4_K_M)", "d·D ⊥ π, 日本, 🙂", "C:\\path"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(printable("two\nlines\tand a bell\x07\x7f"), "two\\nlines\\tand a bell\\x07\\x7f");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");                    // U+009B, a one-character ESC [
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");  // U+00A0 is the first that is not
}

// RFC 3629: truncated and overlong sequences, surrogates, beyond U+10FFFF.
TEST(Printable, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(printable("caf\xe9.npy"), "caf\\xe9.npy");
  EXPECT_EQ(printable("\xe2\x8a"), "\\xe2\\x8a");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(printable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf0\x80\x80\x80"), "\\xf0\\x80\\x80\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf");
}

TEST(Printable, MessagesAreOneSafeLine) {
  try {
    throw_invalid_input("a\nb", "model", "\x1b[2J", "text");
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "a\\nb: model, got \\x1b[2J, expected text");
  }
}

}  // namespace
}  // namespace orthant
