import { once } from 'node:events'
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { startThread } from '../process/start-thread.ts'

/**
 * A run of RE2: a test or, with a template in JavaScript's replacement syntax, a replacement of all matches.
 */
export interface Re2Job {
  readonly source: string
  readonly text: string
  readonly template: string | undefined
}

export interface Re2WorkerData {
  readonly port: MessagePort
  /** One shared integer: `WORKER_BUSY` or `WORKER_IDLE`. */
  readonly status: Int32Array
}

const WORKER_BUSY = 0
export const WORKER_IDLE = 1

interface Re2Worker extends Re2WorkerData {
  readonly started: Promise<unknown>
}

let worker: Re2Worker | undefined

/**
 * Starts the worker thread, if it is not running, and resolves when it is ready. Until then jobs use their
 * fallback.
 */
export async function startRe2Worker(): Promise<void> {
  worker ??= spawnRe2Worker()
  await worker.started
}

/**
 * Runs a job on the worker thread and blocks for at most `timeoutMs`. Returns undefined on a timeout. Calls
 * `runFallback` instead while the thread is busy: it starts on first use, and a job that timed out keeps
 * running.
 */
export function runInRe2Worker<Result extends string | boolean>(
  job: Re2Job,
  timeoutMs: number,
  runFallback: () => Result | undefined,
): Result | undefined {
  worker ??= spawnRe2Worker()
  const { port, status } = worker
  if (Atomics.load(status, 0) !== WORKER_IDLE) return runFallback()
  // Discards the result of a job that timed out.
  receiveMessageOnPort(port)
  Atomics.store(status, 0, WORKER_BUSY)
  port.postMessage(job)
  Atomics.wait(status, 0, WORKER_BUSY, timeoutMs)
  if (Atomics.load(status, 0) === WORKER_BUSY) return undefined
  // The cast is safe: the result of a job with a template is a string, that of a test a boolean.
  return receiveMessageOnPort(port)?.message as Result | undefined
}

function spawnRe2Worker(): Re2Worker {
  const { port1, port2 } = new MessageChannel()
  const status = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const thread = startThread('./worker', import.meta.url, {
    name: 'patterns',
    workerData: { port: port2, status } satisfies Re2WorkerData,
    transferList: [port2],
  })
  const started = Promise.race([once(thread, 'message'), once(thread, 'exit')]).catch(() => undefined)
  thread.unref()
  // An `exit` event follows, and the next job starts another thread.
  thread.on('error', () => {})
  thread.once('exit', () => {
    port1.close()
    worker = undefined
  })
  return { port: port1, status, started }
}
