// What reaches a terminal: nothing that moves the cursor or turns the direction of writing.
#include "base/printable.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace hone {
namespace {

TEST(Printable, TextStaysAsItIs) {
  EXPECT_EQ(printable("weight.0\n\tK\u00fcche \u6f22\u5b57 \U0001f600 \\n"),
            "weight.0\n\tK\u00fcche \u6f22\u5b57 \U0001f600 \\n");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ControlCharactersBecomeVisible) {
  EXPECT_EQ(printable("\x1b[2J\r\b\x7f"), "\\x1b[2J\\x0d\\x08\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b");  // CSI among the C1 controls, as UTF-8
}

TEST(Printable, MarksThatTurnTheDirectionBecomeVisible) {
  EXPECT_EQ(printable("a\u202eb\u2066c\u200fd\u2028e"), "a\\u202eb\\u2066c\\u200fd\\u2028e");
}

TEST(Printable, BytesThatAreNoTextBecomeVisible) {
  EXPECT_EQ(printable("a\x9b\xff\xc3"), "a\\x9b\\xff\\xc3");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a surrogate pair
  EXPECT_EQ(printable("\xf0\x9f\x98"), "\\xf0\\x9f\\x98");
}

TEST(Printable, JsonStaysTheSameValue) {
  const Json value{{"name", "a\x1b\u009b\u202e\x7f\n"}};
  const std::string text = printable_json(value.dump(2));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\u202e"), std::string::npos);
  EXPECT_EQ(text.find('\x7f'), std::string::npos);
  EXPECT_EQ(parse_json(text, "text"), value);
}

TEST(Shortened, KeepsBothEndsAndSaysWhatIsMissing) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("abcdefghijkl", 6), "abcd[... 6 bytes ...]kl");
  const std::string letters = shortened("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 5);
  EXPECT_EQ(printable(letters), letters) << "cut between characters";
}

TEST(PrintableMessage, OfALongNameIsALine) {
  const std::string name(5'000'000, 'x');
  EXPECT_LT(printable_message("model.onnx: node \"" + name + "\" is unknown").size(), 1000u);
  EXPECT_LT(printable_message(std::string(5'000'000, '\x1b')).size(), 1000u);
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += "a tensor is missing\n";
  EXPECT_LT(printable_message(lines).size(), 20'000u);
}

}  // namespace
}  // namespace hone
