# The tables of definitions are no part of the layers' libraries. A program that links hone_<layer> gets, as objects, the tables
# of that layer and of those below: of what lies in src/, or, where its property HONE_TABLES is "extended", of what extend_layers()
# adds to that. So the libraries are built once, and nothing in them knows how many definitions there are.

set(plain_tables $<STREQUAL:$<TARGET_PROPERTY:HONE_TABLES>,>)
set(extended_tables $<STREQUAL:$<TARGET_PROPERTY:HONE_TABLES>,extended>)
set(only_reference $<STREQUAL:$<TARGET_PROPERTY:HONE_DEVICES>,reference>)

# add_table(<target> <layer> <condition> sources...)
# The object library <target>: <layer>::all(), over the definitions in the sources, for programs that meet the condition.
function(add_table target name condition)
  get_property(def GLOBAL PROPERTY HONE_REGISTRY_${name})
  get_property(folder GLOBAL PROPERTY HONE_FOLDER_${name})
  set(table ${PROJECT_BINARY_DIR}/gen/${target}.cc)
  add_custom_command(OUTPUT ${table}
    COMMAND ${CMAKE_COMMAND} -DLAYER=${name} -DFOLDER=${folder} -DDEF=${def} -DOUT=${table} "-DSOURCES=${ARGN}"
            -P ${PROJECT_SOURCE_DIR}/cmake/registry.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/registry.cmake VERBATIM)
  add_library(${target} OBJECT ${table})
  target_link_libraries(${target} PRIVATE hone_${name})
  set_target_properties(${target} PROPERTIES HONE_TABLES none)
  position_independent(${target})
  target_link_libraries(hone_${name} INTERFACE $<${condition}:$<TARGET_OBJECTS:${target}>>)
endfunction()

set(not_only_reference $<NOT:${only_reference}>)

# device_table(): the devices of a program are those of the layer `device` and of layers that are called a DEVICE. Programs link them
# all; layers do not, and whatever they depend on is linked by programs alone. With its property HONE_DEVICES "reference" a program
# has the reference device and needs no other layer.
function(device_table)
  set_property(GLOBAL PROPERTY HONE_REGISTRY_device DeviceDef)
  get_property(devices GLOBAL PROPERTY HONE_DEVICE_LAYERS)
  layer_sources(device ${PROJECT_SOURCE_DIR}/src own)
  add_table(hone_device_reference device $<AND:${only_reference},$<NOT:$<STREQUAL:$<TARGET_PROPERTY:HONE_TABLES>,none>>> ${own})
  device_sources(${PROJECT_SOURCE_DIR}/src sources)
  add_table(hone_device_table device $<AND:${not_only_reference},${plain_tables}> ${sources})
  foreach(layer ${devices})
    target_link_libraries(hone_device INTERFACE
      $<$<AND:${not_only_reference},$<OR:${plain_tables},${extended_tables}>>:hone_${layer}>)
  endforeach()
endfunction()

# The sources of all layers in which devices are defined.
function(device_sources root result)
  get_property(devices GLOBAL PROPERTY HONE_DEVICE_LAYERS)
  set(all "")
  foreach(layer device ${devices})
    layer_sources(${layer} ${root} sources)
    list(APPEND all ${sources})
  endforeach()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# add_generator_version(<target> <condition> roots...): the object library <target>, for programs that meet the condition. Cached
# machine code is keyed by the sources of what generates it, below each root; device/llvm and device/x86 lie in device.
function(add_generator_version target condition)
  set(sources "")
  foreach(root ${ARGN})
    foreach(folder expr formats kernels device)
      file(GLOB_RECURSE found CONFIGURE_DEPENDS ${root}/${folder}/*.cc ${root}/${folder}/*.h)
      list(APPEND sources ${found})
    endforeach()
  endforeach()
  set(version ${PROJECT_BINARY_DIR}/gen/${target}.cc)
  set(script ${PROJECT_SOURCE_DIR}/cmake/generator_version.cmake)
  add_custom_command(OUTPUT ${version} COMMAND ${CMAKE_COMMAND} -DOUT=${version} "-DSOURCES=${sources}" -P ${script}
    DEPENDS ${sources} ${script} VERBATIM)
  add_library(${target} OBJECT ${version})
  target_link_libraries(${target} PRIVATE hone_device_llvm)
  set_target_properties(${target} PROPERTIES HONE_TABLES none)
  position_independent(${target})
  target_link_libraries(hone_device_llvm INTERFACE $<${condition}:$<TARGET_OBJECTS:${target}>>)
endfunction()

# extend_layers(<root>): <root>/<folder>/ holds more of a layer with a registry, written as if it lay in src/<folder>/. Layers that lie
# in this root whole are made by layer(); their devices join the table.
function(extend_layers root)
  get_property(layers GLOBAL PROPERTY HONE_LAYERS)
  foreach(name ${layers})
    get_property(def GLOBAL PROPERTY HONE_REGISTRY_${name})
    get_property(libraries GLOBAL PROPERTY HONE_PRIVATE_LIBS_${name})
    get_property(own_root GLOBAL PROPERTY HONE_ROOT_${name})
    get_property(devices GLOBAL PROPERTY HONE_DEVICE_LAYERS)
    layer_sources(${name} ${root} sources)
    if(own_root STREQUAL root)
      if(name IN_LIST devices)
        target_link_libraries(hone_device INTERFACE $<$<AND:${not_only_reference},${extended_tables}>:hone_${name}>)
      endif()
    elseif(NOT def AND sources)
      message(FATAL_ERROR "${sources}: ${name} has no registry, so nothing would find what they define")
    elseif(def)
      set(defined ${sources})
      layer_sources(${name} ${PROJECT_SOURCE_DIR}/src own)
      set(condition ${extended_tables})
      if(name STREQUAL device)
        device_sources(${root} defined)
        device_sources(${PROJECT_SOURCE_DIR}/src own)
        set(condition $<AND:${not_only_reference},${extended_tables}>)
      endif()
      add_table(hone_${name}_extended ${name} ${condition} ${own} ${defined})
      target_sources(hone_${name}_extended PRIVATE ${sources})
      target_include_directories(hone_${name}_extended PRIVATE ${root})
      target_link_libraries(hone_${name}_extended PRIVATE ${libraries})
    endif()
  endforeach()
  add_generator_version(hone_generator_version_extended ${extended_tables} ${PROJECT_SOURCE_DIR}/src ${root})
endfunction()
