# Where Debian expects things. The release preset has /usr as its prefix; with another one the unit file follows it.
if(IBF_FAST_PART)
  return()
endif()

set(doc ${CMAKE_INSTALL_DATADIR}/doc/ibfabric)

install(TARGETS ibfabricd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS ibfabric ibfabric-sim ibfabric-probe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# No library to link with: programs are started with it (ibfabric-sim run).
install(TARGETS ibfabric-umad LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ibfabric)

# systemd and udev look below lib, whatever the multiarch library folder is called.
file(READ ${CMAKE_SOURCE_DIR}/systemd/ibfabricd.service unit)
string(REPLACE "/usr/sbin/" "${CMAKE_INSTALL_FULL_SBINDIR}/" unit "${unit}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/systemd/ibfabricd.service CONTENT "${unit}" @ONLY)
file(READ ${CMAKE_SOURCE_DIR}/systemd/ibfabric-probe.service unit)
string(REPLACE "/usr/bin/" "${CMAKE_INSTALL_FULL_BINDIR}/" unit "${unit}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/systemd/ibfabric-probe.service CONTENT "${unit}" @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/systemd/ibfabricd.service ${CMAKE_BINARY_DIR}/systemd/ibfabric-probe.service
  DESTINATION lib/systemd/system)
install(FILES systemd/60-ibfabric.rules DESTINATION lib/udev/rules.d)

file(GLOB pages CONFIGURE_DEPENDS man/*.[1-9])
foreach(page ${pages})
  get_filename_component(section ${page} LAST_EXT)
  string(SUBSTRING ${section} 1 -1 section)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

install(FILES completions/ibfabric.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ibfabric)
foreach(program ibfabric-sim ibfabric-probe)
  install(FILES completions/${program}.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
endforeach()
install(FILES LICENSE DESTINATION ${doc} RENAME copyright)
foreach(page README.md CHANGELOG.md docs/HARDWARE.md)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${page})
    install(FILES ${page} DESTINATION ${doc})
  endif()
endforeach()
# An example, never /etc: a configuration is the operator's own file.
install(FILES docs/ibfabricd.toml docs/probe.toml systemd/ibfabric-probe-umad.conf DESTINATION ${doc}/examples)
