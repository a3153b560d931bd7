import type { ServingAddresses } from './gateway.ts'

interface BannerContent extends ServingAddresses {
  readonly workers: number
  /** Undefined when a provider is configured. */
  readonly sandboxUrl: string | undefined
}

/** The text for a person at the terminal once the gateway serves. */
export function formatBanner({ baseUrl, routeBaseUrl, plugins, sandboxUrl, workers }: BannerContent): string {
  const lines = [
    `Signalbox serves at ${baseUrl}, direct routing at ${routeBaseUrl}/route`,
    `plugins: ${plugins.join(' -> ')}`,
  ]
  if (workers > 1) lines.push(`workers: ${workers}`)
  if (sandboxUrl !== undefined) {
    lines.push(`no provider is configured: the sandbox at ${sandboxUrl} stands in for every provider`)
  }
  return lines.join('\n')
}

/** The line of JSON on stdout that tells programs that the gateway is ready. */
export function formatReadyLine({ baseUrl, routeBaseUrl }: ServingAddresses): string {
  return `${JSON.stringify({ ready: true, base_url: baseUrl, route_base_url: routeBaseUrl })}\n`
}
