import { parentPort, workerData } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'
import RE2 from 're2'
import { type Re2Job, type Re2WorkerData, WORKER_IDLE } from './run-in-worker.ts'

/** The worker thread for expensive RE2 runs; see `runInRe2Worker`. */

// The cast is safe: `spawnRe2Worker` passes this data.
const { port, status } = workerData as Re2WorkerData

const regexes = new LRUCache<string, RE2>({ max: 1000 })

port.on('message', (job: Re2Job) => {
  port.postMessage(runJob(job))
  notifyIdle()
})

notifyIdle()
parentPort?.postMessage('started')

/** Returns undefined if RE2 rejects the pattern or the result is too long for a string. */
function runJob({ source, text, template }: Re2Job): string | boolean | undefined {
  try {
    const regex = regexes.get(source) ?? new RE2(source, 'gu')
    regexes.set(source, regex)
    regex.lastIndex = 0
    return template === undefined ? regex.test(text) : text.replace(regex, template)
  } catch {
    return undefined
  }
}

function notifyIdle(): void {
  Atomics.store(status, 0, WORKER_IDLE)
  Atomics.notify(status, 0)
}
