import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Settings } from '../settings/settings.ts'

/** The ports that all workers share. */
export interface Ports {
  readonly host: string
  readonly port: number
  readonly routePort: number
  /** Lets go of those that were kept, for the first worker to listen there. */
  release(): void
}

/**
 * Where the settings ask for any free port, keeps one, so that every worker, also one that comes later, has the same; the one that
 * is in use already, if there is one on this host.
 */
export async function keepPorts(
  { host, port, route_port }: Pick<Settings, 'host' | 'port' | 'route_port'>,
  present?: Ports,
): Promise<Ports> {
  const known = present?.host === host ? present : undefined
  const releases: (() => void)[] = []
  async function keep(): Promise<number> {
    const server = createServer((socket) => socket.destroy()).listen(0, host)
    await once(server, 'listening')
    releases.push(() => server.close())
    return (server.address() as AddressInfo).port
  }
  return {
    host,
    port: port || known?.port || (await keep()),
    routePort: route_port || known?.routePort || (await keep()),
    release() {
      for (const release of releases.splice(0)) release()
    },
  }
}
