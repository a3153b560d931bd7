import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The process of the providers. */
export interface Providers {
  readonly url: string
  readonly pid: number
  /** Closes all connections and listens on the same address again. */
  reopen(): Promise<void>
  stop(): Promise<void>
}

export async function startProviders(): Promise<Providers> {
  const program = fileURLToPath(new URL('providers.ts', import.meta.url))
  const child = fork(program, { execArgv: ['--import', 'tsx'] })
  const exited = once(child, 'exit')
  const first = await Promise.race([once(child, 'message'), exited.then(() => undefined)])
  if (first === undefined) throw new Error('the providers did not start')
  return {
    url: first[0],
    pid: child.pid ?? 0,
    async reopen() {
      child.send('reopen')
      await once(child, 'message')
    },
    async stop() {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
