// Written by generate_api from the tables of options.
#include <hone/allocate.h>
#include <hone/bench.h>
#include <hone/evaluate.h>
#include <hone/prune.h>
#include <hone/quantize.h>
#include <hone/sweep.h>
#include <hone/train.h>

#include "tasks.h"

namespace hone::python {

void bind_tasks(nb::module_& m) {
  add_task(m, "_allocate", api::allocate);
  add_task(m, "_bench", api::bench);
  add_task(m, "_evaluate", api::evaluate);
  add_task(m, "_prune", api::prune);
  add_task(m, "_quantize", api::quantize);
  add_task(m, "_sweep", api::sweep);
  add_task(m, "_train", api::train);
}

}  // namespace hone::python
