# smartmig_unity(target): with SMARTMIG_UNITY the sources of one folder are compiled together, about 64 kB at a time. Most
# of a small file's compile time is its headers, so a clean build takes a third (docs/decisions.md). Files of different
# folders never meet in one unit: names in unnamed namespaces need to be unique in their folder only. A file with
# compile options of its own stays alone.
option(SMARTMIG_UNITY "compile many sources as one: clean builds take a third, small changes longer" OFF)
if(SMARTMIG_UNITY)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)  # takes included sources for headers
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow>)  # of another file's names; the plain build warns
endif()

function(smartmig_unity target)
  if(NOT SMARTMIG_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    get_source_file_property(group ${path} UNITY_GROUP)
    if(group OR NOT path MATCHES "\\.cc$" OR NOT path MATCHES "^${CMAKE_SOURCE_DIR}/")  # shared with another target
      continue()
    endif()
    get_filename_component(folder ${path} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${folder})
    string(REPLACE "/" "_" folder ${folder})
    file(SIZE ${path} bytes)
    math(EXPR total "0${bytes_${folder}} + ${bytes}")
    set(bytes_${folder} ${total})
    math(EXPR number "${total} / 64000")
    set_source_files_properties(${path} PROPERTIES UNITY_GROUP ${folder}_${number})
  endforeach()
endfunction()
