import { expect } from 'chai'
import type { EventLog } from '../../core/contract/index.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { openMemoryLog } from '../support/memory-logs.ts'
import { newUser } from '../support/new-user.ts'
import { asAdmin } from '../support/policies.ts'

describe('a change of rules of a user who is deleted while it is made', () => {
  let log: EventLog
  let gateway: RunningGateway
  /** Called before the first append to a stream. */
  let meanwhile: { readonly stream: string; run(): Promise<unknown> } | undefined

  before(async () => {
    log = openMemoryLog(await makeFolder())
    const append = log.append.bind(log)
    log.append = async (stream, events, options) => {
      const called = meanwhile?.stream === stream ? meanwhile : undefined
      if (called) meanwhile = undefined
      await called?.run()
      return append(stream, events, options)
    }
    gateway = await startGateway({}, { log: async () => log })
  })
  after(() => gateway.stop())

  /** Creates a rule of a new user, who is deleted before the first append to `stream`. */
  async function createRule(stream: (userId: number) => string, whose: 'own' | 'of a user') {
    const { id, call } = await newUser(gateway)
    meanwhile = { stream: stream(id), run: () => asAdmin(gateway, 'DELETE', `/admin/users/${id}`) }
    const { status, headers } =
      whose === 'own'
        ? await call('POST', '/v1/firewall-rules', firewallRuleBody())
        : await asAdmin(gateway, 'POST', `/admin/users/${id}/firewall-rules`, firewallRuleBody())
    expect(meanwhile).to.equal(undefined)
    let events = 0
    for await (const _ of log.read(`rules-${id}`)) events += 1
    return { status, code: headers.get('x-error-code'), events }
  }

  it('is refused, and not written, if it is not decided on yet', async () => {
    const stream = () => 'ids'
    expect(await createRule(stream, 'own')).to.deep.equal({ status: 401, code: 'invalid_api_key', events: 0 })
    expect(await createRule(stream, 'of a user')).to.deep.equal({ status: 404, code: 'not_found', events: 0 })
  })

  it('is not said to be in force if the deletion was written first', async () => {
    const stream = (userId: number) => `rules-${userId}`
    expect(await createRule(stream, 'own')).to.include({ status: 401, code: 'invalid_api_key' })
    expect(await createRule(stream, 'of a user')).to.include({ status: 404, code: 'not_found' })
  })
})
