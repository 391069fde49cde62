# Debian packages by CPack: vktrain, the program; libvktrain-dev, the static library and its headers. tools/release makes them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME vktrain)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the vktrain authors <nobody@example.invalid>") # the project has no public address
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/tools/build/deb_files.cmake)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME vktrain)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS libvulkan1) # opened at run time
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "mesa-vulkan-drivers, libwebp7, libturbojpeg0")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "train neural networks on any Vulkan GPU
vktrain trains image classifiers, models of tables and language models on
AMD, Intel and NVIDIA GPUs, laptop graphics, or the CPU through Mesa, by
compute shaders. It tells what to do next: evaluation at fixed steps, studies
of the learning rate and batch size, findings in words. The same device,
driver and recipe give the same bits.
")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libvktrain-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libyaml-dev, libjansson-dev, libpcre2-dev, libutf8proc-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION "train neural networks on any Vulkan GPU - C library
The static library of vktrain with its headers, CMake package and pkg-config
file, for programs that train or run models themselves.
")
set(CPACK_RESOURCE_FILE_LICENSE_OF_VKTRAIN ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
include(CPack)
