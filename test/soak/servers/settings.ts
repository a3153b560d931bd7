import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { PROVIDER_PATHS, PROVIDERS } from '../../support/providers.ts'
import { writeMisbehavingPlugin } from './misbehaving-plugin.ts'

/** Providers that fail on request: one for each format, in addition to the five reliable ones. */
export const FLAKY_FORMATS = PROVIDERS

/** The provider of the user whose requests all fail. */
export const UNLUCKY_PROVIDER = 'unlucky'

/** The environment variable of their key. */
export const FLAKY_KEY = 'FLAKY_KEY'

export const BODY_LIMIT = 4 * 1024 * 1024

/**
 * Longer than providers take on a busy machine, and short enough to expire many times during a soak.
 */
const TIMEOUTS = { connect_ms: 3000, first_byte_ms: 6000, idle_ms: 6000, plugin_ms: 1000 }

/** Writes the shipped settings with smaller limits, so that each is reached during a soak. */
export async function writeSettings(folder: string, providersUrl: string): Promise<string> {
  const flaky = Object.entries(PROVIDER_PATHS).map(([format, place]) => [
    `flaky-${format}`,
    { format, base_url: providersUrl + place, key_variable: FLAKY_KEY },
  ])
  const unlucky = {
    format: 'openai',
    base_url: providersUrl + PROVIDER_PATHS.openai,
    key_variable: FLAKY_KEY,
  }
  const plugin = { use: await writeMisbehavingPlugin(folder), before: 'firewall' }
  const settings = {
    plugins: { add: [plugin] },
    providers: { ...Object.fromEntries(flaky), [UNLUCKY_PROVIDER]: unlucky },
    models: ['one', 'two', 'three'].map((name) => ({
      id: `unlucky-${name}`,
      provider: UNLUCKY_PROVIDER,
      context: 100_000,
      max_output: 8000,
      // Never chosen automatically for other users.
      price: { input: 1000, output: 1000 },
      quality: 0,
      latency_ms: 100_000,
      capabilities: { tools: false, images: false, json: 'none' },
    })),
    timeouts: TIMEOUTS,
    // Every second call of a flaky model succeeds, so no circuit opens.
    breaker: { failure_ratio: 1 },
    // Requests are counted, but only the user with an own limit reaches it.
    rate_limits: { requests_per_minute: { free: 1_000_000, paid: 1_000_000 } },
    // The default is 50,000. This number is reached several times.
    snapshots: { every_events: 500 },
    limits: { body_bytes: BODY_LIMIT, auth_failures_per_minute: null },
  }
  const file = path.join(folder, 'settings.json')
  await writeFile(file, JSON.stringify(settings, null, 2))
  return file
}
