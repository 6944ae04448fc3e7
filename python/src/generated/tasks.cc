// Written by generate_api from the tables of options.
#include <hone/bench.h>
#include <hone/evaluate.h>
#include <hone/quantize.h>
#include <hone/train.h>

#include "tasks.h"

namespace hone::python {

void bind_tasks(nb::module_& m) {
  add_task(m, "_bench", api::bench);
  add_task(m, "_evaluate", api::evaluate);
  add_task(m, "_quantize", api::quantize);
  add_task(m, "_train", api::train);
}

}  // namespace hone::python
