#include "data/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace hone {
namespace {

struct Range {
  char32_t first, last;
};

bool contains(std::span<const Range> sorted, char32_t c) {
  const auto after =
      std::upper_bound(sorted.begin(), sorted.end(), c, [](char32_t x, const Range& r) { return x < r.first; });
  return after != sorted.begin() && c <= std::prev(after)->last;
}

// Characters that came after Unicode 8, for which the reference has no category. Found by asking it about every code
// point; ranges run over neighbours that have the category neither there nor here.
constexpr Range kNoFormat[] = {{0x890, 0x8e2}, {0x110cd, 0x1343f}};
constexpr Range kNoMark[] = {{0x7fd, 0x7fd},     {0x898, 0x8e1},     {0x9fe, 0x9fe},     {0xafa, 0xaff},
                             {0xb55, 0xb55},     {0xc04, 0xc3c},     {0xd00, 0xd00},     {0xd3b, 0xd3c},
                             {0xd81, 0xd81},     {0xeba, 0xeba},     {0xece, 0xece},     {0x180f, 0x1886},
                             {0x1abf, 0x1ace},   {0x1df6, 0x1dfb},   {0xa82c, 0xa82c},   {0xa8c5, 0xa8c5},
                             {0xa8ff, 0xa8ff},   {0xa9bd, 0xa9bd},   {0x10d24, 0x10f85}, {0x11070, 0x11074},
                             {0x110c2, 0x110c2}, {0x111c9, 0x111c9}, {0x111cf, 0x111cf}, {0x1123e, 0x11241},
                             {0x1133b, 0x1133b}, {0x11438, 0x1145e}, {0x1182f, 0x13455}, {0x16f4f, 0x16f4f},
                             {0x16fe4, 0x16fe4}, {0x1cf00, 0x1cf46}, {0x1e000, 0x1e4ef}, {0x1e944, 0x1e94a}};
constexpr char32_t kFormerMark = 0x1734;  // a spacing mark since Unicode 14
constexpr Range kNoPunctuation[] = {{0x61d, 0x61d},     {0x9fd, 0xa76},     {0xc77, 0xc84},     {0x1b7d, 0x1b7e},
                                    {0x2e43, 0x2e5d},   {0x10ead, 0x10f89}, {0x1144b, 0x1145d}, {0x11660, 0x116b9},
                                    {0x1183b, 0x11fff}, {0x12ff1, 0x12ff2}, {0x16e97, 0x16fe2}, {0x1e95e, 0x1e95f}};
constexpr Range kFormerPunctuation[] = {{0x166d, 0x166d}, {0x111c9, 0x111c9}};  // reclassified since

// Its decomposition tables are a little newer: characters whose combining class it takes as 0.
constexpr Range kNoCombiningClass[] = {{0x7fd, 0x7fd},     {0x898, 0x8d3},     {0x9fe, 0x9fe},     {0xc3c, 0xc3c},
                                       {0xd3b, 0xd3c},     {0xeba, 0xeba},     {0x1715, 0x1715},   {0x1abf, 0x1ace},
                                       {0x1df6, 0x1dfa},   {0xa82c, 0xa82c},   {0x10d24, 0x10f85}, {0x11070, 0x11070},
                                       {0x1133b, 0x1133b}, {0x1145e, 0x1145e}, {0x11839, 0x11a99}, {0x11d42, 0x11f42},
                                       {0x16ff0, 0x16ff1}, {0x1e08f, 0x1e4ef}};
constexpr char32_t kNoDecomposition = 0x11938;

// Its lower-case tables are newer than utf8proc's (Unicode 16 and 17): first and last capital, distance to the small
// letter.
struct CaseRange {
  char32_t first, last;
  int distance;
};
constexpr CaseRange kNewCapitals[] = {{0x1c89, 0x1c89, 1},      {0xa7cb, 0xa7cb, 0x264 - 0xa7cb},
                                      {0xa7cc, 0xa7cc, 1},      {0xa7ce, 0xa7ce, 1},
                                      {0xa7d2, 0xa7d2, 1},      {0xa7d4, 0xa7d4, 1},
                                      {0xa7da, 0xa7da, 1},      {0xa7dc, 0xa7dc, 0x19b - 0xa7dc},
                                      {0x10d50, 0x10d65, 0x20}, {0x16ea0, 0x16eb8, 0x1b}};

int combining_class(char32_t c) {
  if (c < 0x300 || contains(kNoCombiningClass, c)) return 0;
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

void append_decomposition(std::u32string& out, char32_t c) {
  constexpr char32_t kFirstDecomposable = 0xc0;
  if (c < kFirstDecomposable || c == kNoDecomposition) {
    out += c;
    return;
  }
  utf8proc_int32_t parts[8];  // the longest canonical decomposition has four code points
  int boundary = UTF8PROC_BOUNDCLASS_START;
  const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 8, UTF8PROC_DECOMPOSE, &boundary);
  for (utf8proc_ssize_t i = 0; i < n; ++i) out += static_cast<char32_t>(parts[i]);
}

}  // namespace

bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_removed_by_cleaning(char32_t c) {
  if (c < 0x80) return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
  if (c == 0xfffd) return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CO:
      return true;
    case UTF8PROC_CATEGORY_CF:
      return !contains(kNoFormat, c);
    default:
      return false;
  }
}

bool is_chinese_character(char32_t c) {
  constexpr Range kBlocks[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
                               {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
  return c >= 0x3400 && contains(kBlocks, c);
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  const bool now = category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
  return now ? !contains(kNoPunctuation, c) : contains(kFormerPunctuation, c);
}

bool is_nonspacing_mark(char32_t c) {
  if (c < 0x300) return false;
  const bool now = utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_MN;
  return now ? !contains(kNoMark, c) : c == kFormerMark;
}

void append_lowercase(std::u32string& out, char32_t c) {
  if (c < 0x80) {
    out += c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  } else if (c == 0x130) {
    out += {U'i', char32_t{0x307}};
  } else {
    for (const CaseRange& r : kNewCapitals)
      if (c >= r.first && c <= r.last) {
        out += static_cast<char32_t>(static_cast<int>(c) + r.distance);
        return;
      }
    out += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  }
}

// Decompose each character, then sort every run of combining characters by class, equal ones in place (UAX 15).
std::u32string canonical_decomposition(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size() + text.size() / 4);
  for (char32_t c : text) append_decomposition(out, c);
  for (size_t begin = 0; begin < out.size();) {
    if (combining_class(out[begin]) == 0) {
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    while (end < out.size() && combining_class(out[end]) != 0) ++end;
    std::stable_sort(out.begin() + begin, out.begin() + end,
                     [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
  return out;
}

}  // namespace hone
