import { once } from 'node:events'
import type { MessagePort } from 'node:worker_threads'
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { startThread } from '../process/start-thread.ts'

/** A run of RE2: a test, or with a template (as JavaScript writes it) a replacement of all matches. */
export interface Re2Job {
  readonly source: string
  readonly text: string
  readonly template: string | undefined
}

/** What the thread is given at its start. */
export interface Re2WorkerData {
  readonly port: MessagePort
  /** 1 when the thread is free. */
  readonly status: Int32Array
}

/** Resolves when the thread is there: who uses it before has to do without. */
export async function startRe2Worker(): Promise<void> {
  thread ??= spawnRe2Worker()
  await thread.started
}

/**
 * Runs RE2 on a thread of its own, waiting for at most `milliseconds`; undefined when that was not enough. While the
 * thread is not free (it starts on first use, and a run that was given up goes on to its end) `otherwise` does the work.
 */
export function runInRe2Worker<Result extends string | boolean>(
  job: Re2Job,
  milliseconds: number,
  otherwise: () => Result | undefined,
): Result | undefined {
  thread ??= spawnRe2Worker()
  const { port, status: signal } = thread
  if (Atomics.load(signal, 0) !== FREE) return otherwise()
  // The answer of a run that was given up.
  receiveMessageOnPort(port)
  Atomics.store(signal, 0, BUSY)
  port.postMessage(job)
  Atomics.wait(signal, 0, BUSY, milliseconds)
  if (Atomics.load(signal, 0) === BUSY) return undefined
  // The thread answers a template with a text and all else with a boolean.
  return receiveMessageOnPort(port)?.message as Result | undefined
}

const BUSY = 0
const FREE = 1

interface Re2Worker extends Re2WorkerData {
  readonly started: Promise<unknown>
}

let thread: Re2Worker | undefined

function spawnRe2Worker(): Re2Worker {
  const { port1, port2 } = new MessageChannel()
  const signal = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const worker = startThread('./worker', import.meta.url, {
    name: 'patterns',
    workerData: { port: port2, status: signal } satisfies Re2WorkerData,
    transferList: [port2],
  })
  const started = Promise.race([once(worker, 'message'), once(worker, 'exit')]).catch(() => undefined)
  worker.unref()
  // Its exit follows, and the next use starts another.
  worker.on('error', () => {})
  worker.once('exit', () => {
    port1.close()
    thread = undefined
  })
  return { port: port1, status: signal, started }
}
