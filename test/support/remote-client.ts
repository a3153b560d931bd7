import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Sends requests from a thread of its own, so that what the event loop of this one does is the gateway's. */
export interface RemoteClient {
  /** Resolves with the status once the response has ended. */
  send(call: RemoteCall): Promise<number>
  close(): Promise<unknown>
}

interface RemoteCall {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON, made before the time is measured. */
  readonly body?: string | undefined
}

const SOURCE = `
const { parentPort } = require('node:worker_threads')
parentPort.on('message', async ({ url, ...call }) => {
  const response = await fetch(url, call)
  await response.arrayBuffer()
  parentPort.postMessage(response.status)
})`

export function createRemoteClient(): RemoteClient {
  const worker = new Worker(SOURCE, { eval: true })
  return {
    async send(call) {
      worker.postMessage(call)
      const [status] = await once(worker, 'message')
      return status
    },
    close: () => worker.terminate(),
  }
}
