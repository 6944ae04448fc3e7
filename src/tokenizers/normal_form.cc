#include "tokenizers/normal_form.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

// A character, and how it stands to those that it was made of (Rewriter::put).
struct Made {
  char32_t c;
  int change;
  int combining;
};

void decompose(char32_t c, bool compatibility, std::u32string& scratch, std::vector<Made>& out) {
  scratch.clear();
  append_decomposition(scratch, c, compatibility);
  for (size_t i = 0; i < scratch.size(); ++i) out.push_back({scratch[i], i > 0, combining_class(scratch[i])});
}

// Runs of combining characters by class, equal ones in place.
void sort_marks(std::vector<Made>& made) {
  const auto is_mark = [](const Made& m) { return m.combining != 0; };
  for (auto begin = made.begin(); (begin = std::find_if(begin, made.end(), is_mark)) != made.end();) {
    const auto end = std::find_if_not(begin, made.end(), is_mark);
    std::stable_sort(begin, end, [](const Made& a, const Made& b) { return a.combining < b.combining; });
    begin = end;
  }
}

// A character joins the last starter unless one between them has its class or a higher one.
void compose(std::vector<Made>& made) {
  size_t kept = 0, starter = made.size();  // made.size(): none yet
  int last_class = -1;                     // of what stands behind the starter; -1: nothing
  for (const Made& m : made) {
    const bool is_near = starter < made.size() && (last_class < 0 || last_class < m.combining);
    if (const char32_t c = is_near ? composition(made[starter].c, m.c) : 0) {
      made[starter] = {c, made[starter].change + m.change - 1, made[starter].combining};
      continue;
    }
    if (m.combining == 0) starter = kept, last_class = -1;
    else last_class = m.combining;
    made[kept++] = m;
  }
  made.resize(kept);
}

}  // namespace

void normalise(AlignedText& text, NormalForm form) {
  // What is below the first character that any form changes stays as it is: accents begin at U+0300, compatibility at
  // U+00A0.
  const char32_t first = form.composed && !form.compatibility ? 0x300 : form.compatibility ? 0xa0 : 0xc0;
  const std::string_view source = text.text;
  const auto is_low = [&](size_t at) { return next_code_point(source, at) < first; };
  size_t done = 0;
  while (done < source.size() && is_low(done)) done += utf8_length(source[done]);
  if (done == source.size()) return;

  Rewriter out(text);
  std::u32string scratch;
  std::vector<Made> made;
  // Characters up to a boundary that no mark or composition crosses are one stretch: before an ASCII character or an
  // inert one. An ASCII character may take the marks behind it.
  for (size_t at = 0; at < source.size();) {
    size_t end = at;
    const char32_t c = next_code_point(source, end);
    const bool is_alone = end == source.size() || is_low(end);
    if ((c < first && is_alone) || is_inert(c)) {
      out.copy(end - at);
      at = end;
      continue;
    }
    made.clear();
    decompose(c, form.compatibility, scratch, made);
    while (end < source.size()) {
      size_t next = end;
      const char32_t d = next_code_point(source, next);
      if (d < first || is_inert(d)) break;
      decompose(d, form.compatibility, scratch, made);
      end = next;
    }
    sort_marks(made);
    if (form.composed) compose(made);
    for (const Made& m : made) out.put(m.c, m.change);
    at = end;
  }
  out.finish();
}

}  // namespace hone
