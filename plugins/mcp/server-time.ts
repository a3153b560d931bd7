import type { UpstreamContext } from './upstream/upstream.ts'

/** Measures how long a server takes for a call: since it was sent, without waiting for the client. */
export function createServerTime(): {
  /** Returns the context to make the call with. */
  watch(context: UpstreamContext): UpstreamContext
  /** Milliseconds until now; 0 if nothing was sent. */
  elapsed(): number
} {
  let sentAt: number | undefined
  let asking = 0
  let askedAt = 0
  let waitedMs = 0
  return {
    watch: ({ onRequest, ...context }) => ({
      ...context,
      onSent: (at) => {
        sentAt ??= at
      },
      ...(onRequest && {
        async onRequest(method, params) {
          if (asking++ === 0) askedAt = performance.now()
          try {
            return await onRequest(method, params)
          } finally {
            if (--asking === 0) waitedMs += performance.now() - askedAt
          }
        },
      }),
    }),
    elapsed() {
      if (sentAt === undefined) return 0
      const now = performance.now()
      return now - sentAt - waitedMs - (asking > 0 ? now - askedAt : 0)
    },
  }
}
