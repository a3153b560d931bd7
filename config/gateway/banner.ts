import type { ServingAddresses } from './gateway.ts'
import type { State } from './state.ts'

interface BannerContent extends ServingAddresses {
  readonly workers: number
  /** Undefined when a provider key is configured. */
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
    lines.push(`no provider key is configured: the sandbox at ${sandboxUrl} stands in for every provider`)
  }
  return lines.join('\n')
}

/** The line of JSON on stdout that tells programs that the gateway is ready. */
export function formatReadyLine({ baseUrl, routeBaseUrl }: ServingAddresses): string {
  return `${JSON.stringify({ ready: true, base_url: baseUrl, route_base_url: routeBaseUrl })}\n`
}

/** The notice about the demo user of an empty event log, with the user's key. */
export function formatDemoNotice(baseUrl: string, key: string): string {
  return [
    '',
    `The event log was empty, so a paid user "demo" was created. Its key is shown only once:`,
    '',
    `  export SIGNALBOX_KEY=${key}`,
    '',
    `  curl ${baseUrl}/v1/chat/completions \\`,
    `    -H "Authorization: Bearer $SIGNALBOX_KEY" -H "Content-Type: application/json" \\`,
    `    -d '{"model":"auto:balance","messages":[{"role":"user","content":"Hello"}]}'`,
    '',
  ].join('\n')
}

/**
 * Creates the paid user `demo` on an empty event log and returns its key. Returns undefined if there is a
 * user already.
 */
export async function createDemoUser({ accounts, accountCommands }: State): Promise<string | undefined> {
  if (accounts.users().length > 0) return undefined
  const author = { actor: 'system' }
  const demo = await accountCommands.createUser('demo', 'paid', author)
  const { key } = await accountCommands.issueKey(demo.id, author)
  return key
}
