#include "runtime/parameters.h"

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr std::string_view kRemedy = "Session::set_parameters() sets them";

}  // namespace

Parameters::Parameters(const Graph& graph) {
  for (ValueId id : graph.inputs())
    if (const Value& input = graph.value(id); input.role == InputRole::parameter)
      held_[input.label] = {HeldTensor(*input.initial), input.type};
}

void Parameters::check_same(const Graph& graph) const {
  const Parameters others(graph);
  for (const auto& [name, held] : others.held_)
    if (const auto own = held_.find(name); own == held_.end() || own->second.type != held.type)
      fail("parameter \"{}\" ({}) is none of the session's whose parameters are shared{}", name, to_string(held.type),
           own == held_.end() ? did_you_mean(name, names()) : ", where it is " + to_string(own->second.type));
  for (const auto& [name, held] : held_)
    if (!others.has(name)) fail("parameters are shared with a session that has \"{}\", which this model lacks", name);
}

std::vector<std::string> Parameters::names() const {
  std::vector<std::string> names;
  for (const auto& [name, held] : held_) names.push_back(name);
  return names;
}

const Parameters::Held& Parameters::held(const std::string& name) const {
  const auto found = held_.find(name);
  if (found != held_.end()) return found->second;
  fail("the model has no parameter \"{}\"{}", name, did_you_mean(name, names()));
}

Tensor Parameters::get(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const HeldTensor& own = held(name).held;
  LostValues lost;
  lost.look_at(name, own);
  lost.refuse("this parameter is", kRemedy);
  return own.value().on_host();
}

int64_t Parameters::version(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return held(name).version;
}

void Parameters::set(const std::map<std::string, Tensor>& values) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, value] : values)
    if (const TensorType& type = held(name).type; value.type() != type)
      fail("parameter \"{}\" is {}; it can't become {}", name, to_string(type), to_string(value.type()));
  for (const auto& [name, value] : values) {
    Held& changed = held_.at(name);
    changed.held = HeldTensor(value);
    ++changed.version;
  }
}

void Parameters::add_all_to(std::map<std::string, Tensor>& inputs) const {
  LostValues lost;
  for (const auto& [name, each] : held_) {
    lost.look_at(name, each.held);
    inputs.insert_or_assign(name, each.held.value());
  }
  lost.refuse("these parameters are", kRemedy);
}

void Parameters::add_to(std::map<std::string, Tensor>& inputs) const {
  const std::lock_guard lock(mutex_);
  add_all_to(inputs);
}

Parameters::Loan::Loan(Parameters& parameters, std::map<std::string, Tensor>& inputs,
                       std::span<const std::string> changing)
    : lock_(parameters.mutex_), parameters_(parameters), inputs_(inputs), changing_(changing) {
  parameters.add_all_to(inputs);
  for (const std::string& name : changing) {
    Held& lent = parameters.held_.at(name);
    lent.held.lend();
    lent.lent = true;
  }
}

Parameters::Loan::~Loan() {
  for (const std::string& name : changing_)
    if (Held& held = parameters_.held_.at(name); held.lent) held.held.take_back(inputs_, name), held.lent = false;
}

void Parameters::Loan::set(const std::string& name, HeldTensor value) noexcept {
  Held& held = parameters_.held_.at(name);
  held.held = std::move(value);
  held.lent = false;
  ++held.version;
}

}  // namespace hone
