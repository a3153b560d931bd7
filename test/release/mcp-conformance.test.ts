import { expect } from 'chai'
import type { RunningGateway } from '../support/gateway.ts'
import {
  runConformance,
  startHeaderProxy,
  startReferenceServer,
  whyNoConformanceSuite,
} from '../support/mcp/conformance.ts'
import { atUrl, startToolGateway } from '../support/mcp/gateway.ts'
import { skip } from '../support/skip.ts'

/** The scenarios of each revision of clients. */
const REVISIONS = {
  '2026-07-28': ['--requirements', '2026-07-28'],
  '2025-11-25': ['--requirements', '2025-11-25'],
  '2025-06-18': ['--suite', 'all', '--spec-version', '2025-06-18'],
} as const

type Revision = keyof typeof REVISIONS
type ServerKind = 'without sessions' | 'with sessions'

interface ExpectedFailure {
  readonly scenarios: RegExp
  readonly reason: string
  readonly revisions: readonly Revision[]
  readonly servers: readonly ServerKind[]
}

const SESSION_REVISIONS: readonly Revision[] = ['2025-11-25', '2025-06-18']
const BOTH: readonly ServerKind[] = ['without sessions', 'with sessions']

const EXPECTED_FAILURES: readonly ExpectedFailure[] = [
  {
    scenarios: /^tasks-(?!status-notifications)/,
    reason: 'an extension that the reference server does not serve; not scored',
    revisions: ['2026-07-28'],
    servers: BOTH,
  },
  {
    scenarios: /^resources-(un)?subscribe$/,
    reason: 'the gateway offers no subscriptions to single resources, and says so in its capabilities',
    revisions: SESSION_REVISIONS,
    servers: BOTH,
  },
  {
    scenarios: /^(tools-call-sampling|tools-call-elicitation|elicitation-sep\d+-\w+)$/,
    reason:
      'the tool of the reference server asks only clients with sessions, and the gateway has none with it',
    revisions: SESSION_REVISIONS,
    servers: ['without sessions'],
  },
  {
    scenarios: /^server-stateless$/,
    reason: 'the tool without a capability that it needs says so in a result, as servers with sessions do',
    revisions: ['2026-07-28'],
    servers: ['with sessions'],
  },
  {
    scenarios: /^input-required-result-(basic-elicitation|multiple-input-requests)$/,
    reason: 'a server with sessions asks one question at a time, and its questions have no names to keep',
    revisions: ['2026-07-28'],
    servers: ['with sessions'],
  },
  {
    scenarios: /^input-required-result-capability-check$/,
    reason: 'the tool of the reference server looks for capabilities in the request only, not in the session',
    revisions: ['2026-07-28'],
    servers: ['with sessions'],
  },
]

describe('conformance to the Model Context Protocol', function () {
  this.timeout(240_000)
  const closing: (() => Promise<unknown>)[] = []
  const urls = {} as Record<ServerKind, string>

  before(async function () {
    const reason = whyNoConformanceSuite()
    if (reason !== undefined) skip(this, reason)
    const server = await startReferenceServer()
    const old = await startHeaderProxy(server.url, {}, ({ 'mcp-protocol-version': version }) =>
      version === '2026-07-28' ? 'Bad Request: Session ID required' : undefined,
    )
    const gateway: RunningGateway = await startToolGateway([
      atUrl('modern', server.url),
      atUrl('old', old.url.replace('localhost', '127.0.0.1')),
    ])
    closing.push(server.stop, old.stop, gateway.stop)
    // The suite cannot send a key.
    const added = { authorization: `Bearer ${gateway.demoKey}` }
    for (const [kind, name] of [
      ['without sessions', 'modern'],
      ['with sessions', 'old'],
    ] as const) {
      const proxy = await startHeaderProxy(`${gateway.url}/mcp/${name}`, added)
      urls[kind] = proxy.url
      closing.push(proxy.stop)
    }
  })
  after(async () => {
    for (const close of closing.reverse()) await close()
  })

  for (const kind of BOTH)
    for (const [revision, args] of Object.entries(REVISIONS) as [Revision, readonly string[]][])
      it(`of clients of ${revision} in front of a server ${kind}`, async () => {
        const results = await runConformance(urls[kind], args)
        const passed = [...results.values()].reduce((sum, result) => sum + result.passed, 0)
        const failed = [...results].filter(([, result]) => result.failed > 0).map(([name]) => name)
        process.stdout.write(`      ${passed} checks passed; failed scenarios: ${failed.join(', ')}\n`)
        const expected = EXPECTED_FAILURES.filter(
          ({ revisions, servers }) => revisions.includes(revision) && servers.includes(kind),
        )
        const isExpected = (name: string) => expected.some(({ scenarios }) => scenarios.test(name))
        // A scenario that passes does not belong in the list.
        expect(failed).to.have.members([...results.keys()].filter(isExpected))
        expect(results.size).to.be.greaterThan(20)
      })
})
