import type { ServingAddresses } from '../cluster/messages.ts'
import type { State } from '../state.ts'

/** What a person at the terminal wants to know when the gateway has started. */
interface Start extends ServingAddresses {
  readonly workers: number
  readonly sandboxUrl: string | undefined
}

export function describeStart({ baseUrl, routeBaseUrl, plugins, sandboxUrl, workers }: Start): string {
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

/** The one line for programs. */
export function writeReadyLine({ baseUrl, routeBaseUrl }: ServingAddresses): string {
  return `${JSON.stringify({ ready: true, base_url: baseUrl, route_base_url: routeBaseUrl })}\n`
}

/** Shows the key of the user that an empty data folder gets. */
export function describeDemo(baseUrl: string, key: string): string {
  return [
    '',
    `The data folder was empty: there is now a paid user "demo". Its key is shown this once:`,
    '',
    `  export SIGNALBOX_KEY=${key}`,
    '',
    `  curl ${baseUrl}/v1/chat/completions \\`,
    `    -H "Authorization: Bearer $SIGNALBOX_KEY" -H "Content-Type: application/json" \\`,
    `    -d '{"model":"auto:balance","messages":[{"role":"user","content":"Hello"}]}'`,
    '',
  ].join('\n')
}

/** On an empty log, makes the paid user `demo` and gives out its key; undefined when there is any user already. */
export async function createDemoUser({ accounts, accountCommands }: State): Promise<string | undefined> {
  if (accounts.users().length > 0) return undefined
  const author = { actor: 'system' }
  const demo = await accountCommands.createUser('demo', 'paid', author)
  const { key } = await accountCommands.issueKey(demo.id, author)
  return key
}
