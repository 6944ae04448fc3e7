// The launches of a run, as a queue has prepared them for the runs to come.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"

namespace hone {

struct RunPlan;
struct StepCalls;
class RunWeights;

// Steps of a run that follow each other on its device: the host has nothing to do between them.
struct Stretch {
  size_t begin, end;
};
// Those with more than one launch, in order. From the first step on that writes over what it updates, another begins.
std::vector<Stretch> stretches_of(const RunPlan& plan, const StepCalls& calls, const RunWeights& weights);

// Owns what the queue looks at, but for scratch memory. The queue must outlive it, and nothing of it be under way when
// it goes.
class Recording {
 public:
  // `args`: of the steps of a run that is bound. `compiler`: whose code is launched; contexts may outlive sessions.
  Recording(std::span<const Stretch> stretches, const StepCalls& calls, std::span<const KernelArgs> args,
            std::span<std::byte* const> scratch, std::shared_ptr<const Compiler> compiler, Queue& queue);

  class Steps : public Stretch {
   public:
    Steps(const Stretch& stretch, const StepCalls& calls, std::span<const KernelArgs> args,
          std::span<std::byte* const> scratch, Queue& queue);
    void run(std::span<const KernelArgs> args, Queue& queue);  // all of them, with the pointers of this run

   private:
    struct Launched {
      size_t step;
      KernelArgs args;  // as the queue knows them
      Launch call;
      std::string name;  // of the call
    };
    std::vector<Launched> launches_;
    std::vector<size_t> changed_;     // of them, in this run
    std::unique_ptr<Replay> replay_;  // last: it looks at the others
  };
  std::span<Steps> stretches() { return stretches_; }

 private:
  const std::shared_ptr<const Compiler> compiler_;
  std::vector<Steps> stretches_;
};

}  // namespace hone
