import { expect } from 'chai'
import type { EventLog } from '../../core/contract/index.ts'
import { createMemoryLog, createMemoryStorage } from '../../core/event-log/memory.ts'
import { EXPIRING_STREAMS } from '../../core/events/streams.ts'
import { AutoResetEvent } from '../../core/util/auto-reset-event.ts'
import { makeFolder } from '../support/folders.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule } from '../support/policies.ts'
import { waitUntil } from '../support/wait.ts'

describe('two gateways, of which one deletes a group while the other creates a policy for it', () => {
  let deleting: RunningGateway
  let creating: RunningGateway
  /** Of both gateways. */
  let user: TestUser
  /** Streams that the gateways write to only once they are told to. */
  let held = /^$/
  const isHeld = new AutoResetEvent()
  const released = new AutoResetEvent()

  before(async () => {
    const storage = createMemoryStorage()
    const open = async (): Promise<EventLog> => {
      const log = createMemoryLog({ storage, expiringStreams: EXPIRING_STREAMS })
      return {
        append: async (stream, events, options) => {
          if (held.test(stream)) {
            isHeld.set()
            await released.wait()
          }
          return log.append(stream, events, options)
        },
        read: (...args) => log.read(...args),
        subscribe: (...args) => log.subscribe(...args),
        deleteStream: (stream) => log.deleteStream(stream),
        close: () => log.close(),
      }
    }
    deleting = await startGateway({}, { log: open })
    creating = await startGateway({}, { log: open, dataDir: await makeFolder(), demoKey: deleting.demoKey })
    user = await newUser(deleting)
  })
  after(() => Promise.all([deleting?.stop(), creating?.stop()]))
  afterEach(() => {
    held = /^$/
  })

  /** A group with the user, as both gateways know it. */
  async function newGroup(): Promise<number> {
    const { body } = await asAdmin(deleting, 'POST', '/admin/groups', { name: 'Support' })
    const { id } = body.data
    await asAdmin(deleting, 'PUT', `/admin/groups/${id}/members/${user.id}`)
    await waitUntil(async () => (await membersOf(creating, id)).length === 1)
    return id
  }
  const membersOf = async (gateway: RunningGateway, id: number) =>
    (await asAdmin(gateway, 'GET', `/admin/groups/${id}/members`)).body.data ?? []
  const remove = (id: number) => asAdmin(deleting, 'DELETE', `/admin/groups/${id}`)
  const policyFor = (groupId: number) => ({
    name: 'A policy',
    is_enabled: true,
    priority: 0,
    applies_to: { groups: [groupId] },
  })
  const create = (groupId: number) => asAdmin(creating, 'POST', '/admin/policies', policyFor(groupId))
  const listPolicies = async () => (await asAdmin(creating, 'GET', '/admin/policies')).body.data
  const codeOf = ({ status, headers }: Answer) => [status, headers.get('x-error-code')]

  /** Runs `first` up to its append to the streams, then `second`, then the append. */
  async function interleave(streams: RegExp, first: () => Promise<Answer>, second: () => Promise<Answer>) {
    held = streams
    const outcome = first()
    await isHeld.wait()
    held = /^$/
    const answer = await second()
    released.set()
    return { first: await outcome, second: answer }
  }

  it('keeps the group if the policy was first, so that the policy applies on both', async () => {
    const groupId = await newGroup()
    const { first, second } = await interleave(
      /^group-/,
      () => remove(groupId),
      () => create(groupId),
    )
    expect(codeOf(second)).to.deep.equal([201, null])
    expect(codeOf(first)).to.deep.equal([409, 'conflict'])
    expect(first.body.error.message).to.contain(`applies to group ${groupId}`)
    const { id } = second.body.data
    await asAdmin(creating, 'POST', `/admin/policies/${id}/firewall-rules`, firewallRule())
    const request = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'A secret.' }] }
    for (const gateway of [creating, deleting]) {
      expect(await membersOf(gateway, groupId)).to.have.length(1)
      const simulate = () => asAdmin(gateway, 'POST', '/admin/simulate', { user_id: user.id, request })
      await waitUntil(async () => (await simulate()).body.data.outcome === 'refused')
    }
    // Nothing is left of the race: the policy can go, and then the group.
    expect((await asAdmin(creating, 'DELETE', `/admin/policies/${id}`)).status).to.equal(200)
    await waitUntil(async () => (await remove(groupId)).status === 200)
    expect((await asAdmin(deleting, 'GET', `/admin/groups/${groupId}`)).status).to.equal(404)
  })

  it('removes the policy again if the deletion was first', async () => {
    const groupId = await newGroup()
    const before = (await listPolicies()).length
    const { first, second } = await interleave(
      /^policy-/,
      () => create(groupId),
      () => remove(groupId),
    )
    expect(codeOf(second)).to.deep.equal([200, null])
    expect(codeOf(first)).to.deep.equal([400, 'invalid_value'])
    expect(first.body.error.message).to.contain(`group ${groupId} was not found`)
    expect(await listPolicies()).to.have.length(before)
  })

  it('says so if a policy was changed to apply to a group that is gone', async () => {
    const [kept, lost] = [await newGroup(), await newGroup()]
    const { id } = (await create(kept)).body.data
    const change = () =>
      asAdmin(creating, 'PATCH', `/admin/policies/${id}`, { applies_to: { groups: [lost] } })
    const { first, second } = await interleave(/^policy-/, change, () => remove(lost))
    expect(codeOf(second)).to.deep.equal([200, null])
    expect(codeOf(first)).to.deep.equal([409, 'conflict'])
    expect(first.body.error.message).to.contain(`group ${lost} was deleted at the same time`)
  })
})
