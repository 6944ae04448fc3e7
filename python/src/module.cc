// hone._hone: the classes and functions of include/hone in Python. The package hone around it is what one imports.
#include "bind.h"

NB_MODULE(_hone, m) {
  using namespace hone::python;
  m.doc() = "The library hone. Import `hone`, which has all of this.";
  bind_errors(m);
  bind_tensor(m);
  bind_structs(m);
  bind_formats(m);
  bind_graph(m);
  bind_model(m);
  bind_session(m);
  bind_tasks(m);
  bind_process(m);
}
