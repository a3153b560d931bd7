import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { toolRuleBody } from '../support/bodies.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { MODELS, PROVIDERS, providersAt } from '../support/providers.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { TOOL_CLIENT_WAYS, useGateway } from '../support/tool-clients.ts'

describe('tool rules in replies of every provider', function () {
  this.timeout(120_000)
  let user: TestUser
  let sandbox: Sandbox
  before(async () => {
    sandbox = await startSandbox({ record: 1 })
  })
  after(() => sandbox?.close())
  const gateway = useGateway(
    async () => ({
      ...providersAt(sandbox),
      ...(await withSettings(`${UNLIMITED}tool_rules: { in_replies: remove, hide_definitions: false }\n`)),
    }),
    async (started) => {
      user = await newUser(started)
    },
  )

  for (const provider of PROVIDERS)
    for (const { way, ask, streamed, calls, stop } of TOOL_CLIENT_WAYS)
      it(`remove and keep calls: ${provider}, ${way}`, async () => {
        const more = { key: user.key, streamed, model: MODELS[provider] as string, text: 'Use files__read.' }
        const kept = await ask(gateway(), { ...more, tools: ['files__read'] })
        expect([kept.calls.map(([name]) => name), kept.finish]).to.deep.equal([['files__read'], calls])
        const match = { server: 'files', arguments: { '/path': { matches: '.' } } }
        const { status } = await user.call('POST', '/v1/tool-rules', toolRuleBody({ match }))
        expect(status).to.equal(201)
        const removed = await ask(gateway(), { ...more, tools: ['files__read'] })
        expect([removed.calls, removed.finish]).to.deep.equal([[], stop])
        expect(removed.text).to.match(/\S/)
      })
})
