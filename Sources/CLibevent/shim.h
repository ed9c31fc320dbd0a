// Before libevent's headers: they define _GNU_SOURCE, and then fd_set would have other member names here than in Swift's
// own view of glibc, which no module that sees both can compile.
#include <pthread.h>
#include <sys/select.h>
#include <sys/types.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <event2/util.h>

// A GNU function that glibc's headers hide from Swift's view of them.
extern int pthread_setname_np(pthread_t thread, const char *name);
static inline void livepush_set_thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }
