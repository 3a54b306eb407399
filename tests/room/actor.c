/* One process of a test's stage: it renames itself, uses device files, ignores or answers signals, as it is told.
 *
 * actor [--title T] [--comm C] [--open FILE] [--map FILE BYTES] [--ignore-term] [--linger MS] [--fork-on-term N]
 *       [--fork-for-ever] [--exit-on-term CODE] [--leave] [--session] [--group] [--listen PORT] [--stop] [--children N]
 *       [--zombie] [--thread-only] [--spin] [--ready FILE] [--unreaped]
 * actor --init PROGRAM [ARGUMENTS]   be pid 1: start the program, reap every orphan, end with the program's status
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *ready_file;
static volatile sig_atomic_t term_seen;
static int fork_on_term, linger_ms, fork_for_ever;

static void nap(int ms) {
    struct timespec left = {ms / 1000, (ms % 1000) * 1000000L};
    while (nanosleep(&left, &left) == -1 && errno == EINTR) {}
}

static void tell(void) {
    char line[32];
    if (!ready_file) return;
    int file = open(ready_file, O_WRONLY | O_CREAT | O_APPEND, 0644);
    int length = snprintf(line, sizeof line, "%d\n", getpid());
    if (write(file, line, length) != length) _exit(90);
    close(file);
}

static void on_term(int number) { (void)number; term_seen = 1; }

static void *sleep_for_ever(void *unused) { (void)unused; for (;;) nap(1000); return NULL; }

static void rename_to(int argc, char **argv, const char *title) {
    char *end = argv[argc - 1] + strlen(argv[argc - 1]);
    size_t room = end - argv[0];
    char *copy = strdup(title);
    memset(argv[0], 0, room);
    strncpy(argv[0], copy, room);
}

static int be_init(char **program) {
    pid_t child = fork();
    if (child == 0) { execvp(program[0], program); _exit(127); }
    for (;;) {
        int status;
        pid_t ended = wait(&status);
        if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

static void listen_on(int port) {
    int socket_ = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(socket_, (void *)&address, sizeof address) || listen(socket_, 5)) _exit(91);
}

static void be_child(int ignore_term) {
    signal(SIGTERM, ignore_term ? SIG_IGN : SIG_DFL);
    tell();
    for (;;) nap(1000);
}

int main(int argc, char **argv) {
    char *title = NULL, *comm = NULL, *map_file = NULL;
    size_t map_bytes = 0;
    int children = 0, stop = 0, zombie = 0, thread_only = 0, spin = 0, answers_term = 0, port = 0;
    if (argc > 2 && !strcmp(argv[1], "--init")) return be_init(argv + 2);
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        if (!strcmp(word, "--title")) title = strdup(argv[++i]);
        else if (!strcmp(word, "--comm")) comm = strdup(argv[++i]);
        else if (!strcmp(word, "--open")) { if (open(argv[++i], O_RDWR) < 0) return 92; }
        else if (!strcmp(word, "--map")) {
            map_file = argv[++i];
            map_bytes = strtoull(argv[++i], NULL, 10);
            int file = open(map_file, O_RDWR);
            if (file < 0 || mmap(NULL, map_bytes, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED) return 93;
        }
        else if (!strcmp(word, "--ignore-term")) signal(SIGTERM, SIG_IGN);
        else if (!strcmp(word, "--linger")) { linger_ms = atoi(argv[++i]); answers_term = 1; }
        else if (!strcmp(word, "--fork-on-term")) { fork_on_term = atoi(argv[++i]); answers_term = 1; }
        else if (!strcmp(word, "--fork-for-ever")) { fork_for_ever = 1; answers_term = 1; }
        else if (!strcmp(word, "--leave")) { if (fork()) return 0; setsid(); if (fork()) return 0; }
        else if (!strcmp(word, "--session")) setsid();
        else if (!strcmp(word, "--group")) setpgid(0, 0);
        else if (!strcmp(word, "--listen")) port = atoi(argv[++i]);
        else if (!strcmp(word, "--stop")) stop = 1;
        else if (!strcmp(word, "--children")) children = atoi(argv[++i]);
        else if (!strcmp(word, "--zombie")) zombie = 1;
        else if (!strcmp(word, "--thread-only")) thread_only = 1;
        else if (!strcmp(word, "--spin")) spin = 1;
        else if (!strcmp(word, "--ready")) ready_file = strdup(argv[++i]);
        else if (!strcmp(word, "--")) break; /* words that only show in the command line */
        else return 94;
    }
    if (port) listen_on(port);
    if (answers_term) signal(SIGTERM, on_term);
    if (title) rename_to(argc, argv, title);
    if (comm) prctl(PR_SET_NAME, comm);
    else if (title) prctl(PR_SET_NAME, title);
    for (int i = 0; i < children; i++) if (fork() == 0) be_child(0);
    if (zombie) { /* a dead child that nobody reaps */
        pid_t child = fork();
        if (child == 0) { tell(); _exit(0); }
    }
    if (thread_only) { /* the first thread ends, another lives: a zombie leader that still holds everything */
        pthread_t thread;
        pthread_create(&thread, NULL, sleep_for_ever, NULL);
        tell();
        pthread_exit(NULL);
    }
    tell();
    if (stop) raise(SIGSTOP);
    for (;;) {
        if (spin) { for (volatile long i = 0; i < 1000000; i++) {} }
        else nap(20);
        if (!term_seen) continue;
        term_seen = 0;
        if (fork_for_ever) { if (fork()) _exit(0); setsid(); tell(); nap(10); term_seen = 1; continue; }
        for (int i = 0; i < fork_on_term; i++) if (fork() == 0) be_child(1);
        nap(linger_ms);
        _exit(0);
    }
}
