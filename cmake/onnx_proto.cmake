# onnx_proto: the code that protoc makes of src/io/onnx/onnx.proto, included as "io/onnx/onnx.pb.h" by what links it: the io layer
# and its tests. Warnings in it are not ours.
set(onnx_pb ${PROJECT_BINARY_DIR}/gen/io/onnx/onnx.pb)
add_custom_command(OUTPUT ${onnx_pb}.cc ${onnx_pb}.h
  COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/src --cpp_out=${PROJECT_BINARY_DIR}/gen io/onnx/onnx.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/src/io/onnx/onnx.proto VERBATIM)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/gen)
add_library(onnx_proto STATIC ${onnx_pb}.cc ${onnx_pb}.h)
position_independent(onnx_proto)
target_include_directories(onnx_proto SYSTEM PUBLIC ${PROJECT_BINARY_DIR}/gen)
target_link_libraries(onnx_proto PUBLIC protobuf::libprotobuf-lite)
target_compile_options(onnx_proto PRIVATE -w)
