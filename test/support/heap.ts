import { WebSocket } from 'undici'

/** Environment of a process whose heap is to be weighed. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

/** A conversation with the inspector of a process. */
export interface Inspector {
  collectGarbage(): Promise<void>
  /** The value of an expression in the process, a number or a text. */
  evaluate<Value extends number | string>(expression: string): Promise<Value>
  close(): void
}

export interface Heap {
  /** Megabytes in use after garbage was collected. */
  weigh(): Promise<number>
  close(): void
}

/** Weighs the heap of a process that was started with `INSPECTED`; `stderr` is what it has written there so far. */
export async function openHeap(stderr: string): Promise<Heap> {
  const [url] = findInspectors(stderr)
  if (url === undefined) throw new Error('the process was not started with INSPECTED')
  const inspector = await openInspector(url)
  return {
    async weigh() {
      await inspector.collectGarbage()
      const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())'
      return (await inspector.evaluate<number>(expression)) / 2 ** 20
    },
    close: inspector.close,
  }
}

/** Addresses of the inspectors that these lines tell of. */
export function findInspectors(stderr: string): readonly string[] {
  return stderr.match(/ws:\/\/\S+/g) ?? []
}

/** Rejects when nobody listens there any more. */
export async function openInspector(url: string): Promise<Inspector> {
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
    return new Promise((resolve, reject) => {
      const leave = () => reject(new Error('the inspector has gone'))
      socket.addEventListener('close', leave)
      socket.addEventListener('message', function hear({ data }) {
        const message = JSON.parse(String(data))
        if (message.id !== id) return
        socket.removeEventListener('message', hear)
        socket.removeEventListener('close', leave)
        resolve(message.result)
      })
    })
  }

  return {
    async collectGarbage() {
      await ask('HeapProfiler.collectGarbage')
    },
    async evaluate(expression) {
      const { result } = (await ask('Runtime.evaluate', { expression })) as { result: { value: never } }
      return result.value
    },
    close: () => socket.close(),
  }
}
