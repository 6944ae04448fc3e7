# layer(<name> [DEVICE] [FOLDER folder] [ROOT root] [DEPS layers...] [REGISTRY <XDef>] [LIBS public libraries...] [PRIVATE_LIBS libraries...]
#       [WITHOUT folders of other layers, as expressions...])
# One folder of src/ (called <name>, unless FOLDER says otherwise, without those of other layers that lie in it), or of another ROOT
# that is laid out as src/ is, becomes the static library hone_<name>. With REGISTRY, every `constinit const XDef name_def` in the
# folder is listed in a generated, sorted table that <name>::all() returns (cmake/table.cmake). A DEVICE is one of those that programs
# have. The calls of this function are the only statement of who may include whom; tests/guards checks the sources against them.
include(cmake/table.cmake)
set_property(GLOBAL PROPERTY HONE_LAYERS "")
function(layer name)
  cmake_parse_arguments(ARG "DEVICE" "REGISTRY;FOLDER;ROOT" "DEPS;LIBS;PRIVATE_LIBS;WITHOUT" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  if(NOT ARG_ROOT)
    set(ARG_ROOT ${PROJECT_SOURCE_DIR}/src)
  endif()
  set_property(GLOBAL APPEND PROPERTY HONE_LAYERS ${name})
  if(ARG_DEVICE)
    set_property(GLOBAL APPEND PROPERTY HONE_DEVICE_LAYERS ${name})
  endif()
  foreach(fact FOLDER ROOT DEPS REGISTRY PRIVATE_LIBS WITHOUT)
    set_property(GLOBAL PROPERTY HONE_${fact}_${name} "${ARG_${fact}}")
  endforeach()
  layer_sources(${name} ${ARG_ROOT} sources)
  if(NOT sources)
    set(sources ${PROJECT_SOURCE_DIR}/cmake/empty.cc)
  endif()
  add_library(hone_${name} STATIC ${sources})
  set_target_properties(hone_${name} PROPERTIES HONE_TABLES none)  # programs have them
  position_independent(hone_${name})
  target_include_directories(hone_${name} PUBLIC ${ARG_ROOT})
  list(TRANSFORM ARG_DEPS PREPEND hone_ OUTPUT_VARIABLE deps)
  target_link_libraries(hone_${name} PUBLIC ${deps} ${ARG_LIBS} PRIVATE ${ARG_PRIVATE_LIBS})
  if(name STREQUAL ir)
    precompile(hone_ir OF "${PROJECT_SOURCE_DIR}/src/ir/graph.h")
  elseif(TARGET hone_ir AND NOT "llvm" IN_LIST ARG_PRIVATE_LIBS)  # whose macros a precompiled header must share
    precompile(hone_${name} AS hone_ir)
  endif()
  if(ARG_REGISTRY)
    add_table(hone_${name}_table ${name} ${plain_tables} ${sources})
  endif()
endfunction()

# position_independent(<target>): its objects go into programs and into the shared library, which exports what HONE_API marks.
function(position_independent target)
  if(HONE_SHARED)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                          VISIBILITY_INLINES_HIDDEN ON)
  endif()
endfunction()

# precompile(<target> OF headers... | AS <other target>): reads headers that most of its sources include once, or shares what another target has read.
# The build of fuzz targets does without, which holds every file to including what it uses.
function(precompile target)
  cmake_parse_arguments(ARG "" "AS" "OF" ${ARGN})
  if(NOT HONE_PCH)
    return()
  endif()
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
  if(ARG_AS)
    target_precompile_headers(${target} REUSE_FROM ${ARG_AS})
  else()
    target_precompile_headers(${target} PRIVATE ${ARG_OF})
  endif()
endfunction()

# add_op_calls(): hone_op_calls gives ops/calls/<file>.h for each file of ops, which a program writes from the definitions.
function(add_op_calls)
  add_executable(generate_calls ${PROJECT_SOURCE_DIR}/src/ops/generate/main.cc)
  target_link_libraries(generate_calls PRIVATE hone_ops)
  layer_sources(ops ${PROJECT_SOURCE_DIR}/src sources)
  set(folder ${PROJECT_BINARY_DIR}/gen/ops/calls)
  set(calls ${sources})
  list(TRANSFORM calls REPLACE ".*/(.*)\\.cc$" "${folder}/\\1.h")
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${calls} COMMAND generate_calls ${folder} ${sources} DEPENDS generate_calls
    COMMENT "Generating calls of ops" VERBATIM)
  add_custom_target(op_calls DEPENDS ${calls})
  add_library(hone_op_calls INTERFACE)
  target_include_directories(hone_op_calls INTERFACE ${PROJECT_BINARY_DIR}/gen)
  add_dependencies(hone_op_calls op_calls)
endfunction()

# The sources of a layer below `root`, which is laid out as src/ is.
function(layer_sources name root result)
  get_property(folder GLOBAL PROPERTY HONE_FOLDER_${name})
  get_property(others GLOBAL PROPERTY HONE_WITHOUT_${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/${folder}/*.cc)
  cmake_path(GET root FILENAME last)
  foreach(other ${others})
    list(FILTER sources EXCLUDE REGEX "/${last}/${other}/")
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  set(${result} ${sources} PARENT_SCOPE)
endfunction()
