import type { Worker } from 'node:worker_threads'
import { GatewayError } from '../contract/index.ts'
import { startThread } from '../process/start-thread.ts'

/** Work on RE2 that could take long. A set's `sources` come along when the thread does not know the set. */
export type RegexWork =
  | {
      readonly type: 'search'
      readonly set: number
      readonly sources?: readonly string[]
      readonly texts: readonly string[]
    }
  | { readonly type: 'test'; readonly source: string; readonly text: string }
  | { readonly type: 'replace'; readonly source: string; readonly text: string; readonly template: string }

/** What came of it; undefined when RE2 gave up, `unknown set` when a set's sources are needed. */
export type RegexResult = readonly number[] | boolean | string | undefined

export interface RegexJob {
  readonly job: number
  readonly work: RegexWork
}

export interface RegexAnswer {
  readonly job: number
  readonly result: RegexResult
}

export const UNKNOWN_SET = 'unknown set'

/** RE2 is linear: what takes longer than this has been crowded out. */
const MAX_JOB_MS = 5000

const waiting = new Map<number, (answer: RegexAnswer | Error) => void>()
let lastJob = 0
let thread: Worker | undefined

/** Has the work done on a thread of its own, so that nobody else waits. Rejects when that did not work: guards fail closed. */
export async function runInRegexWorker(work: RegexWork): Promise<RegexResult> {
  thread ??= start()
  const job = ++lastJob
  thread.postMessage({ job, work } satisfies RegexJob)
  const late = setTimeout(() => settle(job, new Error('no answer in time')), MAX_JOB_MS)
  const answer = await new Promise<RegexAnswer | Error>((resolve) => waiting.set(job, resolve))
  clearTimeout(late)
  if (!(answer instanceof Error)) return answer.result
  throw new GatewayError('internal_error', 'A rule could not be evaluated. Try again.', { cause: answer })
}

function start(): Worker {
  const worker = startThread('./regex-worker', import.meta.url, { name: 'regex' })
  worker.on('message', (answer: RegexAnswer) => settle(answer.job, answer))
  worker.on('error', (error) => settleAll(error))
  worker.once('exit', () => {
    thread = undefined
    settleAll(new Error('the thread ended'))
  })
  worker.unref()
  return worker
}

function settle(job: number, answer: RegexAnswer | Error): void {
  waiting.get(job)?.(answer)
  waiting.delete(job)
}

function settleAll(error: Error): void {
  for (const job of [...waiting.keys()]) settle(job, error)
}

/** Searches on the regex thread; the places of the patterns that are found, or undefined when the automaton gave up. */
export async function searchInRegexWorker(
  sources: readonly string[],
  texts: readonly string[],
): Promise<readonly number[] | undefined> {
  const set = numberOf(sources)
  const first = await runInRegexWorker({ type: 'search', set, texts })
  const result =
    first === UNKNOWN_SET ? await runInRegexWorker({ type: 'search', set, sources, texts }) : first
  return typeof result === 'object' ? result : undefined
}

const numbers = new WeakMap<readonly string[], number>()
let last = 0

/** The same number for the same list: the thread keeps automata by it. */
function numberOf(sources: readonly string[]): number {
  const number = numbers.get(sources) ?? ++last
  numbers.set(sources, number)
  return number
}
