/* Terminal, clock and signals, for POSIX and Windows: the program's only system headers. */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <conio.h>
#include <fcntl.h>
#include <io.h>
#define write _write
#else
#include <poll.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#endif

#include "exit_code.h"
#include "term.h"
#include "vktrain/train.h"

bool cli_is_terminal(FILE *f)
{
#ifdef _WIN32
    DWORD mode; /* NUL is a tty to _isatty */
    return GetConsoleMode((HANDLE)_get_osfhandle(_fileno(f)), &mode) != 0;
#else
    return isatty(fileno(f)) != 0;
#endif
}

int cli_columns(FILE *f)
{
    int n = 0;
    if (!cli_is_terminal(f)) return 80;
#ifdef _WIN32
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (GetConsoleScreenBufferInfo((HANDLE)_get_osfhandle(_fileno(f)), &info))
        n = info.srWindow.Right - info.srWindow.Left + 1;
#else
    struct winsize w;
    if (ioctl(fileno(f), TIOCGWINSZ, &w) == 0) n = w.ws_col;
#endif
    return n >= 20 ? n : 80;
}

int cli_rows(FILE *f)
{
    int n = 0;
    if (!cli_is_terminal(f)) return 24;
#ifdef _WIN32
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (GetConsoleScreenBufferInfo((HANDLE)_get_osfhandle(_fileno(f)), &info))
        n = info.srWindow.Bottom - info.srWindow.Top + 1;
#else
    struct winsize w;
    if (ioctl(fileno(f), TIOCGWINSZ, &w) == 0) n = w.ws_row;
#endif
    return n > 0 ? n : 24;
}

double cli_now(void)
{
#ifdef _WIN32
    LARGE_INTEGER t, f;
    QueryPerformanceCounter(&t);
    QueryPerformanceFrequency(&f);
    return (double)t.QuadPart / (double)f.QuadPart;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#endif
}

#ifdef _WIN32
static struct {
    HANDLE handle;
    DWORD mode;
} consoles[2]; /* as they were, of output and of errors */
static UINT code_page;
static bool no_escapes;

static void consoles_restore(void)
{
    for (int i = 0; i < 2; i++)
        if (consoles[i].handle) SetConsoleMode(consoles[i].handle, consoles[i].mode);
    if (code_page) SetConsoleOutputCP(code_page);
}

static void (*asked_to_stop)(int sig); /* what Ctrl-C calls; NULL: it ends the program */

static void CALLBACK on_stop_event(void *unused, BOOLEAN late)
{
    (void)unused, (void)late;
    if (!asked_to_stop) _exit(CLI_INTERRUPTED);
    asked_to_stop(SIGINT);
}

/* `vktrain ui` has no Ctrl-C for the processes that it starts, and names an event instead. It is
 * not for the processes that those start. */
static void stop_event_open(void)
{
    char name[64];
    DWORD n = GetEnvironmentVariableA("VKT_STOP_EVENT", name, sizeof name);
    HANDLE e = n && n < sizeof name ? CreateEventA(NULL, FALSE, FALSE, name) : NULL, wait;
    SetEnvironmentVariableA("VKT_STOP_EVENT", NULL);
    if (e) RegisterWaitForSingleObject(&wait, e, on_stop_event, NULL, INFINITE, WT_EXECUTEDEFAULT);
}

/* UTF-8, and escape sequences for colours and live lines; what is not a console gets the bytes that
 * it would get on other systems. */
void cli_terminal_init(void)
{
    static const DWORD ids[2] = { STD_OUTPUT_HANDLE, STD_ERROR_HANDLE };
    for (int i = 0; i < 2; i++) {
        HANDLE h = GetStdHandle(ids[i]);
        DWORD mode;
        if (!GetConsoleMode(h, &mode)) continue;
        consoles[i].handle = h;
        consoles[i].mode = mode;
        if (!SetConsoleMode(h, mode | 0x0004 /* ENABLE_VIRTUAL_TERMINAL_PROCESSING */))
            no_escapes = true; /* a console of before Windows 10 */
        code_page = GetConsoleOutputCP();
    }
    if (code_page == CP_UTF8 || (code_page && !SetConsoleOutputCP(CP_UTF8))) code_page = 0;
    atexit(consoles_restore);
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stderr), _O_BINARY);
    if (!cli_is_terminal(stdin)) _setmode(_fileno(stdin), _O_BINARY);
    stop_event_open();
}

bool cli_has_escapes(void)
{
    return !no_escapes;
}

bool cli_own_window(void)
{
    DWORD processes[2];
    return GetConsoleProcessList(processes, 2) == 1 && cli_is_terminal(stdin);
}

void cli_keep_window(void)
{
    if (!cli_own_window()) return;
    fputs("\nPress Enter to close this window. ", stderr);
    for (int c = 0; c != '\n' && c != EOF;) c = getchar();
}
#else
bool cli_own_window(void)
{
    return false;
}

void cli_keep_window(void) {}

void cli_terminal_init(void)
{
    signal(SIGXFSZ, SIG_IGN);
}

bool cli_has_escapes(void)
{
    return true;
}
#endif

bool cli_exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

bool cli_is_file(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && (s.st_mode & S_IFMT) == S_IFREG;
}

uint64_t cli_file_bytes(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && (s.st_mode & S_IFMT) == S_IFREG ? (uint64_t)s.st_size
                                                                  : UINT64_MAX;
}

bool cli_is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && (s.st_mode & S_IFMT) == S_IFDIR;
}

/* ---- keys ---- */

#ifdef _WIN32
bool cli_keys_begin(void)
{
    return cli_is_terminal(stdin);
}

void cli_keys_end(void) {}

void cli_pause(double seconds)
{
    Sleep((DWORD)(1e3 * seconds));
}

int cli_key(double seconds)
{
    for (double end = cli_now() + seconds; cli_now() < end; Sleep(20))
        if (_kbhit()) return _getch();
    return 0;
}

bool cli_can_edit(void)
{
    return false; /* the console does */
}

bool cli_edit_begin(void)
{
    return false;
}

void cli_edit_end(void) {}
void cli_edit_suspend(void) {}

int cli_byte(int ms)
{
    (void)ms;
    return -1;
}
#else
static struct termios usual;
static volatile sig_atomic_t keys_on, edit_on;

void cli_keys_end(void)
{
    if (!keys_on) return;
    keys_on = 0;
    tcsetattr(0, TCSANOW, &usual);
    if (write(1, "\033[?25h", 6) < 0) return;
}

void cli_edit_end(void)
{
    if (!edit_on) return;
    edit_on = 0;
    tcsetattr(0, TCSADRAIN, &usual);
    if (write(2, "\033[?2004l", 8) < 0) return;
}

static void on_end(int sig)
{
    cli_keys_end();
    cli_edit_end();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void on_resize(int sig)
{
    (void)sig; /* it only has to end the wait */
}

static void put_back_after_signals(void)
{
    struct sigaction end = { 0 }, resize = { 0 };
    end.sa_handler = on_end;
    resize.sa_handler = on_resize;
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGHUP, &end, NULL);
    sigaction(SIGWINCH, &resize, NULL);
}

bool cli_keys_begin(void)
{
    struct sigaction end = { 0 };
    if (!cli_is_terminal(stdin) || tcgetattr(0, &usual) != 0) return false;
    struct termios raw = usual;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    end.sa_handler = on_end;
    sigaction(SIGINT, &end, NULL);
    put_back_after_signals();
    keys_on = 1;
    if (tcsetattr(0, TCSANOW, &raw) != 0 || write(1, "\033[?25l", 6) < 0) {
        cli_keys_end();
        return false;
    }
    return true;
}

bool cli_can_edit(void)
{
    struct termios now;
    return cli_is_terminal(stdin) && tcgetattr(0, &now) == 0;
}

bool cli_edit_begin(void)
{
    if (!cli_is_terminal(stdin) || tcgetattr(0, &usual) != 0) return false;
    struct termios raw = usual;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)IXON;
    put_back_after_signals();
    edit_on = 1;
    if (tcsetattr(0, TCSADRAIN, &raw) == 0 && write(2, "\033[?2004h", 8) > 0) return true;
    cli_edit_end();
    return false;
}

void cli_edit_suspend(void)
{
    cli_edit_end();
    raise(SIGTSTP);
    cli_edit_begin();
}

int cli_byte(int ms)
{
    struct pollfd in = { .fd = 0, .events = POLLIN };
    unsigned char c;
    int ready = poll(&in, 1, ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return 0;
    return ready > 0 && read(0, &c, 1) == 1 ? c : -1;
}

void cli_pause(double seconds)
{
    poll(NULL, 0, (int)(1e3 * seconds));
}

int cli_key(double seconds)
{
    struct pollfd in = { .fd = 0, .events = POLLIN };
    unsigned char c;
    if (poll(&in, 1, (int)(1e3 * seconds)) <= 0) return 0;
    return read(0, &c, 1) == 1 ? c : 'q'; /* the terminal went away */
}
#endif

/* ---- signals ---- */

static volatile sig_atomic_t n_signals, erase_line, is_over;

static void say(const char *text, size_t n)
{
    if (write(2, text, (unsigned)n) < 0) return; /* nothing to be done in a handler */
}
#define SAY(text) say(text, sizeof(text) - 1)

static void stop_at_once(const char *text)
{
    say(text, strlen(text));
    _exit(CLI_INTERRUPTED);
}

static void on_signal(int sig)
{
    (void)sig;
    if (erase_line) SAY("\r\033[K");
    if (n_signals++)
        stop_at_once("vktrain: stopped at once; the checkpoints that there are, if any, are "
                     "complete\n");
    if (is_over) return;
    SAY("vktrain: stopping: finishing the step and saving a checkpoint; interrupt again to stop at "
        "once\n");
    vkt_train_stop();
}

void cli_training_is_over(void)
{
    is_over = 1;
}

#ifdef _WIN32
/* Runs on a thread of its own. If a window is closed or the user logs off, Windows ends the process
 * when this returns or after some seconds; main ends it sooner. */
static BOOL WINAPI on_console(DWORD event)
{
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) {
        vkt_train_stop();
        Sleep(INFINITE);
    }
    if (n_signals) consoles_restore(); /* it ends here */
    on_signal(SIGINT);
    return TRUE;
}
#endif

void cli_catch_signals(bool live)
{
    erase_line = live && cli_is_terminal(stderr);
#ifdef _WIN32
    asked_to_stop = on_signal;
    SetConsoleCtrlHandler(on_console, TRUE);
#else
    struct sigaction a = { 0 };
    a.sa_handler = on_signal;
    a.sa_flags = SA_RESTART;
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGUSR1, &a, NULL); /* what launchers hand on to ranks */
    struct sigaction hangup;      /* nohup has it ignored */
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &a, NULL);
#endif
}

static volatile sig_atomic_t n_interrupts;
static const char *answer; /* to the first; set before the handler */

static void on_interrupt(int sig)
{
    if (answer) {
        if (erase_line) SAY("\r\033[K");
        if (n_interrupts) stop_at_once("vktrain: stopped at once\n");
        SAY("vktrain: stopping: ");
        say(answer, strlen(answer));
        SAY("; interrupt again to stop at once\n");
    }
    n_interrupts = 1;
#ifdef _WIN32
    signal(sig, on_interrupt);
#else
    (void)sig;
#endif
}

void cli_catch_interrupts(const char *text)
{
    answer = text;
    erase_line = text && cli_is_terminal(stderr);
#ifdef _WIN32
    asked_to_stop = on_interrupt;
    signal(SIGINT, on_interrupt);
#else
    struct sigaction a = { .sa_handler = on_interrupt, .sa_flags = text ? SA_RESTART : 0 };
    sigaction(SIGINT, &a, NULL);
    if (text) sigaction(SIGTERM, &a, NULL);
#endif
}

bool cli_interrupted(bool clear)
{
    bool came = n_interrupts;
    if (clear) n_interrupts = 0;
    return came;
}
/* ---- another program ---- */

#ifdef _WIN32
int cli_run_program(const char *const *argv)
{
    (void)argv;
    return 127; /* not written */
}
#else
static volatile sig_atomic_t child, n_passed;

static void pass_on(int sig)
{
    (void)sig;
    n_passed++;
    if (child) kill((pid_t)child, n_passed == 1 ? SIGUSR1 : SIGTERM);
}

static void become(const char *const *argv)
{
    int null = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    if (null >= 0) dup2(null, 0);
    execvp(argv[0], (char *const *)(size_t)argv);
    _exit(127);
}

int cli_run_program(const char *const *argv)
{
    struct sigaction a = { 0 };
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) return 127;
    if (pid == 0) become(argv);
    child = (sig_atomic_t)pid;
    a.sa_handler = pass_on;
    a.sa_flags = SA_RESTART;
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    int rc = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return n_passed && rc ? CLI_INTERRUPTED : rc;
}
#endif
