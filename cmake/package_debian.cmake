# Run by CPack when the files of the package lie in their staging directory: what Debian's policy asks for beyond an
# ordinary installation. The date of the changelog is SOURCE_DATE_EPOCH where that is set.
file(GLOB_RECURSE program ${CPACK_TEMPORARY_DIRECTORY}/smartmig)
list(FILTER program INCLUDE REGEX "/usr/bin/smartmig$")
string(REGEX REPLACE "/usr/bin/smartmig$" "" stage "${program}")
if(stage STREQUAL "")
  message(FATAL_ERROR "no usr/bin/smartmig below ${CPACK_TEMPORARY_DIRECTORY}")
endif()
set(deploy ${CPACK_SMARTMIG_SOURCE}/deploy)
set(doc ${stage}/usr/share/doc/smartmig)

file(COPY ${deploy}/serve.toml DESTINATION ${stage}/etc/smartmig)
file(MAKE_DIRECTORY ${stage}/lib)
file(RENAME ${stage}/usr/lib/systemd ${stage}/lib/systemd)
file(RENAME ${stage}/usr/share/zsh/site-functions ${stage}/usr/share/zsh/vendor-completions)
file(COPY ${deploy}/debian/copyright DESTINATION ${doc})
file(REMOVE ${doc}/LICENSE)  # it is in copyright
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
file(WRITE ${doc}/changelog.Debian
     "smartmig (${version}) bookworm; urgency=medium\n\n  * Version ${CPACK_PACKAGE_VERSION}: changelog.gz says what is new.\n\n"
     " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
file(GLOB pages ${stage}/usr/share/man/man1/*)
execute_process(COMMAND gzip -9n ${pages} ${doc}/changelog ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND chmod -R u=rwX,go=rX ${stage} COMMAND_ERROR_IS_FATAL ANY)
