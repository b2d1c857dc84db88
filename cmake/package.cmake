# What an installation holds besides the programs (manual pages, completions, the systemd unit), and the Debian package:
# cmake --build build/release --target deb. The package is made by CPack; what only Debian wants is put into it by
# cmake/package_debian.cmake. docs/install.md says what is in it and what an upgrade does.
if(SMARTMIG_SANITIZE)
  return()
endif()

set(made ${CMAKE_BINARY_DIR}/package)
file(MAKE_DIRECTORY ${made})
# Printed by the program itself, so that they say what it does.
function(smartmig_printed file)  # ARGN: what prints it
  add_custom_command(OUTPUT ${made}/${file} COMMAND ${ARGN} > ${made}/${file} DEPENDS smartmig VERBATIM)
  set_property(GLOBAL APPEND PROPERTY smartmig_printed ${made}/${file})
endfunction()
smartmig_printed(smartmig.1 smartmig man)
smartmig_printed(smartmig.bash smartmig completion bash)
smartmig_printed(_smartmig smartmig completion zsh)
smartmig_printed(smartmig.fish smartmig completion fish)
get_property(printed GLOBAL PROPERTY smartmig_printed)
add_custom_target(package_files ALL DEPENDS ${printed})

install(FILES ${made}/smartmig.1 deploy/man/nvml-sim-ctl.1 deploy/man/smartmig-emulated-job.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${made}/smartmig.bash DESTINATION share/bash-completion/completions RENAME smartmig)
install(FILES ${made}/_smartmig DESTINATION share/zsh/site-functions)
install(FILES ${made}/smartmig.fish DESTINATION share/fish/vendor_completions.d)
install(FILES deploy/smartmig.service DESTINATION lib/systemd/system)
install(FILES deploy/serve.toml deploy/grafana.json deploy/alerts.yml DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(DIRECTORY deploy/slurm deploy/kubernetes DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples USE_SOURCE_PERMISSIONS)

set(SMARTMIG_MAINTAINER "smartmig packagers <packagers@smartmig.invalid>" CACHE STRING "who answers for the package: name <address>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME smartmig)
set(CPACK_PACKAGE_CONTACT ${SMARTMIG_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${made})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
# One package of all but the C library for training environments (docs/env.md), which has no stable interface.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "queue of GPU jobs on dynamically carved MIG slices
Cuts NVIDIA GPUs into slices (Multi-Instance GPU) as jobs need them, runs a
durable queue of jobs with deadlines on them, and accounts for every joule.
Includes a simulator of scheduling policies and an emulated NVML, so that all
of it can be tried without a GPU.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${CMAKE_SOURCE_DIR}/deploy/debian/postinst ${CMAKE_SOURCE_DIR}/deploy/debian/prerm
    ${CMAKE_SOURCE_DIR}/deploy/debian/postrm ${CMAKE_SOURCE_DIR}/deploy/debian/conffiles)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package_debian.cmake)
set(CPACK_SMARTMIG_SOURCE ${CMAKE_SOURCE_DIR})  # for that script
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)

add_custom_target(deb COMMAND ${CMAKE_CPACK_COMMAND} -G DEB --config ${CMAKE_BINARY_DIR}/CPackConfig.cmake VERBATIM)
add_dependencies(deb smartmig smartmig-supervisor smartmig_preload nvml_sim nvml-sim-ctl smartmig-emulated-job package_files)
# What only studies need is a package of its own, since it depends on Cbc.
if(TARGET smartmig-research)
  add_custom_target(deb-research COMMAND ${CMAKE_SOURCE_DIR}/deploy/debian/research.sh ${CMAKE_BINARY_DIR}
                    ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE} ${made} DEPENDS smartmig-research VERBATIM)
endif()
