import { parentPort, workerData } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'
import RE2 from 're2'
import type { Re2Job, Re2WorkerData } from './run-in-worker.ts'

/** The thread for RE2 runs that could take long: the main thread waits for it no longer than it has time. */

// apart.ts gives it.
const { port, status: signal } = workerData as Re2WorkerData

const regexes = new LRUCache<string, RE2>({ max: 1000 })

port.on('message', (job: Re2Job) => {
  port.postMessage(run(job))
  ring(1)
})

ring(1)
parentPort?.postMessage('started')

/** Undefined when RE2 refuses the pattern, or the result is too long for a string. */
function run({ source, text, template }: Re2Job): string | boolean | undefined {
  try {
    const regex = regexes.get(source) ?? new RE2(source, 'gu')
    regexes.set(source, regex)
    regex.lastIndex = 0
    return template === undefined ? regex.test(text) : text.replace(regex, template)
  } catch {
    return undefined
  }
}

function ring(state: number): void {
  Atomics.store(signal, 0, state)
  Atomics.notify(signal, 0)
}
