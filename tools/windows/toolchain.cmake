# CMake's toolchain file for Windows x86-64 by Debian's gcc-mingw-w64-x86-64-posix. VKT_WIN_PREFIX, a variable of CMake or of the
# environment, is where tools/windows/deps put the libraries. The result runs under Wine by wine-run, as ctest does it.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
if(NOT VKT_WIN_PREFIX)
  set(VKT_WIN_PREFIX $ENV{VKT_WIN_PREFIX})
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VKT_WIN_PREFIX)
set(CMAKE_FIND_ROOT_PATH ${VKT_WIN_PREFIX} /usr/x86_64-w64-mingw32)
set(CMAKE_PREFIX_PATH ${VKT_WIN_PREFIX})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Never this machine's libraries.
set(ENV{PKG_CONFIG_LIBDIR} ${VKT_WIN_PREFIX}/lib/pkgconfig)
set(ENV{PKG_CONFIG_PATH} "")
# No DLL beside the program: zlib, libgcc and winpthread are linked in, too.
set(ZLIB_LIBRARY /usr/x86_64-w64-mingw32/lib/libz.a CACHE FILEPATH "")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -static-libgcc")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-static -static-libgcc")
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/wine-run)
