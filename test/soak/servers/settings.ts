import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { PROVIDER_PATHS, PROVIDERS } from '../../support/providers.ts'

/** Providers that fail on purpose: one for each format, beside the five that do not. */
export const FLAKY_FORMATS = PROVIDERS

/** The provider of the user whom nobody answers. */
export const UNLUCKY_PROVIDER = 'unlucky'

/** The variable that holds their key. */
export const FLAKY_KEY = 'FLAKY_KEY'

export const BODY_LIMIT = 4 * 1024 * 1024

/**
 * Patience with providers: far more than they take on a busy machine, and little enough to see it end many
 * times.
 */
const TIMEOUTS = { connect_ms: 3000, first_byte_ms: 6000, idle_ms: 6000 }

/** As shipped, but for what would take longer than a soak to fill up or to see. */
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
  const settings = {
    plugins: [
      ...['auth', 'rate-limit', 'plan'],
      // 10,000 as shipped; so many are full when the warm-up ends.
      { use: 'trace', options: { kept_requests: 1000 } },
      ...[
        'responses',
        'firewall',
        'routing',
        'dispatch',
        'decorate',
        'rules',
        'models',
        'audit',
        'metrics',
        'openapi',
      ],
    ],
    providers: { ...Object.fromEntries(flaky), [UNLUCKY_PROVIDER]: unlucky },
    models: ['one', 'two', 'three'].map((name) => ({
      id: `unlucky-${name}`,
      provider: UNLUCKY_PROVIDER,
      context: 100_000,
      max_output: 8000,
      // Nobody else's choice.
      price: { input: 1000, output: 1000 },
      quality: 0,
      latency_ms: 100_000,
      capabilities: { tools: false, images: false, json: 'none' },
    })),
    timeouts: TIMEOUTS,
    // Every second call of a flaky model succeeds, so no circuit opens.
    breaker: { failure_ratio: 1 },
    // Counted for everybody, in nobody's way but that of the user who has a limit of their own.
    rate_limits: { requests_per_minute: { free: 1_000_000, paid: 1_000_000 } },
    // 50,000 as shipped; so many come together several times.
    snapshots: { every_events: 500 },
    limits: { body_bytes: BODY_LIMIT, auth_failures_per_minute: null },
  }
  const file = path.join(folder, 'settings.json')
  await writeFile(file, JSON.stringify(settings, null, 2))
  return file
}
