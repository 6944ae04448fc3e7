#include "tokenizers/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
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

// Characters whose decomposition by compatibility is newer than its tables.
constexpr Range kNoCompatibility[] = {{0x32ff, 0x32ff},   {0xa7f2, 0xa7f4},   {0xab69, 0xab69},  {0x10781, 0x107ba},
                                      {0x1e030, 0x1e06d}, {0x1f16c, 0x1f16c}, {0x1fbf0, 0x1fbf9}};

// Marks that StripAccents keeps, and two that it drops though they are marks no more.
constexpr Range kNoAccent[] = {
    {0x7fd, 0x7fd},     {0x898, 0x8d3},     {0x9fe, 0x9fe},     {0xafa, 0xaff},     {0xb55, 0xb55},
    {0xc04, 0xc3c},     {0xcf3, 0xd00},     {0xd3b, 0xd3c},     {0xd81, 0xd81},     {0xeba, 0xeba},
    {0xece, 0xece},     {0x1715, 0x1715},   {0x180f, 0x180f},   {0x1abf, 0x1ace},   {0x1cf7, 0x1cf7},
    {0x1df6, 0x1dfa},   {0xa82c, 0xa82c},   {0xa8ff, 0xa8ff},   {0x10d24, 0x10f85}, {0x11070, 0x11074},
    {0x110c2, 0x110c2}, {0x11145, 0x11146}, {0x111c9, 0x111c9}, {0x111ce, 0x111cf}, {0x11241, 0x11241},
    {0x1133b, 0x1133b}, {0x1145e, 0x1145e}, {0x1182c, 0x11a99}, {0x11d31, 0x13455}, {0x16f4f, 0x16f4f},
    {0x16f7f, 0x16f87}, {0x16fe4, 0x16ff1}, {0x1cf00, 0x1cf46}, {0x1e08f, 0x1e4ef}};
constexpr Range kFormerAccent[] = {{0x1cf2, 0x1cf3}};

// Characters of Unicode 15.1 and 16, which utf8proc has no category for and patterns know.
struct NewClass {
  char32_t first, last;
  CharClass of;
};
using enum CharClass;
constexpr NewClass kNewClasses[] = {
    {0x897, 0x897, mark},         {0x1c89, 0x1c89, upper},      {0x1c8a, 0x1c8a, lower},
    {0xa7cb, 0xa7cc, upper},      {0xa7cd, 0xa7cd, lower},      {0xa7da, 0xa7da, upper},
    {0xa7db, 0xa7db, lower},      {0xa7dc, 0xa7dc, upper},      {0x105c0, 0x105f3, caseless},
    {0x10d40, 0x10d49, number},   {0x10d4a, 0x10d4f, caseless}, {0x10d50, 0x10d65, upper},
    {0x10d69, 0x10d6d, mark},     {0x10d6f, 0x10d6f, caseless}, {0x10d70, 0x10d85, lower},
    {0x10ec2, 0x10ec4, caseless}, {0x10efc, 0x10efc, mark},     {0x11380, 0x11389, caseless},
    {0x1138b, 0x1138b, caseless}, {0x1138e, 0x1138e, caseless}, {0x11390, 0x113b5, caseless},
    {0x113b7, 0x113b7, caseless}, {0x113b8, 0x113c0, mark},     {0x113c2, 0x113c2, mark},
    {0x113c5, 0x113c5, mark},     {0x113c7, 0x113ca, mark},     {0x113cc, 0x113d0, mark},
    {0x113d1, 0x113d1, caseless}, {0x113d2, 0x113d2, mark},     {0x113d3, 0x113d3, caseless},
    {0x113e1, 0x113e2, mark},     {0x116d0, 0x116e3, number},   {0x11bc0, 0x11be0, caseless},
    {0x11bf0, 0x11bf9, number},   {0x11f5a, 0x11f5a, mark},     {0x13460, 0x143fa, caseless},
    {0x16100, 0x1611d, caseless}, {0x1611e, 0x1612f, mark},     {0x16130, 0x16139, number},
    {0x16d40, 0x16d6c, caseless}, {0x16d70, 0x16d79, number},   {0x18cff, 0x18cff, caseless},
    {0x1ccf0, 0x1ccf9, number},   {0x1e5d0, 0x1e5ed, caseless}, {0x1e5ee, 0x1e5ef, mark},
    {0x1e5f0, 0x1e5f0, caseless}, {0x1e5f1, 0x1e5fa, number},   {0x2ebf0, 0x2ee5d, caseless}};
constexpr Range kNewNumbers[] = {{0x11de0, 0x11de9}, {0x16ff4, 0x16ff6}};  // of Unicode 17

utf8proc_category_t category_of(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

CharClass new_class(char32_t c) {
  const auto found = std::ranges::find_if(kNewClasses, [&](const NewClass& r) { return c >= r.first && c <= r.last; });
  return found == std::end(kNewClasses) ? other : found->of;
}

CharClass computed_class(char32_t c) {
  if (is_whitespace(c)) return space;
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return upper;
    case UTF8PROC_CATEGORY_LL:
      return lower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return caseless;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return mark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return number;
    case UTF8PROC_CATEGORY_CN:
      return new_class(c);
    default:
      return other;
  }
}

constexpr std::array<CharClass, 128> ascii_classes() {
  std::array<CharClass, 128> table{};
  for (size_t c = 0; c < table.size(); ++c)
    table[c] = c == ' ' || (c >= '\t' && c <= '\r') ? space
               : c >= 'A' && c <= 'Z'               ? upper
               : c >= 'a' && c <= 'z'               ? lower
               : c >= '0' && c <= '9'               ? number
                                                    : other;
  return table;
}
constexpr std::array<CharClass, 128> kAsciiClasses = ascii_classes();

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

int combining_class(char32_t c) {
  if (c < 0x300 || contains(kNoCombiningClass, c)) return 0;
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

void append_decomposition(std::u32string& out, char32_t c, bool compatibility) {
  constexpr char32_t kFirstDecomposable = 0xa0;
  if (c < kFirstDecomposable || c == kNoDecomposition || (compatibility && contains(kNoCompatibility, c))) {
    out += c;
    return;
  }
  utf8proc_int32_t parts[32];  // the longest decomposition, of U+FDFA, has 18 code points
  int boundary = UTF8PROC_BOUNDCLASS_START;
  const int how = UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0);
  const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, std::ssize(parts),
                                         static_cast<utf8proc_option_t>(how), &boundary);
  for (utf8proc_ssize_t i = 0; i < n; ++i) out += static_cast<char32_t>(parts[i]);
}

char32_t composition(char32_t first, char32_t second) {
  if (second < 0x300) return 0;
  utf8proc_int32_t both[3] = {static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second), 0};
  const auto n = utf8proc_normalize_utf32(both, 2, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  return n == 1 && both[0] != static_cast<utf8proc_int32_t>(kNoDecomposition) ? static_cast<char32_t>(both[0]) : 0;
}

bool is_inert(char32_t c) {
  if (c < 0xa0) return false;  // letters take accents
  const bool is_jamo = c >= 0x1100 && c < 0x1200, is_syllable = c >= 0xac00 && c < 0xd7a4;
  if (is_jamo || is_syllable) return false;
  const utf8proc_property_t* p = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
  constexpr uint16_t kNone = UINT16_MAX;
  return p->combining_class == 0 && p->decomp_seqindex == kNone && p->comb_index == kNone;
}

bool is_grapheme_break(char32_t first, char32_t second, int& state) {
  return utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second),
                                          &state);
}

bool is_combining_mark(char32_t c) {
  if (c < 0x300) return false;
  const auto category = category_of(c);
  const bool now = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
  return now ? !contains(kNoAccent, c) : contains(kFormerAccent, c);
}

CharClass class_of(char32_t c) { return c < 0x80 ? kAsciiClasses[c] : computed_class(c); }

bool is_numeric(char32_t c) { return class_of(c) == number || contains(kNewNumbers, c); }

bool is_word_character(char32_t c) {
  if (c < 0x80) return c == '_' || is_letter(class_of(c)) || class_of(c) == number;
  constexpr Range kCircledLetters[] = {{0x24b6, 0x24e9}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};
  if (c == 0x200c || c == 0x200d || contains(kCircledLetters, c)) return true;
  const auto category = category_of(c);
  if (category == UTF8PROC_CATEGORY_PC) return true;
  const CharClass of = class_of(c);
  return is_letter(of) || of == mark || (of == number && category != UTF8PROC_CATEGORY_NO);
}

// Decompose each character, then sort every run of combining characters by class, equal ones in place (UAX 15).
std::u32string canonical_decomposition(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size() + text.size() / 4);
  for (char32_t c : text) append_decomposition(out, c, false);
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
