#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/log.h"
#include "cli/flags.h"
#include "cli/verb.h"
#include "report/graph_dot.h"
#include "report/graph_drawing.h"

namespace hone {
namespace {

struct DrawVerb : ModelFlags {
  std::string output;
  bool every_layer = false;
  static std::span<const OptionField<DrawVerb>> fields();
};

constexpr OptionField<DrawVerb> kOwn[] = {
    required_flag("output", "File to write: .svg (drawn by Graphviz) or .dot", &DrawVerb::output,
                  {.file = OptionFile::writes, .letter = 'o'}),
    flag("every-layer", "Draw repeated layers one by one instead of once", &DrawVerb::every_layer)};

std::span<const OptionField<DrawVerb>> DrawVerb::fields() {
  static const auto all = joined_fields<DrawVerb>(ModelFlags::fields(), kOwn);
  return all;
}

int run(DrawVerb& verb) {
  const bool svg = verb.output.ends_with(".svg");
  if (!svg && !verb.output.ends_with(".dot")) fail("{}: the name must end in .svg or .dot", verb.output);
  files_of(verb).check();
  const Model model = verb.load();
  const DotOptions options{.fold_repeats = !verb.every_layer};
  if (!svg) {
    write_file(verb.output, to_dot(model.graph, options));
    return 0;
  }
  const DrawnGraph drawn = draw_graph(model.graph, options);
  write_file(verb.output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + drawn.svg + "\n");
  if (!drawn.note.empty()) log(LogLevel::note, fmt::format("{}: {}", verb.output, drawn.note));
  return 0;
}

constexpr Verb<DrawVerb> kVerb{
    .name = "draw",
    .task = VerbTask::look,
    .summary = "Draw a model's graph; one of thousands of nodes in blocks, as SVG",
    .examples = "  hone draw all-MiniLM-L6-v2 -o graph.svg\n  hone draw folder --inputs input_ids -o graph.dot",
    .run = run,
    .inspects = true};

}  // namespace

extern constinit const VerbDef draw_verb_def = verb_def<kVerb>();

}  // namespace hone
