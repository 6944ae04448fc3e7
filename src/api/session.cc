#include <hone/session.h>

#include "api/by_names.h"
#include "api/graphs.h"
#include "api/guarded.h"
#include "api/models.h"
#include "api/option_tables.h"
#include "api/values.h"
#include "device/registry.h"
#include "jobs/open_session.h"
#include "runtime/context.h"

namespace hone::api {

struct Context::Impl {
  hone::Context context;
};
struct Session::Impl {
  hone::Session session;
};

Context::Context() : impl_(std::make_shared<Impl>()) {}
void Context::cancel() noexcept { impl_->context.cancel(); }
void Context::set_state(const std::string& name, const Tensor& value) {
  guarded([&] { impl_->context.set_state(name, engine(value)); });
}
Tensor Context::state(const std::string& name) const {
  return guarded([&] { return wrapped(impl_->context.state(name)); });
}
void Context::clear_state() {
  guarded([&] { impl_->context.clear_state(); });
}

namespace {

Port port(const std::string& name, const TensorType& type) {
  Port port{name, hone::to_string(type), wrapped(type.dtype), {}};
  for (const Dim& dim : type.shape) port.shape.push_back(dim.to_string());
  return port;
}

NamedTensors named(const std::vector<std::string>& names, std::vector<hone::Tensor> tensors,
                   const NamedTensors& given) {
  NamedTensors outputs;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto own = given.find(names[i]);
    outputs.emplace(names[i], own != given.end() ? own->second : wrapped(std::move(tensors[i])));
  }
  return outputs;
}

}  // namespace

Session::Session(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(const Model& model, const SessionOptions& options)
    : Session(session_by_names(model, guarded([&] { return given(options); }))) {}
Session::Session(const Graph& graph, const SessionOptions& options) : Session(Model(graph), options) {}

Session session_by_names(const Model& model, const GivenOptions& given) {
  return guarded([&] {
    return Session(std::make_shared<Session::Impl>(
        Session::Impl{open_session(engine(model), options_of<SessionFlags>(given).session())}));
  });
}

std::vector<Port> Session::inputs() const {
  std::vector<Port> all;
  const hone::Graph& graph = impl_->session.graph();
  for (const hone::ValueId v : graph.arguments()) all.push_back(port(graph.value(v).label, graph.type(v)));
  return all;
}
std::vector<Port> Session::outputs() const {
  std::vector<Port> all;
  const hone::Graph& graph = impl_->session.graph();
  for (const Output& output : graph.outputs())
    if (output.updates == kNone) all.push_back(port(output.label, graph.type(output.value)));
  return all;
}

NamedTensors Session::run(const NamedTensors& inputs) {
  return guarded([&] {
    RunInputs given = run_inputs(inputs);
    if (given.views.empty())  // in memory that the session keeps
      return named(impl_->session.output_names(), impl_->session.run(given.tensors), {});
    Context context;
    return run(context, inputs);
  });
}
NamedTensors Session::run(Context& context, const NamedTensors& inputs) { return run(context, inputs, {}); }

NamedTensors Session::run(Context& context, const NamedTensors& inputs, NamedTensors outputs) {
  return guarded([&] {
    const RunInputs given = run_inputs(inputs);
    const OutputViews views = output_views(outputs);
    std::vector<hone::Tensor> results = impl_->session.run(context.impl()->context, given.tensors, given.views, views);
    return named(impl_->session.output_names(), std::move(results), outputs);
  });
}

void Session::prepare(const std::map<std::string, int64_t>& sizes) {
  guarded([&] { impl_->session.prepare(sizes); });
}

std::vector<std::string> Session::parameter_names() const { return impl_->session.parameter_names(); }
Tensor Session::parameter(const std::string& name) const {
  return guarded([&] { return wrapped(impl_->session.parameter(name)); });
}
void Session::set_parameters(const NamedTensors& values) {
  guarded([&] {
    hone::NamedTensors all;
    for (const auto& [name, value] : values) all.emplace(name, copied(value));
    impl_->session.set_parameters(all);
  });
}

void Session::close() { impl_->session.close(); }
Graph Session::graph() const { return wrapped(impl_->session.graph()); }

SessionStatistics Session::statistics() const {
  return guarded([&] {
    const hone::SessionStatistics s = impl_->session.statistics();
    return SessionStatistics{.prepare_ms = s.prepare_milliseconds,
                             .specialise_ms = s.specialise_milliseconds,
                             .compile_ms = s.compile_milliseconds,
                             .prepack_ms = s.prepack_milliseconds,
                             .kernels_compiled = s.kernels_compiled,
                             .kernels_cached = s.kernels_cached,
                             .prepacked_bytes = s.prepacked_bytes,
                             .direct_weight_bytes = s.direct_weight_bytes,
                             .arena_bytes = s.arena_bytes,
                             .scratch_bytes = s.scratch_bytes,
                             .output_bytes = s.output_bytes,
                             .notes = s.notes()};
  });
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> all;
  for (const DeviceDef* def : device::all()) all.push_back({def->name, def->doc, def->variants});
  return all;
}

}  // namespace hone::api
