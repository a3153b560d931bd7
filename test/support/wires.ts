import type { RpcTransport } from '../../core/threads/rpc.ts'

/** Both ends of a pipe, as between two processes: what is sent is copied as JSON and arrives later. */
export function pairOfWires(): [RpcTransport, RpcTransport] {
  const receivers: ((message: unknown) => void)[] = []
  const end = (own: number, other: number): RpcTransport => ({
    send(message) {
      const text = JSON.stringify(message)
      setImmediate(() => receivers[other]?.(JSON.parse(text)))
    },
    listen(receive) {
      receivers[own] = receive
    },
  })
  return [end(0, 1), end(1, 0)]
}
