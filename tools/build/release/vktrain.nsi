; The installer, for one user: no administrator is asked for. tools/release runs it: makensis -DVERSION=... -DFROM=FOLDER -DTO=FILE
Unicode true
Target amd64-unicode
SetCompressor /SOLID lzma
Name "vktrain ${VERSION}"
OutFile "${TO}"
InstallDir "$LOCALAPPDATA\Programs\vktrain"
InstallDirRegKey HKCU "Software\vktrain" "folder"
RequestExecutionLevel user
LicenseData "${FROM}/LICENSE.txt"
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\vktrain"

Page license
Page directory
Page instfiles
UninstPage uninstConfirm
UninstPage instfiles

Section
  SetOutPath "$INSTDIR"
  File /r "${FROM}/*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  WriteRegStr HKCU "Software\vktrain" "folder" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "vktrain"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
  ; A prompt that knows the program. The user's PATH stays as it is: an installer that rewrites it may cut it off.
  CreateDirectory "$SMPROGRAMS\vktrain"
  SetOutPath "$PROFILE"
  CreateShortCut "$SMPROGRAMS\vktrain\vktrain prompt.lnk" "$SYSDIR\cmd.exe" '/k "set PATH=$INSTDIR;%PATH%& vktrain help"'
SectionEnd

; Only what was installed: a folder that has more in it stays.
Section "Uninstall"
  !include "${TO}.files.nsh"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\vktrain\vktrain prompt.lnk"
  RMDir "$SMPROGRAMS\vktrain"
  DeleteRegKey HKCU "${UNINSTALL}"
  DeleteRegKey HKCU "Software\vktrain"
SectionEnd
