import { WebSocket } from 'undici'

/** Environment of a process whose heap is to be weighed. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

export interface Heap {
  /** Megabytes in use after garbage was collected. */
  weigh(): Promise<number>
  close(): void
}

/** Weighs the heap of a process that was started with `INSPECTED`; `stderr` is what it has written there so far. */
export async function openHeap(stderr: string): Promise<Heap> {
  const url = /ws:\/\/\S+/.exec(stderr)?.[0]
  if (url === undefined) throw new Error('the process was not started with INSPECTED')
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  let last = 0

  /** The inspector answers under the number of the question. */
  function ask(method: string, params: object = {}): Promise<unknown> {
    const id = ++last
    socket.send(JSON.stringify({ id, method, params }))
    return new Promise((resolve) => {
      socket.addEventListener('message', function hear({ data }) {
        const message = JSON.parse(String(data))
        if (message.id !== id) return
        socket.removeEventListener('message', hear)
        resolve(message.result)
      })
    })
  }

  return {
    async weigh() {
      await ask('HeapProfiler.collectGarbage')
      const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())'
      const { result } = (await ask('Runtime.evaluate', { expression })) as { result: { value: number } }
      return result.value / 2 ** 20
    },
    close: () => socket.close(),
  }
}
