/* Loaded with LD_PRELOAD, shows a process a wall clock that is KFIX_TEST_CLOCK seconds off. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *found) {
    int result = syscall(SYS_clock_gettime, clock, found);
    const char *seconds = getenv("KFIX_TEST_CLOCK");
    if (!result && clock == CLOCK_REALTIME && seconds) found->tv_sec += atol(seconds);
    return result;
}

time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return 0;
}
