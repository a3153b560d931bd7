import { expect } from 'chai'
import { dump } from 'js-yaml'
import { stormUntilRefused } from './chat-storm.ts'
import type { Answer, RunningGateway } from './gateway.ts'
import type { RunningRedis } from './redis.ts'
import { completionOf, type ScriptedProvider, startScriptedProvider } from './scripted-provider.ts'
import { PATIENT_WITH_REDIS, withSettings } from './settings.ts'

/** Scripted providers that are the deployments `east` and `west` of the provider `openai`. */
export interface TwoDeployments {
  readonly east: ScriptedProvider
  readonly west: ScriptedProvider
  /** Another provider of the same model, and of others. */
  readonly spare: ScriptedProvider
  close(): void
}

export async function startDeployments(): Promise<TwoDeployments> {
  const [east, west, spare] = await Promise.all([
    startScriptedProvider(),
    startScriptedProvider(),
    startScriptedProvider(),
  ])
  return {
    ...{ east, west, spare },
    close() {
      for (const provider of [east, west, spare]) provider.close()
    },
  }
}

/** Lets all of them answer, and forgets what they counted. */
export function resetDeployments({ east, west, spare }: TwoDeployments): void {
  for (const provider of [east, west, spare]) {
    provider.play({ body: completionOf(10, 40) })
    Object.assign(provider.counts, { requests: 0, mostInFlight: 0 })
  }
}

export interface DeploymentSettings {
  readonly east?: object
  readonly west?: object
  /** More of the row of the provider. */
  readonly row?: object
  /** Whether the provider `spare` is configured, too. */
  readonly isSpareUsed?: boolean
  /** More settings. */
  readonly more?: object
}

/** The environment of a gateway with the two deployments. */
export async function withDeployments(
  { east, west, spare }: TwoDeployments,
  settings: DeploymentSettings = {},
  redis?: RunningRedis,
): Promise<Record<string, string>> {
  const deployments = [
    { id: 'east', base_url: east.url, key: 'EAST_KEY', ...settings.east },
    { id: 'west', base_url: west.url, key: 'WEST_KEY', ...settings.west },
  ]
  const other = { format: 'openai', base_url: spare.url, auth: 'none' }
  const providers = {
    openai: { deployments, ...settings.row },
    ...(settings.isSpareUsed && { spare: other }),
  }
  const yaml = dump({ providers, ...settings.more })
  const unlimited = `rate_limits: { requests_per_minute: { free: null, paid: null }, ${PATIENT_WITH_REDIS} }\n`
  return {
    ...(await withSettings(yaml + unlimited)),
    ...{ EAST_KEY: 'the-key-of-east', WEST_KEY: 'the-key-of-west' },
    ...(redis && { REDIS_URL: redis.url }),
  }
}

/** Limits of the two deployments: each kind is the tightest somewhere. */
export const STORM_LIMITS = {
  east: { requests_per_minute: 100, tokens_per_minute: 3000, max_concurrent: 3 },
  west: { requests_per_minute: 40, tokens_per_minute: 100_000, max_concurrent: 2 },
}

/** What `playStorm` answers with. */
const USED = 50

const STORM_CLIENTS = 24

/**
 * Sends requests from many clients to all gateways until the limits per minute refuse them. Expects that no
 * deployment got more than its limits, and nearly as much.
 */
export async function expectExactDeployments(
  { east, west }: TwoDeployments,
  gateways: readonly RunningGateway[],
  key: string,
): Promise<void> {
  for (const provider of [east, west]) provider.play({ body: completionOf(10, USED - 10), delayMs: 5 })
  const isFinal = ({ status, body }: Answer) => status === 429 && body.error.retry_after > 1
  const answers = await stormUntilRefused(gateways, key, { clients: STORM_CLIENTS, isFinal })
  expect(answers.filter(({ status }) => status !== 200 && status !== 429)).to.deep.equal([])
  const served = answers.filter(({ status }) => status === 200)
  expect(served).to.have.length(east.counts.requests + west.counts.requests)
  const { tokens_per_minute, max_concurrent } = STORM_LIMITS.east
  expect(east.counts.requests * USED).to.be.within(tokens_per_minute * 0.9, tokens_per_minute)
  expect(east.counts.mostInFlight).to.be.within(2, max_concurrent)
  expect(west.counts.requests).to.equal(STORM_LIMITS.west.requests_per_minute)
  expect(west.counts.mostInFlight).to.equal(STORM_LIMITS.west.max_concurrent)
}
