// Templates against what jinja2 makes of them, as transformers sets it up (tests/data/README.md), and what is refused.
#include "generate/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace hone::test {
namespace {

using testing::HasSubstr;

constexpr int64_t kNow = 1753833600;  // 30 July 2025, that of the golden texts

Json golden() { return read_json_file(std::string(kTestData) + "/generate/chat_templates.json"); }

std::string shown(const std::string& text) {
  return ChatTemplate(text, "m").render(std::vector<ChatMessage>{}, {.begin = "<s>", .end = "</s>", .now = kNow});
}

TEST(ChatTemplate, PublicOnesGiveTheTextsOfJinja) {
  for (const Json& each : golden().at("templates")) {
    const ChatTemplate chat(each.at("template").get<std::string>(), each.at("name").get<std::string>());
    for (const Json& one : each.at("cases")) {
      SCOPED_TRACE(each.at("name").get<std::string>() + " " + one.at("messages").dump() + one.at("more").dump());
      const auto render = [&] {
        return chat.render(
            one.at("messages"),
            {.begin = "<s>", .end = "</s>", .asks = one.at("asks").get<bool>(), .now = kNow, .more = one.at("more")});
      };
      if (one.contains("text")) EXPECT_EQ(render(), one.at("text").get<std::string>());
      else EXPECT_THAT(error_of(render), HasSubstr("the template refuses: " + one.at("error").get<std::string>()));
    }
  }
}

TEST(ChatTemplate, ExpressionsAndWhiteSpaceAreThoseOfJinja) {
  for (const Json& one : golden().at("expressions")) {
    SCOPED_TRACE(one.at("template").get<std::string>());
    EXPECT_EQ(shown(one.at("template").get<std::string>()), one.at("text").get<std::string>());
  }
}

TEST(ChatTemplate, UnknownConstructsAreNamedWithTheirLine) {
  EXPECT_EQ(
      error_of([] { shown("\n{% include 'x' %}"); }),
      "m: chat template, line 2: the tag \"include\" is not known; known: if, for, set, macro, generation, break, "
      "continue");
  EXPECT_THAT(error_of([] { shown("a\n\n{{ 'x' | wordwrap }}"); }),
              HasSubstr("m: chat template, line 3: the filter \"wordwrap\" is not known; known: abs, "));
  EXPECT_THAT(error_of([] { shown("{{ 1 is prime }}"); }), HasSubstr("line 1: the test \"prime\" is not known"));
  EXPECT_THAT(error_of([] { shown("{{ cycler(1) }}"); }), HasSubstr("\"cycler\" is not known, so it can't be called"));
  EXPECT_THAT(error_of([] { shown("{{ [].append(1) }}"); }),
              HasSubstr("\"append\" is not known, so it can't be called"));
  EXPECT_THAT(error_of([] { shown("{{ 2 ** 3 }}"); }), HasSubstr("the operator \"**\" is not known"));
  EXPECT_THAT(error_of([] { shown("{% for a in b recursive %}{% endfor %}"); }), HasSubstr("\"recursive\" loops"));
}

TEST(ChatTemplate, FaultsOfATemplateAreErrorsWithTheirLine) {
  EXPECT_THAT(error_of([] { shown("\n{{ x.y }}"); }), HasSubstr("line 2: \"x\" is undefined, so it has no \"y\""));
  EXPECT_THAT(error_of([] { shown("{{ 1 / 0 }}"); }), HasSubstr("division by zero"));
  EXPECT_THAT(error_of([] { shown("{{ 'a' + 1 }}"); }),
              HasSubstr("the operator \"+\" is not known of a string and an integer"));
  EXPECT_THAT(error_of([] { shown("{{ 9223372036854775807 + 1 }}"); }), HasSubstr("beyond 64 bits"));
  EXPECT_THAT(error_of([] { shown("{% if x %}"); }), HasSubstr("expected {% endif %}, found the end of the template"));
  EXPECT_THAT(error_of([] { shown("{{ x "); }), HasSubstr("a tag does not end; expected }}"));
  EXPECT_THAT(error_of([] { shown("{{ 'x }}"); }), HasSubstr("a string does not end"));
  EXPECT_THAT(error_of([] { shown("{# x "); }), HasSubstr("a comment does not end"));
  EXPECT_THAT(error_of([] { shown("{{ raise_exception('no') }}"); }), HasSubstr("the template refuses: no"));
}

TEST(ChatTemplate, LoopsTextAndDepthHaveLimits) {
  const std::string loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
  EXPECT_THAT(error_of([&] { shown(loops); }), HasSubstr("takes too long: more than 2,000,000 steps"));
  EXPECT_THAT(error_of([] { shown("{{ range(99999999999) }}"); }), HasSubstr("takes too long"));
  EXPECT_THAT(error_of([] { shown("{{ 'abcdefgh' * 99999999999 }}"); }), HasSubstr("too much text: more than 64 MiB"));
  EXPECT_THAT(
      error_of([] {
        shown("{% set ns = namespace(t='x') %}{% for a in range(99) %}{% set ns.t = ns.t + ns.t %}{% endfor %}");
      }),
      HasSubstr("takes too long"));
  EXPECT_THAT(
      error_of([] {
        shown("{% set ns = namespace(t=[1]) %}{% for a in range(99) %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}");
      }),
      HasSubstr("takes too long"));
  EXPECT_THAT(error_of([] {
                shown("{% set ns = namespace(t=[]) %}{% for a in range(999) %}{% set ns.t = [ns.t] %}{% endfor %}");
              }),
              HasSubstr("more than 100 deep"));
  EXPECT_THAT(error_of([] { shown("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"); }),
              HasSubstr("more than 400 deep"));
  EXPECT_THAT(error_of([] { shown("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}"); }),
              HasSubstr("more than 100 deep"));
  EXPECT_THAT(error_of([] { shown("{% set ns = namespace() %}{% set ns.x = [ns] %}"); }),
              HasSubstr("a namespace can't be part of another value"));
}

}  // namespace
}  // namespace hone::test
