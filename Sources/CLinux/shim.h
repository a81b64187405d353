#ifndef AUTHPROXY_CLINUX_H
#define AUTHPROXY_CLINUX_H
// What the Glibc module leaves out, and macros that the importer can not read. Static inline functions only.
// Some types are laid out under other names when GNU declarations are asked for, and Glibc's module does not ask: a type that
// two modules define differently can not be imported. So these are read first, without.
#include <sys/resource.h>
#include <sys/select.h>
#undef _FEATURES_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// Without glibc's cancellation points, which cost two atomic operations a call in a process with threads; no thread is cancelled.
static inline ssize_t clinux_receive(int fd, void *buffer, size_t length, int flags) {
    return syscall(SYS_recvfrom, fd, buffer, length, flags, NULL, NULL);
}
static inline ssize_t clinux_send(int fd, const void *bytes, size_t length, int flags) {
    return syscall(SYS_sendto, fd, bytes, length, flags, NULL, 0);
}
static inline ssize_t clinux_send_message(int fd, const struct msghdr *message, int flags) {
    return syscall(SYS_sendmsg, fd, message, flags);
}
static inline int clinux_accept(int fd, struct sockaddr_storage *address, socklen_t *length) {
    return accept4(fd, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
static inline int clinux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }
// Edge-triggered, both directions, once for the life of the descriptor.
static inline int clinux_epoll_add(int epoll, int fd, uint64_t token) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.u64 = token}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}
// Level-triggered input: listeners, eventfds, signalfds.
static inline int clinux_epoll_add_level(int epoll, int fd, uint64_t token) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = token}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}
static inline int clinux_epoll_remove(int epoll, int fd) { return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, 0); }
static inline int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
static inline int clinux_stream_socket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }
static inline int clinux_datagram_socket(void) { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); }
static inline int clinux_pipe(int fds[2]) { return pipe2(fds, O_NONBLOCK | O_CLOEXEC); }
static inline int clinux_set_pipe_size(int fd, int size) { return fcntl(fd, F_SETPIPE_SZ, size); }
static inline ssize_t clinux_splice(int from, int to, size_t length, int more) {
    return splice(from, 0, to, 0, length, SPLICE_F_MOVE | SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0));
}
static inline int clinux_set_flag(int fd, int level, int option, int value) {
    return setsockopt(fd, level, option, &value, sizeof value);
}
static inline int clinux_no_delay(int fd) { return clinux_set_flag(fd, IPPROTO_TCP, TCP_NODELAY, 1); }
static inline int clinux_socket_error(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}
static inline int64_t clinux_monotonic_coarse_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
static inline int64_t clinux_monotonic_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
static inline int64_t clinux_realtime_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
// Of a file below `folder`, never of one that a symbolic link, `..` or a link of /proc leads out to. Never waits for the other
// end of a FIFO, never takes a terminal over. glibc has no wrapper for the call.
static inline int clinux_open_beneath(int folder, const char *path) {
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}
// The same file where openat2 is not to be had: one component, which is no link.
static inline int clinux_open_component(int folder, const char *name, int is_folder) {
    return openat(folder, name, O_CLOEXEC | O_NOFOLLOW | (is_folder ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY));
}
static inline int clinux_open_folder(const char *path) { return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC); }
static inline ssize_t clinux_sendfile(int to, int from, int64_t offset, size_t length) {
    off_t position = offset;
    return sendfile(to, from, &position, length);
}
// Not blocked by a FIFO that nobody writes.
static inline int clinux_open_read(const char *path) { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }
static inline int clinux_is_regular(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}
static inline int clinux_open_append(const char *path) { return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640); }
static inline int clinux_inotify(void) { return inotify_init1(IN_CLOEXEC | IN_NONBLOCK); }
static inline int clinux_signalfd(const sigset_t *mask) { return signalfd(-1, mask, SFD_CLOEXEC | SFD_NONBLOCK); }
static inline int clinux_set_nonblocking(int fd) { return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }
static inline int clinux_set_close_on_exec(int fd, int on) { return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0); }
// Each signal lets one waiter through.
static inline int clinux_semaphore(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE); }
// Never waits for the other end of a FIFO, never takes a terminal over.
static inline int clinux_open_watched(const char *path) { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }
// A FIFO that nobody reads is an error at once instead of a wait for ever.
static inline int clinux_open_log(const char *path) {
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
}
static inline ssize_t clinux_send_now(int fd, const void *bytes, size_t length) {
    return send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}
// A listening socket sees no connection that only begins: segments with SYN and without ACK are dropped, as if they were lost. A
// filter of a TCP socket sees the TCP header at its start; the flags are its octet 13.
static inline int clinux_drop_connections_to_come(int fd) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),   BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}
static inline int clinux_poll(int fd, short events, int milliseconds) {
    struct pollfd entry = {.fd = fd, .events = events};
    return poll(&entry, 1, milliseconds);
}
static inline int clinux_send_timeout(int fd, int milliseconds) {
    struct timeval limit = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}
static inline int clinux_is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }
static inline mode_t clinux_file_type(mode_t mode) { return mode & S_IFMT; }
// Of the calling thread; the kernel keeps 15 bytes.
static inline void clinux_set_thread_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
// Cores that this process may be scheduled on.
static inline int clinux_core_count(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}
// The soft limit on open files, raised to the hard one.
static inline uint64_t clinux_raise_open_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 1024;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur;
}
// One variable of the environment; NULL behind the last.
static inline const char *clinux_environment(long index) { return environ ? environ[index] : 0; }
#endif
