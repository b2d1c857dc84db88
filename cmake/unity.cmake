# smartmig_unity(target): with SMARTMIG_UNITY the sources of one library are compiled together, in parts of at most
# SMARTMIG_UNITY_KB and of about equal size. Most of a small file's compile time is its headers, so a clean build takes a
# third (docs/decisions). Files of different folders of src/ or research/ never meet in one part: names in unnamed
# namespaces need to be unique below their folder only. A file with compile options of its own stays alone.
option(SMARTMIG_UNITY "compile many sources as one: clean builds take a third, small changes longer" OFF)
set(SMARTMIG_UNITY_KB 160 CACHE STRING "kB of source compiled as one with SMARTMIG_UNITY")
if(SMARTMIG_UNITY)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)  # takes included sources for headers
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow>)  # of another file's names; the plain build warns
endif()

# The folder whose sources may be compiled together: src/http/api.cc belongs to src_serve, tests/e2e/x.cc to tests_e2e.
function(smartmig_unity_folder path result)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${path})
  string(REGEX MATCH "^((src|research|tests)/)?[^/]+" folder ${folder})
  string(REPLACE "/" "_" folder ${folder})
  set(${result} ${folder} PARENT_SCOPE)
endfunction()

function(smartmig_unity target)
  if(NOT SMARTMIG_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  set(together "")
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    get_source_file_property(group ${path} UNITY_GROUP)
    get_source_file_property(options ${path} COMPILE_OPTIONS)
    if(group OR options OR NOT path MATCHES "\\.cc$" OR NOT path MATCHES "^${CMAKE_SOURCE_DIR}/")  # or shared with another target
      continue()
    endif()
    list(APPEND together ${path})
    smartmig_unity_folder(${path} folder)
    file(SIZE ${path} bytes)
    math(EXPR total_${folder} "0${total_${folder}} + ${bytes}")
  endforeach()
  foreach(path ${together})
    smartmig_unity_folder(${path} folder)
    file(SIZE ${path} bytes)
    math(EXPR part "0${done_${folder}} * (1 + ${total_${folder}} / (${SMARTMIG_UNITY_KB} * 1000)) / (${total_${folder}} + 1)")
    math(EXPR done_${folder} "0${done_${folder}} + ${bytes}")
    set_source_files_properties(${path} PROPERTIES UNITY_GROUP ${folder}_${part})
  endforeach()
endfunction()
