import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { type LogWatch, watchLog } from './log-watch.ts'
import type { Options } from './options.ts'
import { writeSettings } from './servers/settings.ts'
import { type GatewayProcess, startGateway } from './servers/start-gateway.ts'
import { type Providers, startProviders } from './servers/start-providers.ts'

/** The data folder, the providers and the gateway, which can be restarted. */
export interface Scene {
  readonly folder: string
  readonly dataDir: string
  readonly providers: Providers
  /** The current gateway, or the last one. */
  gateway(): GatewayProcess
  /** Covers all gateways since the start. */
  readonly log: LogWatch
  start(): Promise<GatewayProcess>
  /** Stops all processes and removes the folder. */
  clear(): Promise<void>
}

export async function openScene({ workers, keep }: Options): Promise<Scene> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'signalbox-soak-'))
  const logFile = path.join(folder, 'gateway.log')
  const dataDir = path.join(folder, 'data')
  const providers = await startProviders()
  const settingsFile = await writeSettings(folder, providers.url)
  const log = watchLog(logFile)
  let gateway: GatewayProcess | undefined

  return {
    folder,
    dataDir,
    providers,
    log,
    gateway() {
      if (gateway === undefined) throw new Error('the gateway was not started')
      return gateway
    },
    async start() {
      gateway = await startGateway({ dataDir, settingsFile, providersUrl: providers.url, logFile, workers })
      return gateway
    },
    async clear() {
      await gateway?.kill()
      await providers.stop()
      if (!keep) await rm(folder, { recursive: true, force: true })
    },
  }
}
