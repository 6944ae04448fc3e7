// Written by generate_api from the tables of options.
#include <hone/quantize.h>

#include "tasks.h"

namespace hone::python {

void bind_tasks(nb::module_& m) {
  add_task(m, "_quantize", api::quantize);
}

}  // namespace hone::python
