// docs/from-mase.md says what becomes of all that the code knows of MASE, and names only what hone has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "base/text.h"
#include "formats/format.h"
#include "io/mase/config.h"
#include "io/mase/formats.h"
#include "io/mase/layers.h"
#include "ops/registry.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string doc(const std::string& name) { return read_file(test::kSourceDir + ("/docs/" + name)); }

// What stands between backquotes, and lines of commands.
std::vector<std::string> code_spans(const std::string& page) {
  std::vector<std::string> spans;
  for (const std::string& line : split(page, '\n')) {
    if (line.starts_with("    hone ")) spans.emplace_back(trim(line));
    const std::vector<std::string> parts = split(line, '`');
    for (size_t i = 1; i < parts.size(); i += 2) spans.push_back(parts[i]);
  }
  return spans;
}

// The page of a verb in docs/cli.md, which tests hold to the program.
std::string page_of(const std::string& verb) {
  const std::string all = doc("cli.md"), head = "\n### hone " + verb + "\n";
  const size_t at = all.find(head);
  return at == all.npos ? "" : all.substr(at, all.find("\n### ", at + 1) - at);
}

// "conv2d" is "Conv2d", "convtranspose2d" is "ConvTranspose2d".
std::string class_of(std::string type) {
  type[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(type[0])));
  if (const size_t at = type.find("transpose"); at != type.npos) type[at] = 'T';
  return type;
}

TEST(FromMasePage, SaysWhatBecomesOfEachPassAndType) {
  const std::string page = doc("from-mase.md");
  for (const MasePass& pass : mase_passes()) EXPECT_THAT(page, HasSubstr("`" + std::string(pass.name) + "`"));
  for (const MaseType& type : mase_types())  // those that are quantized by their classes, too
    EXPECT_THAT(page, testing::AnyOf(HasSubstr("`" + std::string(type.name)), HasSubstr("`" + class_of(type.name))));
}

TEST(FromMasePage, NamesVerbsAndFlagsThatThereAre) {
  int commands = 0;
  for (const std::string& span : code_spans(doc("from-mase.md"))) {
    const std::vector<std::string> words = split(span, ' ');
    if (words[0] != "hone" || words.size() < 2) continue;
    ++commands;
    const std::string page = page_of(words[1]);
    EXPECT_NE(page, "") << span;
    if (words[1] == "lora") {
      EXPECT_THAT(page, HasSubstr("hone lora " + words[2])) << span;
    }
    for (const std::string& word : words)
      if (word.starts_with("--")) {
        EXPECT_THAT(page, HasSubstr("`" + word)) << span;
      }
  }
  EXPECT_GT(commands, 20);
}

TEST(FromMasePage, NamesOpsAndFormatsThatThereAre) {
  int formats = 0;
  for (const std::string& span : code_spans(doc("from-mase.md"))) {
    const size_t at = span.find("op:");
    if (at == span.npos) continue;
    const std::string rule = span.substr(at + 3), op = rule.substr(0, rule.find_first_of(".="));
    EXPECT_TRUE(std::ranges::any_of(ops::all(), [&](const OpDef* def) { return op == def->name; })) << span;
    const size_t equals = rule.find('=');
    if (equals == rule.npos || rule.substr(equals + 1) == "FORMAT") continue;
    EXPECT_NO_THROW(parse_format(rule.substr(equals + 1))) << span;
    ++formats;
  }
  EXPECT_GT(formats, 12);
}

}  // namespace
}  // namespace hone
