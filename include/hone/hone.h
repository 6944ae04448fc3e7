// hone from C, and from languages that call C: open, quantize, compile, run and save models.
//
// Objects are numbers. A number that is no longer valid, that is of another kind of object, or that never was one, is
// refused like any bad argument. Every function may be called by any number of threads. Functions that can fail return
// a hone_status; where that is not HONE_OK, hone_error() has the reason, and what results would be in is unchanged.
#ifndef HONE_HONE_H_
#define HONE_HONE_H_

#include <hone/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HONE_C
#define HONE_C __attribute__((visibility("default")))
#endif

// A model, a session or a context. 0 is none.
typedef uint64_t hone_handle;

// How a call ended.
typedef enum {
  HONE_OK = 0,
  HONE_REFUSED = 1,    // an argument or a file is at fault
  HONE_CANCELLED = 2,  // by hone_cancel()
  HONE_BUG = 70        // hone is at fault: please report hone_error()
} hone_status;

// An option by its name, with its value as text: {"to", "mxint8"}. A list is given by several of one name.
typedef struct {
  const char* name;
  const char* value;
} hone_option;

// An input by its name. The array is the caller's, who keeps it for the time of the call; elements are read where they
// lie, with their strides.
typedef struct {
  const char* name;
  const DLTensor* array;
} hone_input;

// An input or output of a session. The texts live as long as the session.
typedef struct {
  const char* name;
  const char* type;  // "f32[B,S,384]"
} hone_port;

// "0.1.0"
HONE_C const char* hone_version(void);

// Why the last call of this thread that did not return HONE_OK failed; "" before the first. The text is valid until the
// next call of the thread.
HONE_C const char* hone_error(void);

// Gives an object back. Calls that use it in other threads come to their end.
HONE_C hone_status hone_free(hone_handle object);

// A model of a folder or a file (Model::open() of hone/model.h).
HONE_C hone_status hone_open(const char* path, hone_handle* model);

// The model as one file, .safetensors or .onnx (Model::save()).
HONE_C hone_status hone_save(hone_handle model, const char* path);

// The model in other number formats, as a new one. Options are those of QuantizeOptions (hone/quantize.h), under the
// names that `hone quantize --help` has.
HONE_C hone_status hone_quantize(hone_handle model, const hone_option* options, size_t option_count,
                                 hone_handle* quantized);

// The graph of a model as text. The text is valid until the next call of the thread.
HONE_C hone_status hone_graph_text(hone_handle model, const char** text);

// The model made ready to run. Options are those of SessionOptions (hone/session.h): {"threads", "4"}. The session does
// not need the model any more.
HONE_C hone_status hone_compile(hone_handle model, const hone_option* options, size_t option_count,
                                hone_handle* session);

// How many inputs and outputs a session has, and what they are, by number from 0.
HONE_C hone_status hone_input_count(hone_handle session, size_t* count);
HONE_C hone_status hone_output_count(hone_handle session, size_t* count);
HONE_C hone_status hone_input_port(hone_handle session, size_t index, hone_port* port);
HONE_C hone_status hone_output_port(hone_handle session, size_t index, hone_port* port);

// Memory and state for runs of one thread at a time (Context of hone/session.h).
HONE_C hone_status hone_new_context(hone_handle* context);

// Ends the run that the context has under way, which returns HONE_CANCELLED.
HONE_C hone_status hone_cancel(hone_handle context);

// Forgets the state that runs have left in the context.
HONE_C hone_status hone_clear_state(hone_handle context);

// One run. `context` may be 0. `outputs` has room for output_count arrays, as many as hone_output_count() says; each is
// the caller's afterwards, to be given back by its deleter. On a failure none is made.
HONE_C hone_status hone_run(hone_handle session, hone_handle context, const hone_input* inputs, size_t input_count,
                            DLManagedTensorVersioned** outputs, size_t output_count);

#ifdef __cplusplus
}
#endif

#endif  // HONE_HONE_H_
