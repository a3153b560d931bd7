import type { RpcTransport } from './rpc.ts'

/** What a `Worker` and a `MessagePort` have in common. */
interface Port {
  postMessage(message: unknown, moved?: readonly ArrayBuffer[]): void
  on(event: 'message', receive: (message: unknown) => void): unknown
}

/** Carries messages between two threads. `port`: the worker, or in the worker itself its `parentPort`. */
export function createPortTransport(port: Port | null): RpcTransport {
  return {
    send: (message, moved) => port?.postMessage(message, moved),
    listen: (receive) => void port?.on('message', receive),
  }
}
