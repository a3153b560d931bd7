import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { startLoad, type Tally } from '../support/load.ts'
import { MODELS, PROVIDERS, providersAt } from '../support/providers.ts'
import { CHAOS_SECONDS } from '../support/rounds.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

/** The interval between requests. */
const EVERY_MS = 10

/** The ways in which a provider fails. */
const FAULTS = [
  'status=500',
  'status=503',
  'status=529',
  'status=401',
  'error-first',
  'malformed',
  'hang',
  'first-byte=10000',
  'cut=0',
  'cut=4 token-delay=2',
  'eof=4 token-delay=2',
  'error-mid=4 token-delay=2',
  // Last, because they lead to the longest cooldowns.
  'status=429 retry-after=1',
  'status=402',
]

describe(`chaos: each provider fails in each way under steady load (${CHAOS_SECONDS} s, CHAOS_SECONDS)`, () => {
  const sandboxes = new Map<string, Sandbox>()

  before(async () => {
    for (const provider of PROVIDERS) sandboxes.set(provider, await startSandbox())
  })
  after(() => Promise.all([...sandboxes.values()].map((sandbox) => sandbox.close())))

  for (const provider of PROVIDERS) {
    it(`answers requests while ${provider} fails`, async function () {
      this.timeout(CHAOS_SECONDS * 1000 + 60_000)
      const sandbox = sandboxes.get(provider)!
      const gateway = await startGateway({ ...addresses(), ...(await withSettings(favouring(provider))) })
      const load = startLoad(gateway.openai(), await readProviders(gateway), EVERY_MS)
      const met: string[] = []
      let tally: Tally
      try {
        for (const fault of FAULTS) {
          // Once the cooldown after the previous fault is over, so that this fault takes effect.
          await sandbox.next()
          sandbox.setFault(fault)
          const isMet = sandbox.next().then(() => met.push(fault))
          await Promise.all([isMet, delay((CHAOS_SECONDS * 1000) / PROVIDERS.length / FAULTS.length)])
          sandbox.setFault('')
        }
      } finally {
        tally = await load.stop()
        await gateway.stop()
      }

      process.stdout.write(`      ${describeTally(tally)}\n`)
      expect(met).to.deep.equal(FAULTS)
      expect(tally.hung, 'hung').to.equal(0)
      expect(tally.silent, 'ended without a finish').to.equal(0)
      expect(tally.mixed).to.deep.equal([])
      expect(tally.failed.length / tally.sent, tally.failed.join('\n')).to.be.at.most(0.005)
    })
  }

  function addresses(): Record<string, string> {
    const each = [...sandboxes].map(([provider, sandbox]) => providersAt(sandbox, [provider]))
    return Object.assign({}, ...each)
  }
})

/** Settings with short timeouts under which one provider's model is chosen as long as it is available. */
function favouring(provider: string): string {
  return `
${UNLIMITED}
timeouts: { connect_ms: 2000, first_byte_ms: 2000, idle_ms: 2000 }
failover: { on_timeout: true }
breaker: { min_requests: 5, open_ms: 10 }
models:
  - id: ${MODELS[provider]}
    provider: ${provider}
    context: 200000
    max_output: 8000
    price: { input: 0.001, output: 0.001 }
    quality: 100
    latency_ms: 10
    capabilities: { tools: true, images: true, json: object }
`
}

async function readProviders(gateway: RunningGateway): Promise<ReadonlyMap<string, string>> {
  const { body } = await gateway.call('GET', '/v1/models')
  return new Map(body.data.map(({ id, provider }: Record<string, string>) => [id, provider]))
}

function describeTally({ sent, failed, broken, silent, hung, mixed }: Tally): string {
  const share = (100 * (1 - failed.length / sent)).toFixed(2)
  return `${sent} requests, ${share} % answered or begun, ${failed.length} failed, ${broken} broke off after they had begun, ${hung} hung, ${silent} silent, ${mixed.length} mixed`
}
