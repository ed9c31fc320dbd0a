#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <event2/util.h>
#include <pthread.h>

// A GNU function that glibc's headers hide from Swift's view of them.
extern int pthread_setname_np(pthread_t thread, const char *name);
static inline void livepush_set_thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }
