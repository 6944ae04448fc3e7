// State that is lent to one run, which alone looks at its bytes then, unless someone did before.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/held_tensor.h"
#include "runtime/held_values.h"

namespace hone {

class StateLoan {
 public:
  // Adds what the graph reads to `inputs`. `state`: a context's, or that of one run. Throws Error for state that was
  // never set or that is lost.
  StateLoan(const HeldValues& held, std::map<std::string, HeldTensor>& state, std::map<std::string, Tensor>& inputs);
  // What was not set is again what it was; what is no longer in `inputs` is lost.
  ~StateLoan();
  StateLoan(const StateLoan&) = delete;
  StateLoan& operator=(const StateLoan&) = delete;

  void set(const std::string& name, HeldTensor value) noexcept;

 private:
  StateLoan(std::map<std::string, HeldTensor>& state, std::map<std::string, Tensor>& inputs)
      : state_(state), inputs_(inputs) {}
  void lend(const std::string& name);

  struct Lent {
    std::pair<const std::string, HeldTensor>* place;
    bool is_new, is_set = false;
  };
  std::map<std::string, HeldTensor>& state_;
  std::map<std::string, Tensor>& inputs_;
  std::vector<Lent> lent_;
};

}  // namespace hone
