import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { ABILITIES, OF_INTERFACE } from '../support/matrix/abilities.ts'
import type { Bench, Case } from '../support/matrix/bench.ts'
import { FAILURES } from '../support/matrix/failures.ts'
import { readShownTable, showTable, writeTable } from '../support/matrix/table.ts'
import { MODELS, PROVIDERS, providersAt } from '../support/providers.ts'
import { withSettings } from '../support/settings.ts'

/** The failures of the matrix would open the circuit breakers. */
const NO_BREAKERS = `
breaker: { min_requests: 1000, open_ms: 1 }
`

/** The text of a cell, and the error of a failed one. */
type Outcome = { readonly cell: string; readonly error?: unknown }

describe('the matrix of providers and abilities, with the OpenAI SDK', () => {
  let sandbox: Sandbox
  const gateways: RunningGateway[] = []
  const table = new Map<string, Map<string, Outcome>>()

  before(async function () {
    this.timeout(600_000)
    sandbox = await startSandbox({ record: 1000 })
    await fill(NO_BREAKERS, { ...ABILITIES, ...FAILURES })
    await fill('capabilities: interface\n', OF_INTERFACE)
  })
  after(async () => {
    process.stdout.write(`\n${writeTable(shown())}\n`)
    await Promise.all(gateways.map((gateway) => gateway.stop()))
    await sandbox.close()
  })

  /** Runs the cases with a gateway of these settings: providers in parallel, cases of each in sequence. */
  async function fill(settings: string, cases: Readonly<Record<string, Case>>): Promise<void> {
    const gateway = await startGateway({ ...providersAt(sandbox), ...(await withSettings(settings)) })
    gateways.push(gateway)
    for (const name of Object.keys(cases)) table.set(name, new Map())
    await Promise.all(
      PROVIDERS.map(async (provider) => {
        const model = `${provider}:${MODELS[provider]}`
        const bench = { client: gateway.openai(), sandbox, provider, model }
        for (const [name, run] of Object.entries(cases)) {
          table.get(name)?.set(provider, await outcomeOf(run, bench))
        }
      }),
    )
  }

  function shown() {
    const cells = (outcomes: ReadonlyMap<string, Outcome>) =>
      new Map(PROVIDERS.map((provider) => [provider, outcomes.get(provider)?.cell ?? '–']))
    return new Map([...table].map(([name, outcomes]) => [name, cells(outcomes)]))
  }

  for (const name of Object.keys({ ...ABILITIES, ...FAILURES, ...OF_INTERFACE })) {
    for (const provider of PROVIDERS) {
      it(`${name}: ${provider}`, () => {
        const outcome = table.get(name)?.get(provider)
        if (outcome?.error !== undefined) throw outcome.error
        expect(outcome).to.not.equal(undefined)
      })
    }
  }

  it('is shown in docs/providers.md (UPDATE_DOCS=1 writes it there)', () => {
    if (process.env.UPDATE_DOCS) showTable(writeTable(shown()))
    expect(readShownTable()).to.equal(writeTable(shown()))
  })
})

async function outcomeOf(run: Case, bench: Bench): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const outOfTime = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('out of time')), 60_000)
  })
  try {
    return { cell: await Promise.race([run(bench), outOfTime]) }
  } catch (error) {
    return { cell: 'FAILS', error }
  } finally {
    clearTimeout(timer)
  }
}
