// regex_full_match: whether all of a string matches a pattern. Patterns are RE2's as far as they mean something in
// ECMAScript's syntax too; others are refused. std::regex runs them in its polynomial mode, which recurses over the
// pattern but not over the string.
#include <cwctype>
#include <regex>

#include "base/utf8.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"pattern", AttributeKind::string, true,
     "literals . [] [[:alpha:]] | () (?:) * + ? {n,m} ^ $ \\d \\D \\w \\W \\s \\S \\b \\B \\t \\n \\v \\f \\r \\xhh"},
};

constexpr size_t kLongestPattern = 1000;  // std::regex recurses over nested groups

std::wstring decode(std::string_view text) {
  const std::u32string points = decode_utf8(text);
  return {points.begin(), points.end()};
}

// A pattern of RE2 spelled for ECMAScript.
class Translation {
 public:
  explicit Translation(const std::string& pattern) : given_(pattern), pattern_(decode(pattern)) {
    if (pattern_.size() > kLongestPattern)
      fail("the pattern has {} characters; accepted: up to {}", pattern_.size(), kLongestPattern);
    while (at_ < pattern_.size()) item();
  }
  const std::wstring& text() const { return text_; }

 private:
  bool next_is(std::wstring_view wanted) const { return std::wstring_view(pattern_).substr(at_).starts_with(wanted); }
  void copy(size_t count) {
    text_ += pattern_.substr(at_, count);
    at_ += count;
  }
  void replace(size_t count, std::wstring_view by) {
    text_ += by;
    at_ += count;
  }
  [[noreturn]] void refuse(const char* what) const {
    fail("pattern \"{}\": {} at character {} is not supported; supported: {}", given_, what, at_, kAttributes[0].doc);
  }

  void item() {
    if (next_is(L"\\")) escape();
    else if (next_is(L"(?") && !next_is(L"(?:")) refuse("a group with flags or a name");
    else if (next_is(L".")) replace(1, L"[^\\n]");  // ECMAScript leaves out more line ends
    else if (next_is(L"[")) bracket();
    else copy(1);
  }

  void escape() {
    const wchar_t c = at_ + 1 < pattern_.size() ? pattern_[at_ + 1] : L'\0';
    if (c == L's' && in_bracket_) replace(2, L"\\t\\n\\f\\r ");
    else if (c == L's') replace(2, L"[\\t\\n\\f\\r ]");
    else if (c == L'S' && !in_bracket_) replace(2, L"[^\\t\\n\\f\\r ]");
    else if (is_one_of(c, L"dDwWtnvfr")) copy(2);
    else if (is_one_of(c, L"bB") && !in_bracket_) copy(2);
    else if (c == L'x' && at_ + 3 < pattern_.size() && is_hex(pattern_[at_ + 2]) && is_hex(pattern_[at_ + 3])) copy(4);
    else if (c > L' ' && c < 0x7f && !std::iswalnum(static_cast<wint_t>(c))) copy(2);
    else refuse("an escape");
  }

  static bool is_one_of(wchar_t c, std::wstring_view set) { return set.find(c) != std::wstring_view::npos; }
  static bool is_hex(wchar_t c) { return c < 0x7f && std::iswxdigit(static_cast<wint_t>(c)); }

  void bracket() {
    in_bracket_ = true;
    copy(next_is(L"[^") ? 2 : 1);
    if (next_is(L"]")) replace(1, L"\\]");  // the first one is a member
    while (at_ < pattern_.size() && !next_is(L"]")) {
      if (next_is(L"[:")) named_class();
      else if (next_is(L"[")) replace(1, L"\\[");
      else if (next_is(L"\\")) escape();
      else copy(1);
    }
    in_bracket_ = false;
    copy(1);
  }

  void named_class() {
    const size_t end = pattern_.find(L":]", at_);
    const std::wstring name = pattern_.substr(at_ + 2, end == std::wstring::npos ? 0 : end - at_ - 2);
    for (const wchar_t* known : {L"alnum", L"alpha", L"blank", L"cntrl", L"digit", L"graph", L"lower", L"print",
                                 L"punct", L"space", L"upper", L"xdigit"})
      if (name == known) return copy(name.size() + 4);
    refuse("a class");
  }

  const std::string& given_;
  std::wstring pattern_, text_;
  size_t at_ = 0;
  bool in_bracket_ = false;
};

std::wregex compiled(const std::string& pattern) {
  std::wregex regex;
  regex.imbue(std::locale::classic());
  try {
    regex.assign(Translation(pattern).text(), std::regex_constants::ECMAScript | std::regex_constants::__polynomial);
  } catch (const std::regex_error& error) {
    fail("pattern \"{}\": {}", pattern, error.what());
  }
  return regex;
}

std::vector<TensorType> infer_match(const InferArgs& a) {
  expect_string(a[0], "x");
  compiled(a.attributes.get<std::string>("pattern"));  // throws Error when it is none
  return {plain_type(DType::boolean, a[0].shape)};
}

std::vector<Tensor> eval_match(const EvalArgs& a) {
  const std::wregex regex = compiled(a.attributes.get<std::string>("pattern"));
  std::vector<bool> matches;
  for (const std::string& text : a[0].string_values()) matches.push_back(std::regex_match(decode(text), regex));
  return {Tensor::of<bool>(a[0].shape(), matches)};
}

}  // namespace

extern constinit const OpDef regex_full_match_def{
    .name = "regex_full_match",
    .doc =
        "true where all of a string matches the pattern; letters and digits of classes are those of ASCII, strings are "
        "UTF-8.",
    .attributes = kAttributes,
    .infer = infer_match,
    .eval = eval_match};

}  // namespace hone
