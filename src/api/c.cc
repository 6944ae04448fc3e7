// The C functions of hone/hone.h, over the classes of include/hone.
#include <hone/hone.h>

#include <new>
#include <optional>

#include "api/by_names.h"
#include "api/guarded.h"
#include "api/handles.h"
#include "base/error.h"

namespace hone::api {
namespace {

Handles& handles() {
  static auto* const all = new Handles;  // never destroyed: other threads may still call when the process ends
  return *all;
}

thread_local std::string error_text, result_text;

hone_status failed(hone_status status, const char* text) noexcept {
  try {
    error_text = text;
  } catch (...) {
    error_text.clear();
  }
  return status;
}

// No exception leaves a function of C.
template <class Function>
hone_status status_of(Function&& function) noexcept {
  try {
    guarded(function);
    return HONE_OK;
  } catch (const Cancelled& cancelled) {
    return failed(HONE_CANCELLED, cancelled.what());
  } catch (const Error& error) {
    return failed(HONE_REFUSED, error.what());
  } catch (const std::bad_alloc&) {
    return failed(HONE_REFUSED, "the system has no more memory");
  } catch (const std::exception& error) {
    return failed(HONE_BUG, error.what());
  } catch (...) {
    return failed(HONE_BUG, "an exception of unknown type");
  }
}

template <class T>
T* required(T* pointer, const char* what) {
  if (!pointer) hone::fail("{} is a null pointer", what);
  return pointer;
}

GivenOptions given_by(const hone_option* options, size_t count) {
  GivenOptions all;
  if (count > 0) required(options, "options");
  for (size_t i = 0; i < count; ++i)
    all.emplace_back(required(options[i].name, "the name of an option"),
                     std::vector<std::string>{required(options[i].value, "the value of an option")});
  return all;
}

const Port& port_at(const std::vector<Port>& ports, size_t index) {
  if (index >= ports.size()) hone::fail("port {}: there are {}", index, ports.size());
  return ports[index];
}

// The caller's array for the time of a call.
Tensor borrowed(const hone_input& input) {
  required(input.name, "the name of an input");
  DLManagedTensorVersioned array{};
  array.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  array.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  array.dl_tensor = *required(input.array, input.name);
  // The struct is of this call alone; what is made of it holds copies of sizes and strides.
  auto owned = std::make_unique<DLManagedTensorVersioned>(array);
  owned->deleter = [](DLManagedTensorVersioned* self) { delete self; };
  Tensor tensor = Tensor::from_dlpack(owned.get());
  static_cast<void>(owned.release());
  return tensor;
}

NamedTensors run(Session& session, Context* context, const hone_input* inputs, size_t count) {
  if (count > 0) required(inputs, "inputs");
  NamedTensors given;
  for (size_t i = 0; i < count; ++i)
    if (!given.emplace(required(inputs[i].name, "the name of an input"), borrowed(inputs[i])).second)
      hone::fail("input \"{}\" is given twice", inputs[i].name);
  return context ? session.run(*context, given) : session.run(given);
}

}  // namespace
}  // namespace hone::api

using namespace hone::api;  // NOLINT: what follows is C

const char* hone_version(void) { return version(); }
const char* hone_error(void) { return error_text.c_str(); }

hone_status hone_free(hone_handle object) {
  return status_of([&] { handles().free(object); });
}

hone_status hone_open(const char* path, hone_handle* model) {
  return status_of([&] {
    required(model, "model");
    *model = handles().add(std::make_shared<Model>(Model::open(required(path, "path"))));
  });
}

hone_status hone_save(hone_handle model, const char* path) {
  return status_of([&] { handles().model(model)->save(required(path, "path")); });
}

hone_status hone_quantize(hone_handle model, const hone_option* options, size_t option_count, hone_handle* quantized) {
  return status_of([&] {
    required(quantized, "quantized");
    QuantizeResult result = quantize_by_names(*handles().model(model), given_by(options, option_count), {});
    *quantized = handles().add(std::make_shared<Model>(std::move(result.model)));
  });
}

hone_status hone_graph_text(hone_handle model, const char** text) {
  return status_of([&] {
    required(text, "text");
    result_text = handles().model(model)->graph().text();
    *text = result_text.c_str();
  });
}

hone_status hone_compile(hone_handle model, const hone_option* options, size_t option_count, hone_handle* session) {
  return status_of([&] {
    required(session, "session");
    Session made = session_by_names(*handles().model(model), given_by(options, option_count));
    *session = handles().add(std::make_shared<PortTexts>(std::move(made)));
  });
}

hone_status hone_input_count(hone_handle session, size_t* count) {
  return status_of([&] { *required(count, "count") = handles().session(session)->inputs.size(); });
}
hone_status hone_output_count(hone_handle session, size_t* count) {
  return status_of([&] { *required(count, "count") = handles().session(session)->outputs.size(); });
}
hone_status hone_input_port(hone_handle session, size_t index, hone_port* port) {
  return status_of([&] {
    const Port& found = port_at(handles().session(session)->inputs, index);
    *required(port, "port") = {found.name.c_str(), found.type.c_str()};
  });
}
hone_status hone_output_port(hone_handle session, size_t index, hone_port* port) {
  return status_of([&] {
    const Port& found = port_at(handles().session(session)->outputs, index);
    *required(port, "port") = {found.name.c_str(), found.type.c_str()};
  });
}

hone_status hone_new_context(hone_handle* context) {
  return status_of([&] { *required(context, "context") = handles().add(std::make_shared<Context>()); });
}
hone_status hone_cancel(hone_handle context) {
  return status_of([&] { handles().context(context)->cancel(); });
}
hone_status hone_clear_state(hone_handle context) {
  return status_of([&] { handles().context(context)->clear_state(); });
}

hone_status hone_run(hone_handle session, hone_handle context, const hone_input* inputs, size_t input_count,
                     DLManagedTensorVersioned** outputs, size_t output_count) {
  return status_of([&] {
    const std::shared_ptr<PortTexts> found = handles().session(session);
    const std::shared_ptr<Context> memory = context == 0 ? nullptr : handles().context(context);
    required(outputs, "outputs");
    if (output_count != found->outputs.size())
      hone::fail("there is room for {} outputs; the session gives {}", output_count, found->outputs.size());
    NamedTensors results = run(found->session, memory.get(), inputs, input_count);
    std::vector<DLManagedTensorVersioned*> arrays;
    try {
      for (const Port& port : found->outputs) arrays.push_back(results.at(port.name).to_dlpack());
    } catch (...) {
      for (DLManagedTensorVersioned* array : arrays) array->deleter(array);
      throw;
    }
    std::copy(arrays.begin(), arrays.end(), outputs);
  });
}
