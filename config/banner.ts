import type { Gateway } from './gateway.ts'

/** What a person at the terminal wants to know when the gateway has started. */
export function describeStart(gateway: Gateway, demoKey: string | undefined): string {
  const { baseUrl, routeBaseUrl, plugins, sandboxUrl } = gateway
  const lines = [
    `Signalbox serves at ${baseUrl}, direct routing at ${routeBaseUrl}/route`,
    `plugins: ${plugins.join(' -> ')}`,
  ]
  if (sandboxUrl !== undefined) {
    lines.push(`no vendor key is configured: the sandbox at ${sandboxUrl} stands in for every vendor`)
  }
  if (demoKey !== undefined) lines.push('', ...describeDemo(baseUrl, demoKey))
  return lines.join('\n')
}

function describeDemo(baseUrl: string, key: string): readonly string[] {
  return [
    `The data folder was empty: there is now a paid user "demo". Its key is shown this once:`,
    '',
    `  export SIGNALBOX_KEY=${key}`,
    '',
    `  curl ${baseUrl}/v1/chat/completions \\`,
    `    -H "Authorization: Bearer $SIGNALBOX_KEY" -H "Content-Type: application/json" \\`,
    `    -d '{"model":"auto:balance","messages":[{"role":"user","content":"Hello"}]}'`,
    '',
  ]
}
