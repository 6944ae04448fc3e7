// hone.Session: a model made ready to run, called with arrays of NumPy or torch.
#include <hone/session.h>

#include "arrays.h"
#include "bind.h"
#include "calls.h"
#include "options.h"

namespace hone::python {
namespace {

// A session, with what each call would otherwise ask it for.
struct Runner {
  Session session;
  std::vector<Port> inputs;
  std::vector<std::string> outputs;
  bool keeps_state;                // which lies in contexts
  std::vector<Context> free = {};  // memory for runs, one run each at a time
};

bool keeps_state(const Graph& graph) {
  for (const ValueId id : graph.inputs())
    if (graph.value(id).role == InputRole::state) return true;
  return false;
}

Runner runner_of(Session session) {
  Runner made{session, session.inputs(), {}, keeps_state(session.graph())};
  for (const Port& port : session.outputs()) made.outputs.push_back(port.name);
  return made;
}

template <class Source>
Runner compiled(const Source& source, const OptionDict& options) {
  const auto made = options_of<SessionOptions>(options);
  const Call call;
  return runner_of(Session(source, made));
}

// The context of one run: the caller's, or one of those that lie ready. One that a run with state has used is not used
// again.
class Lease {
 public:
  Lease(Runner& runner, const Context* own)
      : runner_(runner), is_own_(own != nullptr), context_(own ? *own : ready(runner)) {}
  ~Lease() {
    if (!is_own_ && !runner_.keeps_state) runner_.free.push_back(std::move(context_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Context& context() { return context_; }

 private:
  static Context ready(Runner& runner) {
    if (runner.free.empty()) return Context();
    Context context = std::move(runner.free.back());
    runner.free.pop_back();
    return context;
  }

  Runner& runner_;
  bool is_own_;
  Context context_;
};

const Port* port_named(const Runner& runner, const std::string& name) {
  for (const Port& port : runner.inputs)
    if (port.name == name) return &port;
  return nullptr;  // the run says what there is instead
}

// Inputs of a run, and whose arrays they are: those of the first that is no list.
struct Given {
  NamedTensors tensors;
  std::optional<ArrayKind> kind;

  void add(const Runner& runner, const std::string& name, nb::handle array) {
    const bool is_list = PyList_Check(array.ptr()) || PyTuple_Check(array.ptr()) || PyLong_Check(array.ptr()) ||
                         PyFloat_Check(array.ptr());
    const Port* port = port_named(runner, name);
    const std::optional<DType> dtype = is_list && port ? std::optional(port->dtype) : std::nullopt;
    if (!is_list && !kind) kind = kind_of(array);
    tensors.insert_or_assign(name, tensor_of(array, "input " + name, dtype));
  }
};

// An empty hone.Outputs: a dict whose items are attributes, too.
nb::object empty_outputs() {
  static PyObject* const outputs_class =
      nb::object(nb::module_::import_("hone._outputs").attr("Outputs")).release().ptr();
  return nb::handle(outputs_class)();
}

nb::object run(Runner& runner, const Given& given, Context* own, const nb::object& into) {
  NamedTensors targets;
  const nb::dict given_outputs = into.is_none() ? nb::dict() : named(into);
  for (const auto [name, array] : given_outputs) {
    const auto key = nb::cast<std::string>(name);
    targets.emplace(key, tensor_of(array, "output " + key));
  }
  NamedTensors results;
  {
    Lease lease(runner, own);
    const Call call(&lease.context());
    results = runner.session.run(lease.context(), given.tensors, std::move(targets));
  }
  const ArrayKind kind = given.kind.value_or(ArrayKind::numpy);
  nb::object outputs = empty_outputs();
  for (const std::string& name : runner.outputs) {
    const nb::str key(name.c_str(), name.size());
    if (given_outputs.contains(key)) {
      outputs[key] = given_outputs[key];
      continue;
    }
    const auto found = results.find(name);
    Tensor tensor = std::move(found->second);
    results.erase(found);
    outputs[key] = array_of(std::move(tensor), kind);
  }
  return outputs;
}

nb::object run_named(Runner& runner, const nb::object& inputs, Context* context, const nb::object& outputs) {
  Given given;
  for (const auto [name, array] : named(inputs)) given.add(runner, nb::cast<std::string>(name), array);
  return run(runner, given, context, outputs);
}

nb::object call(Runner& runner, const nb::args& arrays, const nb::kwargs& by_name) {
  if (arrays.size() > runner.inputs.size())
    throw nb::type_error(("the session takes " + std::to_string(runner.inputs.size()) + " inputs, and " +
                          std::to_string(arrays.size()) + " are given")
                             .c_str());
  Given given;
  for (size_t i = 0; i < arrays.size(); ++i) given.add(runner, runner.inputs[i].name, arrays[i]);
  for (const auto [name, array] : by_name) {
    const auto key = nb::cast<std::string>(name);
    if (given.tensors.contains(key)) throw nb::type_error(("input " + key + " is given twice").c_str());
    given.add(runner, key, array);
  }
  return run(runner, given, nullptr, nb::none());
}

std::string repr(const Runner& runner) {
  std::string text = "<hone.Session";
  for (const Port& port : runner.inputs)
    text += (&port == runner.inputs.data() ? " " : ", ") + port.name + ": " + port.type;
  text += " →";
  for (const Port& port : runner.session.outputs()) text += " " + port.name + ": " + port.type;
  return text + ">";
}

}  // namespace

void bind_session(nb::module_& m) {
  nb::class_<Context>(m, "Context",
                      "Memory of its own for one run at a time, the handle by which another thread ends that run, and "
                      "the state that one run leaves for the next.")
      .def(nb::init<>())
      .def("cancel", &Context::cancel, "The run under way ends and throws Cancelled; a later one works.")
      .def(
          "set_state",
          [](Context& c, const std::string& name, ArrayLike a) {
            c.set_state(name, tensor_of(a.array, "state " + name));
          },
          nb::arg("name"), nb::arg("value"), "State by the name that graphs give it. Error while a run is under way.")
      .def("state", &Context::state, nb::arg("name"), "State by its name; Error where there is none.")
      .def("clear_state", &Context::clear_state, "Forgets all state.");
  nb::class_<Runner>(
      m, "Session", nb::dynamic_attr(),
      "A compiled model. Sizes that the model leaves open are those of the inputs of each run. Any number "
      "of threads may call it at once.")
      .def_prop_ro(
          "inputs", [](const Runner& r) { return r.inputs; }, "What each run is given.")
      .def_prop_ro(
          "outputs", [](const Runner& r) { return r.session.outputs(); }, "What each run gives.")
      .def("run", run_named, nb::arg("inputs"), nb::arg("context") = nb::none(), nb::arg("outputs") = nb::none(),
           nb::sig(
               "def run(self, inputs: collections.abc.Mapping[str, hone.typing.ArrayLike], context: Context | None = "
               "None, "
               "outputs: collections.abc.Mapping[str, hone.typing.ArrayLike] | None = None) -> hone._outputs.Outputs"),
           "One run: arrays by name in, arrays of the same library out, none copied. `outputs` are arrays that results "
           "are written into. Error that names the input for a missing, unknown or unfitting one.")
      .def("__call__", call,
           nb::sig("def __call__(self, *inputs: hone.typing.ArrayLike, **named: hone.typing.ArrayLike) -> "
                   "hone._outputs.Outputs"),
           "run() with inputs in order, or by name.")
      .def(
          "prepare",
          [](Runner& r, const std::map<std::string, int64_t>& sizes) {
            const Call call;
            r.session.prepare(sizes);
          },
          nb::arg("sizes"), "Makes runs of these sizes, by symbol, ready ahead of the first.")
      .def_prop_ro(
          "parameter_names", [](const Runner& r) { return r.session.parameter_names(); }, "Of what the session owns.")
      .def(
          "parameter", [](const Runner& r, const std::string& name) { return r.session.parameter(name); },
          nb::arg("name"), "The value of a parameter.")
      .def(
          "set_parameters",
          [](Runner& r, const nb::object& values) {
            NamedTensors all;
            for (const auto [name, array] : named(values)) {
              const auto key = nb::cast<std::string>(name);
              all.emplace(key, tensor_of(array, "parameter " + key));
            }
            const Call call;
            r.session.set_parameters(all);
          },
          nb::arg("values"),
          nb::sig("def set_parameters(self, values: collections.abc.Mapping[str, hone.typing.ArrayLike]) -> None"),
          "New values by name. Error, and no change, for unknown names and other types.")
      .def(
          "close", [](Runner& r) { r.session.close(); }, nb::call_guard<nb::gil_scoped_release>(),
          "Refuses new runs, cancels those under way and returns when they have ended.")
      .def_prop_ro(
          "graph", [](const Runner& r) { return r.session.graph(); }, "As it runs: after the passes.")
      .def_prop_ro(
          "statistics", [](const Runner& r) { return r.session.statistics(); }, "Up to now.")
      .def("__repr__", repr);
  m.def("_compile", compiled<Model>, nb::arg("model"), nb::arg("options"));
  m.def("_compile", compiled<Graph>, nb::arg("graph"), nb::arg("options"));
  m.def("list_devices", &list_devices, "Devices that this library has, whether they are there or not.");
}

}  // namespace hone::python
