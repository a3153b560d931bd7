/** Whether the client still waits for its answer. */
export interface ClientConnection {
  readonly isAborted: boolean
  /** Calls `notify` once when the client leaves before the answer has ended, at once if it has. Gives back what takes that back. */
  onAbort(notify: (reason: unknown) => void): () => void
  /** Calls `notify` once when the answer has ended or the client has left, at once if that was so. */
  onClose(notify: () => void): void
  /** Aborts when the client leaves. Made on first use, and dear: on the hot path `whenLeft` is better. */
  readonly signal: AbortSignal
}
