#include "runtime/state_loan.h"

#include "base/error.h"

namespace hone {
namespace {

void add_states(const HeldValues& held, const std::map<std::string, HeldTensor>& state,
                std::map<std::string, Tensor>& inputs) {
  LostValues lost;
  for (const auto& [name, initial] : held.states) {
    const auto found = state.find(name);
    if (found == state.end() && !initial)
      fail(
          "state \"{}\" is read before it is set; Context::set_state() sets it, and a run without a context takes it "
          "with its inputs",
          name);
    if (found != state.end()) lost.look_at(name, found->second);
    inputs.insert_or_assign(name, found == state.end() ? *initial : found->second.value());
  }
  lost.refuse("this state is", "Context::set_state() sets it, and clear_state() lets all of it begin anew");
}

}  // namespace

// The other constructor's end is the beginning of the loan: where this one throws, it is given back.
StateLoan::StateLoan(const HeldValues& held, std::map<std::string, HeldTensor>& state,
                     std::map<std::string, Tensor>& inputs)
    : StateLoan(state, inputs) {
  add_states(held, state, inputs);
  lent_.reserve(held.updates.size());
  for (const HeldValues::Update& update : held.updates)
    if (update.role == InputRole::state) lend(update.name);
}

void StateLoan::lend(const std::string& name) {
  const auto [place, is_new] = state_.try_emplace(name);
  lent_.push_back({&*place, is_new});
  place->second.lend();
}

StateLoan::~StateLoan() {
  for (const Lent& lent : lent_) {
    if (lent.is_set) continue;
    if (lent.is_new) state_.erase(lent.place->first);
    else lent.place->second.take_back(inputs_, lent.place->first);
  }
}

void StateLoan::set(const std::string& name, HeldTensor value) noexcept {
  for (Lent& lent : lent_)
    if (lent.place->first == name) {
      lent.place->second = std::move(value);
      lent.is_set = true;
      return;
    }
}

}  // namespace hone
