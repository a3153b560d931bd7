import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Settings } from '../settings/settings.ts'

/** The ports that all workers share. */
export interface SharedPorts {
  readonly host: string
  readonly port: number
  readonly routePort: number
  /** Closes the reserved ports, so that the first worker can listen on them. */
  release(): void
}

/**
 * Reserves a free port where the settings ask for any, so that every worker, including a later replacement,
 * listens on the same one. A port that is already in use for this host is kept.
 */
export async function reservePorts(
  { host, port, route_port }: Pick<Settings, 'host' | 'port' | 'route_port'>,
  current?: SharedPorts,
): Promise<SharedPorts> {
  const known = current?.host === host ? current : undefined
  const releases: (() => void)[] = []
  async function reserve(): Promise<number> {
    const server = createServer((socket) => socket.destroy()).listen(0, host)
    await once(server, 'listening')
    releases.push(() => server.close())
    return (server.address() as AddressInfo).port
  }
  return {
    host,
    port: port || known?.port || (await reserve()),
    routePort: route_port || known?.routePort || (await reserve()),
    release() {
      for (const release of releases.splice(0)) release()
    },
  }
}
