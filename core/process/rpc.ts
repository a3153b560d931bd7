import { errorMessage } from '../util/error-message.ts'

/** Kinds of asks by name, each with what is asked and what is answered. Both travel as JSON. */
type MethodTable = Record<string, { readonly ask: unknown; readonly answer: unknown }>

/** What this end does when the other asks. Throwing lets the ask fail there, with the error's message. */
export type Handlers<Table extends MethodTable> = {
  readonly [Kind in keyof Table]: (
    ask: Table[Kind]['ask'],
  ) => Table[Kind]['answer'] | Promise<Table[Kind]['answer']>
}

/** One end of a pair that ask each other. */
export interface RpcPeer<Theirs extends MethodTable> {
  /** Rejects when the other end fails, or has not answered within `limitMs`; with `ChannelClosed` when it has gone. */
  request<Kind extends keyof Theirs & string>(
    kind: Kind,
    ask: Theirs[Kind]['ask'],
    limitMs: number,
  ): Promise<Theirs[Kind]['answer']>
  /** Lets every ask under way fail; nothing is sent from now on. */
  close(): void
}

/** What carries the messages, such as the pipe between two processes. */
export interface RpcTransport {
  send(message: unknown): void
  listen(receive: (message: unknown) => void): void
}

export class ChannelClosedError extends Error {}

type Message =
  | { readonly id: number; readonly kind: string; readonly ask: unknown }
  | { readonly to: number; readonly answer: unknown }
  | { readonly to: number; readonly failure: string }

interface Pending {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** Other messages on the same wire are none of ours. */
const MARK = 'signalbox'

/** Opens one end. Messages of one turn of the event loop travel together: a message costs far more than what is in it. */
export function createRpcPeer<Theirs extends MethodTable, Ours extends MethodTable>(
  wire: RpcTransport,
  handlers: Handlers<Ours>,
): RpcPeer<Theirs> {
  const pending = new Map<number, Pending>()
  let outgoing: Message[] = []
  let lastId = 0
  let isClosed = false

  function send(message: Message): void {
    outgoing.push(message)
    if (outgoing.length === 1) setImmediate(flush)
  }

  function flush(): void {
    const messages = outgoing
    outgoing = []
    if (!isClosed) wire.send({ [MARK]: messages })
  }

  function receive(message: Message): void {
    if ('kind' in message) void answer(message.id, message.kind, message.ask)
    else if ('failure' in message) settle(message.to)?.reject(new Error(message.failure))
    else settle(message.to)?.resolve(message.answer)
  }

  async function answer(to: number, kind: string, ask: unknown): Promise<void> {
    try {
      send({ to, answer: await handlers[kind]?.(ask) })
    } catch (error) {
      send({ to, failure: errorMessage(error) })
    }
  }

  function settle(id: number): Pending | undefined {
    const found = pending.get(id)
    clearTimeout(found?.timer)
    pending.delete(id)
    return found
  }

  wire.listen((parcel) => {
    for (const message of readParcel(parcel)) receive(message)
  })

  return {
    request(kind, ask, limitMs) {
      if (isClosed) return Promise.reject(new ChannelClosedError('the other process has gone'))
      const id = ++lastId
      send({ id, kind, ask })
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          settle(id)?.reject(new Error(`the other process did not answer "${kind}" within ${limitMs} ms`))
        }, limitMs)
        pending.set(id, { resolve, reject, timer })
      })
    },
    close() {
      isClosed = true
      for (const id of [...pending.keys()])
        settle(id)?.reject(new ChannelClosedError('the other process has gone'))
    },
  }
}

function readParcel(parcel: unknown): readonly Message[] {
  if (typeof parcel !== 'object' || parcel === null || !(MARK in parcel)) return []
  // Only the other end writes under this name.
  return parcel[MARK] as readonly Message[]
}
