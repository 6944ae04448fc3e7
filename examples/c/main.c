// Opens a model with one input of f32, stores its weights in another number format, runs it on a wave, and saves it.
//   run_model MODEL FORMAT small.safetensors
#include <hone/hone.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostDimensions = 8 };

static int fail(const char* what) {
  fprintf(stderr, "run_model: %s: %s\n", what, hone_error());
  return 1;
}

// The sizes in "f32[B,784]", with 1 in place of names; their number, or -1 where the type is another.
static int sizes_of(const char* type, int64_t* shape) {
  if (strncmp(type, "f32[", 4) != 0) return -1;
  int dimensions = 0;
  for (const char* at = type + 4; *at && *at != ']' && dimensions < kMostDimensions; ++dimensions) {
    shape[dimensions] = *at >= '0' && *at <= '9' ? atoll(at) : 1;
    at += strcspn(at, ",]");
    if (*at == ',') ++at;
  }
  return dimensions;
}

static int run(hone_handle session) {
  hone_port port;
  size_t outputs = 0;
  int64_t shape[kMostDimensions];
  if (hone_input_port(session, 0, &port) || hone_output_count(session, &outputs)) return fail("inputs");
  const int dimensions = sizes_of(port.type, shape);
  if (dimensions < 0 || outputs == 0) {
    fprintf(stderr, "run_model: input %s is %s; f32 is needed\n", port.name, port.type);
    return 1;
  }
  size_t elements = 1;
  for (int i = 0; i < dimensions; ++i) elements *= (size_t)shape[i];
  float* wave = malloc(elements * sizeof *wave);
  DLManagedTensorVersioned** results = calloc(outputs, sizeof(DLManagedTensorVersioned*));
  if (!wave || !results) return fail("memory");
  for (size_t i = 0; i < elements; ++i) wave[i] = sinf(0.1f * (float)i);
  const DLTensor array = {.data = wave,
                          .device = {kDLCPU, 0},
                          .ndim = dimensions,
                          .dtype = {kDLFloat, 32, 1},
                          .shape = shape,
                          .strides = NULL,
                          .byte_offset = 0};
  const hone_input input = {port.name, &array};
  const hone_status status = hone_run(session, 0, &input, 1, results, outputs);
  for (size_t i = 0; status == HONE_OK && i < outputs; ++i) {
    if (results[i]->dl_tensor.dtype.code == kDLFloat && results[i]->dl_tensor.dtype.bits == 32)
      printf("output %zu begins with %.6f\n", i, ((const float*)results[i]->dl_tensor.data)[0]);
    results[i]->deleter(results[i]);
  }
  free(results);
  free(wave);
  return status == HONE_OK ? 0 : fail("run");
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: run_model MODEL FORMAT small.safetensors\n");
    return 2;
  }
  hone_handle model = 0, small = 0, session = 0;
  const hone_option format = {"to", argv[2]}, threads = {"threads", "1"};
  if (hone_open(argv[1], &model)) return fail(argv[1]);
  if (hone_quantize(model, &format, 1, &small)) return fail(argv[2]);
  if (hone_compile(small, &threads, 1, &session)) return fail("compile");
  const int code = run(session);
  if (code == 0 && hone_save(small, argv[3])) return fail(argv[3]);
  if (hone_free(session) || hone_free(small) || hone_free(model)) return fail("free");
  if (hone_free(model) == HONE_OK) return fail("a freed handle is taken");
  return code;
}
