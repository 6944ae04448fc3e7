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

TEST(ChatTemplate, TextsArePartedAsPythonPartsThem) {
  EXPECT_EQ(shown("{{ '  a b  c '.split(none, 1) }}"), "['a', 'b  c ']");
  EXPECT_EQ(shown("{{ ' a b  c '.rsplit(none, 1) }}"), "[' a b', 'c']");
  EXPECT_EQ(shown("{{ '  a b '.split() }}{{ '  a b '.rsplit() }}"), "['a', 'b']['a', 'b']");
  EXPECT_EQ(shown("{{ '  a b '.split(none, 0) }}{{ '  a b '.rsplit(none, 0) }}"), "['a b ']['  a b']");
  EXPECT_EQ(shown("{{ ' '.split() }}{{ ''.rsplit() }}"), "[][]");
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

TEST(ChatTemplate, ArgumentsThatNothingTakesAreErrors) {
  const auto expect = [](const std::string& expression, const std::string& error) {
    EXPECT_EQ(error_of([&] { shown("{{ " + expression + " }}"); }), "m: chat template, line 1: " + error);
  };
  expect("'abab'.find('b', 2)", "find takes 1 argument at most (sub), found 2");
  expect("'abab'.count('b', 2, 3)", "count takes 1 argument at most (sub), found 3");
  expect("'a b'.split(' ', limit=1)", "split has no argument \"limit\"; known: sep, maxsplit");
  expect("'a b'.split(' ', sep=' ')", "split: argument \"sep\" is given twice");
  expect("'a'.upper(1)", "upper takes no arguments, found 1");
  expect("[1, 2] | length(3)", "length takes no arguments, found 1");
  expect("{'a': 1} | dictsort(true)", "dictsort takes no arguments, found 1");
  expect("{'a': 1}.get('b', 2, 3)", "get takes 2 arguments at most (key, default), found 3");
  expect("[1] | sum(start=2)", "sum has no argument \"start\"; known: attribute");
  expect("[1] | map('abs', by=2)", "map has no argument \"by\" by name");
  expect("[{'a': 1}] | map(attribute='a', by=2)", "map has no argument \"by\"; known: attribute, default");
  expect("[1] | select('gt', 0, 3)", "gt takes 1 argument at most (other), found 2");
  expect("1 is odd(3)", "odd takes no arguments, found 1");
  expect("range(1, 2, 3, 4)", "range takes 3 arguments at most (start, stop, step), found 4");
  expect("dict(1)", "dict takes arguments by name, found one without");
  expect("strftime_now('%d', 1)", "strftime_now takes 1 argument at most (format), found 2");
}

TEST(ChatTemplate, ALoopThatIsLeftInASetBlockLeavesTheName) {
  EXPECT_EQ(shown("{% set x = 'o' %}{% for i in [1, 2] %}{% set x %}a{% break %}{% endset %}b{% endfor %}{{ x }}"),
            "o");
  EXPECT_EQ(shown("{% for i in [1, 2, 3] %}{% set x %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endset %}"
                  "{{ x }};{% endfor %}"),
            "1;3;");
}

TEST(ChatTemplate, OfMembersWithOneNameTheLastCounts) {
  EXPECT_EQ(shown("{{ {'a': 1, 'b': 2, 'a': 3} }}{{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }}"), "{'a': 3, 'b': 2}True");
  EXPECT_EQ(shown("{{ ['b', 'B', 'a', 'b'] | unique | join }}"), "ba");
}

TEST(ChatTemplate, FiltersOfTextCountTheTextOfLists) {
  for (const char* filter : {"lower", "upper", "title", "trim", "capitalize", "string", "replace('a', 'b')"})
    EXPECT_THAT(error_of([&] {
                  shown(std::string("{% set x = range(60000) | list %}{% for i in range(12) %}{% set y = x | ") +
                        filter + " %}{% endfor %}");
                }),
                HasSubstr("more than 64 MiB"))
        << filter;
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
  EXPECT_THAT(
      error_of([] {  // a method holds its object
        shown("{% set ns = namespace(x={}) %}{% for i in range(9999) %}{% set ns.x = {'a': ns.x.get} %}{% endfor %}");
      }),
      HasSubstr("more than 100 deep"));
  EXPECT_THAT(error_of([] { shown("{{ ('a' * 800000 ~ 'b') in 'a' * 1600000 }}"); }), HasSubstr("takes too long"));
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
