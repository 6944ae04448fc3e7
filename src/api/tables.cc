// The tables of operations and passes.
#include "api/graphs.h"
#include "api/guarded.h"
#include "base/registry.h"
#include "base/text.h"
#include "ir/node_rules.h"
#include "jobs/passes.h"
#include "ops/registry.h"

namespace hone::api {
namespace {

OpInfo described(const OpDef& op) {
  OpInfo info{.name = op.name, .doc = op.doc, .results = op.results, .bodies = op.bodies};
  info.pointwise = op.pointwise != nullptr;
  for (const OperandSpec& spec : op.operands)
    info.operands.push_back({spec.name, static_cast<OperandCount>(spec.count), spec.factor, spec.argument, spec.weight,
                             spec.bias, spec.indices});
  for (const AttributeSpec& spec : op.attributes)
    info.attributes.push_back({spec.name, std::string(hone::to_string(spec.kind)), spec.required, spec.doc});
  return info;
}

static_assert(static_cast<int>(OperandCount::any_number) == static_cast<int>(OperandSpec::Count::any_number));

}  // namespace

const OpDef& op_named(const std::string& name) {
  if (const OpDef* op = ops::find(name)) return *op;
  fail("no operation is called \"{}\"{}", name, did_you_mean(name, names_of<OpDef>(ops::all())));
}

std::vector<OpInfo> list_ops() {
  std::vector<OpInfo> all;
  for (const OpDef* op : ops::all()) all.push_back(described(*op));
  return all;
}

OpInfo op_info(const std::string& name) {
  return guarded([&] { return described(op_named(name)); });
}

std::vector<PassInfo> list_passes() {
  std::vector<PassInfo> all;
  for (const ListedPass& pass : hone::list_passes()) {
    PassInfo& info = all.emplace_back(PassInfo{pass.name, pass.doc, {}});
    for (const hone::OptionInfo& option : pass.options)
      info.options.push_back(
          {option.name, option.doc, hone::to_string(option.kind), option.default_text, option.required});
  }
  return all;
}

}  // namespace hone::api
