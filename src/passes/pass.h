// A pass turns a graph into a graph: pure, named, individually disabled (--no-pass=), printable after (--print-after=).
#pragma once

#include <array>
#include <span>
#include <utility>

#include "ir/graph.h"
#include "ir/packer.h"
#include "ir/statistics.h"
#include "passes/pass_options.h"

namespace hone {

// What a pass may look at besides the graph. Statistics and the exact graph come with passes that say they need them;
// without a packer constants are packed by the reference.
struct PassContext {
  PassOptions options = {};
  const Statistics* statistics = nullptr;
  const Packer* packer = nullptr;
  std::span<const ObservedInput> observed = {};  // of the graph that is given to the pass quantize
  const Graph* exact = nullptr;  // with the weights as they were before they were rounded, and the same labels
};

// What a pass does, and the options that it takes: all that its function states, and no others.
class PassFunction {
 public:
  using Function = Graph(Graph, const PassContext&);
  constexpr PassFunction(Function* function) : function_(function) {}  // NOLINT: one that takes no options
  constexpr PassFunction(Function* function, std::span<const OptionTable* const> options)
      : function_(function), options_(options) {}

  Graph operator()(Graph graph, const PassContext& context) const { return function_(std::move(graph), context); }
  std::span<const OptionTable* const> options() const { return options_; }

 private:
  Function* function_;
  std::span<const OptionTable* const> options_;
};

namespace detail {
template <auto function>
struct WithOptions;
template <OptionsOfPass... Options, Graph (*function)(Graph, const PassContext&, const Options&...)>
struct WithOptions<function> {
  static constexpr std::array<const OptionTable*, sizeof...(Options)> kTables{&option_table<Options>...};
  static Graph run(Graph graph, const PassContext& context) {
    return function(std::move(graph), context, context.options.get<Options>()...);
  }
};
}  // namespace detail

//   Graph smooth_quant(Graph graph, const PassContext& context, const SmoothQuantOptions& options);
//   extern constinit const PassDef smooth_quant_def{…, .run = with_options<smooth_quant>};
template <auto function>
inline constexpr PassFunction with_options{&detail::WithOptions<function>::run, detail::WithOptions<function>::kTables};

struct PassDef {
  const char* name;
  const char* doc;
  PassFunction run;
};

}  // namespace hone
