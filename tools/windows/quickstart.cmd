@echo off
rem From the zip to a trained model: unpacks it beside itself where that is not done, lists the devices, trains the digits, says what next.
rem   quickstart.cmd [RECIPE [vktrain train's options]]      RECIPE: digits unless given
setlocal
cd /d "%~dp0"
if exist vktrain.exe goto ready
set zip=
for %%f in (vktrain-*-windows-x86_64.zip) do set "zip=%%f"
if not defined zip (
  echo quickstart: neither vktrain.exe nor vktrain-...-windows-x86_64.zip is in "%cd%"; put this file beside one of them
  goto failed
)
echo == unpacking %zip%
tar -xf "%zip%"
if not "%errorlevel%"=="0" goto failed
:ready
echo == devices
vktrain.exe devices
if not "%errorlevel%"=="0" goto failed
set recipe=%1
if not defined recipe set recipe=digits
echo == vktrain train %recipe%
if not "%~1"=="" goto named
vktrain.exe train digits
if not "%errorlevel%"=="0" goto failed
goto next
:named
vktrain.exe train %*
if not "%errorlevel%"=="0" goto failed
:next
echo.
echo The program is "%cd%\vktrain.exe". What next:
echo   vktrain ui                        all of it in the browser
echo   vktrain runs                      the table of runs
echo   vktrain init YOUR.csv             a recipe for your own data: a table, a folder of pictures, texts
echo   vktrain help                      all commands
if not defined VKT_NO_PAUSE pause
exit /b 0
:failed
echo.
echo quickstart: it did not work; see the line above. "vktrain doctor" tests the device and its driver.
if not defined VKT_NO_PAUSE pause
exit /b 1
