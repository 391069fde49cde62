# Writes OUT with the commit of SRC ("-dirty" where tracked files differ; COMMIT where that is given), only when it changes.
set(commit "unknown")
find_program(GIT git)
if(COMMIT)
  set(commit ${COMMIT})
elseif(GIT AND EXISTS ${SRC}/.git)
  execute_process(COMMAND ${GIT} -C ${SRC} describe --always --dirty --abbrev=12 --match=NeVeR
    OUTPUT_VARIABLE text RESULT_VARIABLE rc ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(rc EQUAL 0 AND text MATCHES "^[0-9a-f]+(-dirty)?$")
    set(commit ${text})
  endif()
endif()
file(WRITE ${OUT}.new "#define VKT_COMMIT \"${commit}\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${OUT}.new ${OUT})
