import type { Worker } from 'node:worker_threads'
import { GatewayError } from '../contract/index.ts'
import { startThread } from '../process/start-thread.ts'
import { withTimeout } from '../process/timeout.ts'

/**
 * Work for the regex worker. `set` identifies a list of patterns; `sources` is sent when the worker asks for
 * it.
 */
export type RegexWork =
  | {
      readonly type: 'search'
      readonly set: number
      readonly sources?: readonly string[]
      readonly texts: readonly string[]
    }
  | { readonly type: 'test'; readonly source: string; readonly text: string }
  | { readonly type: 'replace'; readonly source: string; readonly text: string; readonly template: string }

/** The result of the work. Undefined: RE2 failed; `UNKNOWN_SET`: the worker needs the sources of the set. */
export type RegexResult = readonly number[] | boolean | string | undefined

export const UNKNOWN_SET = 'unknown set'

export interface RegexJob {
  readonly id: number
  readonly work: RegexWork
}

export interface RegexJobResult {
  readonly id: number
  readonly result: RegexResult
}

/** RE2 runs in linear time: a job that takes longer lacks CPU time. */
const JOB_TIMEOUT_MS = 5000

interface PendingJob {
  readonly resolve: (result: RegexResult) => void
  readonly reject: (error: Error) => void
}

const pendingJobs = new Map<number, PendingJob>()
let lastJobId = 0
let worker: Worker | undefined

/**
 * Runs RE2 work that may take long in a worker thread, so that it does not block the event loop. Rejects with
 * a `GatewayError` if the worker fails or takes more than 5 s: firewall rules fail closed.
 */
export async function runInRegexWorker(work: RegexWork): Promise<RegexResult> {
  worker ??= startWorker()
  const id = ++lastJobId
  const result = new Promise<RegexResult>((resolve, reject) => pendingJobs.set(id, { resolve, reject }))
  worker.postMessage({ id, work } satisfies RegexJob)
  try {
    return await withTimeout(result, JOB_TIMEOUT_MS, () => new Error('regex worker timed out'))
  } catch (cause) {
    throw new GatewayError('internal_error', 'A rule could not be evaluated. Try again.', { cause })
  } finally {
    pendingJobs.delete(id)
  }
}

function startWorker(): Worker {
  const started = startThread('./regex-worker', import.meta.url, { name: 'regex' })
  started.on('message', ({ id, result }: RegexJobResult) => pendingJobs.get(id)?.resolve(result))
  started.on('error', rejectAll)
  started.once('exit', () => {
    worker = undefined
    rejectAll(new Error('regex worker exited'))
  })
  started.unref()
  return started
}

function rejectAll(error: Error): void {
  for (const { reject } of pendingJobs.values()) reject(error)
}

/**
 * Searches texts for patterns in the regex worker. Returns the indexes of the patterns that match any of the
 * texts; undefined if the automaton could not be built or ran out of memory.
 */
export async function searchInRegexWorker(
  sources: readonly string[],
  texts: readonly string[],
): Promise<readonly number[] | undefined> {
  const set = setIdOf(sources)
  const first = await runInRegexWorker({ type: 'search', set, texts })
  const result =
    first === UNKNOWN_SET ? await runInRegexWorker({ type: 'search', set, sources, texts }) : first
  return typeof result === 'object' ? result : undefined
}

const setIds = new WeakMap<readonly string[], number>()
let lastSetId = 0

/** Returns the same id for the same list object. The worker caches automata by id. */
function setIdOf(sources: readonly string[]): number {
  const id = setIds.get(sources) ?? ++lastSetId
  setIds.set(sources, id)
  return id
}
