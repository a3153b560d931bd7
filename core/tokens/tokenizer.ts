import { createIdleThread, startThread } from '../threads/thread.ts'

export type TokenizerMethods = {
  count: { readonly params: readonly string[]; readonly result: number }
}

/** Counts tokens exactly, in a thread that runs while it is needed. */
interface ExactTokenizer {
  /**
   * Resolves with the tokens of the texts in o200k. Rejects if they are too long, or if the thread fails or
   * does not answer in time.
   */
  count(texts: readonly string[]): Promise<number>
  close(): Promise<void>
}

/** How long the thread and its vocabulary are kept after the last request. */
const IDLE_MS = 60_000
const TIMEOUT_MS = 10_000

/** Half a second of counting: others wait for the same thread. */
const MAX_CHARACTERS = 2_000_000

export function createExactTokenizer(): ExactTokenizer {
  const thread = createIdleThread<TokenizerMethods, Record<never, never>>({
    startWorker: () => startThread('./tokenizer-worker', import.meta.url, { name: 'tokenizer' }),
    handlers: {},
    idleMs: IDLE_MS,
  })
  return {
    async count(texts) {
      const characters = texts.reduce((sum, text) => sum + text.length, 0)
      if (characters > MAX_CHARACTERS) throw new RangeError('the texts are too long to count')
      return thread.use((peer) => peer.request('count', texts, TIMEOUT_MS))
    },
    close: () => thread.close(),
  }
}
