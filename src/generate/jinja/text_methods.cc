#include "generate/jinja/text_methods.h"

#include <utf8proc.h>
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "generate/jinja/access.h"
#include "generate/jinja/arguments.h"

namespace hone::jinja {
namespace {

using Args = const Arguments&;

constexpr std::string_view kBlanks = " \t\n\r\v\f";

std::string mapped(std::string_view text, utf8proc_int32_t (*map)(utf8proc_int32_t)) {
  std::string out;
  for (char32_t c : decode_utf8(text)) append_utf8(out, static_cast<char32_t>(map(static_cast<utf8proc_int32_t>(c))));
  return out;
}

bool is_letter(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

std::string stripped(std::string_view text, std::string_view characters, bool left, bool right) {
  const std::u32string all = decode_utf8(text), taken = decode_utf8(characters);
  size_t begin = 0, end = all.size();
  while (left && begin < end && taken.find(all[begin]) != std::u32string::npos) ++begin;
  while (right && end > begin && taken.find(all[end - 1]) != std::u32string::npos) --end;
  std::string out;
  for (char32_t c : all.substr(begin, end - begin)) append_utf8(out, c);
  return out;
}

}  // namespace

std::string stripped(std::string_view text) { return stripped(text, kBlanks, true, true); }
std::string lower(std::string_view text) { return mapped(text, utf8proc_tolower); }

std::string upper(std::string_view text) { return mapped(text, utf8proc_toupper); }

std::string capitalised(std::string_view text) {
  if (text.empty()) return "";
  const size_t first = std::min(utf8_length(text[0]), text.size());
  return mapped(text.substr(0, first), utf8proc_totitle) + lower(text.substr(first));
}

std::string titled(std::string_view text) {
  std::string out;
  bool inside = false;
  for (char32_t c : decode_utf8(text)) {
    const auto code = static_cast<utf8proc_int32_t>(c);
    append_utf8(out, static_cast<char32_t>(inside ? utf8proc_tolower(code) : utf8proc_totitle(code)));
    inside = is_letter(c);
  }
  return out;
}

Value strip(const Value& value, Args arguments, bool left, bool right) {
  const Value* given = arguments.find(0, "chars");
  const std::string& text = text_of(value, "strip");
  return stripped(text, given && !given->none() ? text_of(*given, "strip") : std::string(kBlanks), left, right);
}

Value replace(const Value& value, Args arguments, Budget& budget) {
  const std::string text = shown_within(value, budget), from = text_argument(arguments, 0, "old", "replace"),
                    to = text_argument(arguments, 1, "new", "replace");
  int64_t most = integer_argument(arguments, 2, "count", -1);
  if (from.empty()) fail("replace: the text to replace is empty");
  budget.search(text, from);
  std::string out;
  size_t at = 0;
  for (size_t next; most != 0 && (next = text.find(from, at)) != std::string::npos; --most) {
    budget.text(std::ssize(to));
    out += text.substr(at, next - at) + to;
    at = next + from.size();
  }
  return out + text.substr(at);
}

Value joined(const Value& value, const std::string& sign, Args arguments, Budget& budget) {
  const Value* attribute = arguments.find(1, "attribute");
  std::string out;
  bool first = true;
  for (const Value& each : iterated(value, budget)) {
    const std::string part =
        shown_within(attribute ? member_of(each, text_of(*attribute, "join"), budget) : each, budget);
    budget.text(std::ssize(sign) + std::ssize(part));
    out += (first ? "" : sign) + part;
    first = false;
  }
  return out;
}

namespace {

// Parted at runs of blanks, at most so many times; what is left keeps those at its end.
std::vector<Value> words_of(const std::string& text, int64_t most) {
  std::vector<Value> words;
  for (size_t at = text.find_first_not_of(kBlanks); at != std::string::npos; --most) {
    const size_t end = most == 0 ? text.size() : std::min(text.find_first_of(kBlanks, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

// The same from the right; what is left keeps those at its beginning.
std::vector<Value> words_from_right(const std::string& text, int64_t most) {
  std::vector<Value> words;
  for (size_t last = text.find_last_not_of(kBlanks); last != std::string::npos; --most) {
    const size_t blank = most == 0 ? std::string::npos : text.find_last_of(kBlanks, last);
    const size_t begin = blank == std::string::npos ? 0 : blank + 1;
    words.emplace_back(text.substr(begin, last + 1 - begin));
    last = begin == 0 ? std::string::npos : text.find_last_not_of(kBlanks, begin - 1);
  }
  std::ranges::reverse(words);
  return words;
}

std::vector<Value> split_text(const std::string& text, const Value* by, int64_t most, bool from_right) {
  std::vector<Value> parts;
  if (!by || by->none()) return from_right ? words_from_right(text, most) : words_of(text, most);
  const std::string& sign = text_of(*by, "split");
  if (sign.empty()) fail("split: the text to split at is empty");
  if (from_right) {
    size_t end = text.size();
    for (size_t at; most != 0 && end >= sign.size() && (at = text.rfind(sign, end - sign.size())) != std::string::npos;
         --most) {
      parts.insert(parts.begin(), text.substr(at + sign.size(), end - at - sign.size()));
      end = at;
    }
    parts.insert(parts.begin(), text.substr(0, end));
    return parts;
  }
  size_t at = 0;
  for (size_t next; most != 0 && (next = text.find(sign, at)) != std::string::npos; at = next + sign.size(), --most)
    parts.emplace_back(text.substr(at, next - at));
  parts.emplace_back(text.substr(at));
  return parts;
}

template <bool kFromRight>
Value split(const Value& value, Args arguments, Budget& budget) {
  const std::string& text = text_of(value, "split");
  budget.step(std::ssize(text));
  const Value* sign = arguments.find(0, "sep");
  if (sign && sign->text()) budget.search(text, *sign->text());
  return Value::list(split_text(text, sign, integer_argument(arguments, 1, "maxsplit", -1), kFromRight));
}

Value split_lines(const Value& value, Args, Budget& budget) {
  std::vector<Value> lines;
  const std::string& text = text_of(value, "splitlines");
  budget.step(std::ssize(text));
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    lines.emplace_back(std::move(line));
    at = end + 1;
  }
  return Value::list(std::move(lines));
}

template <bool kAtEnd>
Value has_affix(const Value& value, Args arguments, Budget&) {
  const char* const of = kAtEnd ? "endswith" : "startswith";
  const std::string& text = text_of(value, of);
  const Value* given = arguments.find(0, "affix");
  if (!given) fail("{} lacks its argument", of);
  const auto has = [&](const Value& affix) {
    return kAtEnd ? text.ends_with(text_of(affix, of)) : text.starts_with(text_of(affix, of));
  };
  return given->items() ? std::ranges::any_of(*given->items(), has) : has(*given);
}

template <bool kAtEnd>
Value without_affix(const Value& value, Args arguments, Budget&) {
  const char* const of = kAtEnd ? "removesuffix" : "removeprefix";
  const std::string &text = text_of(value, of), affix = text_argument(arguments, 0, "affix", of);
  if (kAtEnd) return text.ends_with(affix) ? text.substr(0, text.size() - affix.size()) : text;
  return text.starts_with(affix) ? text.substr(affix.size()) : text;
}

Value find_text(const Value& value, Args arguments, Budget& budget) {
  const std::string &text = text_of(value, "find"), part = text_argument(arguments, 0, "sub", "find");
  budget.search(text, part);
  const size_t at = text.find(part);
  return at == std::string::npos ? int64_t{-1} : length_of(text.substr(0, at));
}

Value count_text(const Value& value, Args arguments, Budget& budget) {
  const std::string &text = text_of(value, "count"), part = text_argument(arguments, 0, "sub", "count");
  if (part.empty()) return length_of(text) + 1;
  budget.search(text, part);
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

constexpr BuiltinDef kTextMethods[] = {
    {"capitalize", [](const Value& v, Args, Budget&) -> Value { return capitalised(*v.text()); }},
    {"count", count_text, "sub"},
    {"endswith", has_affix<true>, "affix"},
    {"find", find_text, "sub"},
    {"join",
     [](const Value& v, Args a, Budget& budget) {
       if (a.values.empty()) fail("join lacks the list that it joins");
       for (const Value& each : iterated(a.values[0], budget)) text_of(each, "join");
       return joined(a.values[0], *v.text(), {}, budget);
     },
     "iterable"},
    {"lower", [](const Value& v, Args, Budget&) -> Value { return lower(*v.text()); }},
    {"lstrip", [](const Value& v, Args a, Budget&) { return strip(v, a, true, false); }, "chars"},
    {"removeprefix", without_affix<false>, "affix"},
    {"removesuffix", without_affix<true>, "affix"},
    {"replace", replace, "old new count"},
    {"rsplit", split<true>, "sep maxsplit"},
    {"rstrip", [](const Value& v, Args a, Budget&) { return strip(v, a, false, true); }, "chars"},
    {"split", split<false>, "sep maxsplit"},
    {"splitlines", split_lines},
    {"startswith", has_affix<false>, "affix"},
    {"strip", [](const Value& v, Args a, Budget&) { return strip(v, a, true, true); }, "chars"},
    {"title", [](const Value& v, Args, Budget&) -> Value { return titled(*v.text()); }},
    {"upper", [](const Value& v, Args, Budget&) -> Value { return upper(*v.text()); }},
};

}  // namespace

std::span<const BuiltinDef> text_methods() { return kTextMethods; }

}  // namespace hone::jinja
