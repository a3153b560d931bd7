import { WebSocket } from 'undici'

/** Environment of a process whose heap is to be weighed. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

/** One thread, seen through the inspector. */
export interface Inspection {
  collectGarbage(): Promise<void>
  /** The value of an expression there, a number or a text. */
  evaluate<Value extends number | string>(expression: string): Promise<Value>
}

/** A conversation with the inspector of a process, about its main thread. */
export interface Inspector extends Inspection {
  /** The other threads of JavaScript. */
  threads(): Promise<readonly Inspection[]>
  close(): void
}

export interface Heap {
  /** Megabytes in use after garbage was collected. */
  weigh(): Promise<number>
  close(): void
}

/**
 * Weighs the heap of a process that was started with `INSPECTED`; `stderr` is what it has written there so
 * far.
 */
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
  const listeners = new Set<(message: Message) => void>()
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data))
    for (const listener of listeners) listener(message)
  })
  const gone = new Promise<never>((_, reject) => {
    socket.addEventListener('close', () => reject(new Error('the inspector has gone')))
  })
  // Whoever waits hears of it.
  gone.catch(() => undefined)
  const ask = createAsk((text) => socket.send(text), listeners, gone)
  return {
    ...inspect(ask),
    async threads() {
      const found: Inspection[] = []
      const listen = ({ method, params }: Message) => {
        if (method !== 'NodeWorker.attachedToWorker' || params === undefined) return
        const { sessionId } = params
        const send = (message: string) => void ask('NodeWorker.sendMessageToWorker', { sessionId, message })
        found.push(inspect(createAsk(send, hearThread(listeners, sessionId), gone)))
      }
      listeners.add(listen)
      // Tells of every thread before it answers.
      await ask('NodeWorker.enable', { waitForDebuggerOnStart: false })
      listeners.delete(listen)
      return found
    },
    close: () => socket.close(),
  }
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly sessionId: string; readonly message: string }
  readonly result?: unknown
}

interface Listeners {
  add(listener: (message: Message) => void): void
  delete(listener: (message: Message) => void): void
}

type Ask = (method: string, params?: object) => Promise<unknown>

/** The inspector answers under the number of the question. */
function createAsk(send: (text: string) => void, listeners: Listeners, gone: Promise<never>): Ask {
  let last = 0
  return (method, params = {}) => {
    const id = ++last
    const answer = new Promise((resolve) => {
      listeners.add(function hear(message) {
        if (message.id !== id) return
        listeners.delete(hear)
        resolve(message.result)
      })
    })
    send(JSON.stringify({ id, method, params }))
    return Promise.race([answer, gone])
  }
}

/** What a thread says comes wrapped, by way of its process. */
function hearThread(listeners: Listeners, sessionId: string): Listeners {
  const wrapped = new Map<unknown, (message: Message) => void>()
  return {
    add(listener) {
      const hear = ({ method, params }: Message) => {
        if (method === 'NodeWorker.receivedMessageFromWorker' && params?.sessionId === sessionId)
          listener(JSON.parse(params.message))
      }
      wrapped.set(listener, hear)
      listeners.add(hear)
    },
    delete(listener) {
      const hear = wrapped.get(listener)
      if (hear !== undefined) listeners.delete(hear)
    },
  }
}

function inspect(ask: Ask): Inspection {
  return {
    async collectGarbage() {
      await ask('HeapProfiler.collectGarbage')
    },
    async evaluate(expression) {
      const { result } = (await ask('Runtime.evaluate', { expression })) as { result: { value: never } }
      return result.value
    },
  }
}
