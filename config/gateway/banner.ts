import { writeSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Logger } from 'pino'
import { errorMessage } from '../../core/util/error-message.ts'
import { readVersion } from '../../core/util/package-folder.ts'
import type { Settings } from '../settings/settings.ts'
import type { ServingAddresses } from './gateway.ts'

interface BannerContent extends ServingAddresses {
  readonly settings: Pick<Settings, 'data_dir' | 'eventstore_url'>
  readonly workers: number
  /** Undefined when a provider is configured. */
  readonly sandboxUrl: string | undefined
}

/** The text for a person at the terminal once the gateway serves. */
export function formatBanner(content: BannerContent): string {
  const { baseUrl, routeBaseUrl, plugins, sandboxUrl, workers, settings } = content
  const log = settings.eventstore_url === undefined ? '' : '; the event log is in EventStoreDB'
  const lines = [
    `Signalbox serves at ${baseUrl}, direct routing at ${routeBaseUrl}/route`,
    `version: ${readVersion()}`,
    `data folder: ${resolve(settings.data_dir)}${log}`,
    `plugins: ${plugins.join(' -> ')}`,
  ]
  if (plugins.includes('console')) lines.splice(1, 0, `console: ${baseUrl}/console/`)
  if (workers > 1) lines.push(`workers: ${workers}`)
  if (sandboxUrl !== undefined) {
    lines.push(`no provider is configured: the sandbox at ${sandboxUrl} stands in for every provider`)
  }
  return lines.join('\n')
}

/**
 * Writes the line of JSON on stdout that tells programs that the gateway is ready. A gateway that cannot
 * write it serves nevertheless.
 */
export function writeReadyLine({ baseUrl, routeBaseUrl }: ServingAddresses, logger: Logger): void {
  const line = JSON.stringify({ ready: true, base_url: baseUrl, route_base_url: routeBaseUrl })
  try {
    writeSync(1, `${line}\n`)
  } catch (error) {
    logger.warn({ reason: errorMessage(error) }, 'ready line could not be written to stdout')
  }
}
