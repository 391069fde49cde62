/* A process forks where a call could fail: fork_at.c. */
#ifndef VKT_TESTS_FORK_AT_H
#define VKT_TESTS_FORK_AT_H

/* 1 in the child, whose call no. `n` is to fail with `error`; 0 in the parent, once the child has
 * ended, and where no forks are asked for. `moved` gets the working folder's old and new path; it
 * may be NULL. Only one thread may call this. */
int vkt_fork_at(const char *call, long n, const char *error,
                void (*moved)(const char *old, const char *copy));

#endif
