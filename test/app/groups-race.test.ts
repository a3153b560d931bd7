import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { EventLog } from '../../core/contract/index.ts'
import { createMemoryLog, createMemoryStorage } from '../../core/event-log/memory.ts'
import { AutoResetEvent } from '../../core/util/auto-reset-event.ts'
import { makeFolder } from '../support/folders.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule } from '../support/policies.ts'
import { withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

interface Entry {
  readonly id: number
  readonly kind: string
  readonly event: string
  readonly no_effect?: string
}

const parseLines = (text: string): Entry[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

const readText = async (gateway: RunningGateway, path: string) =>
  (await fetch(gateway.url + path, { headers: AS_ADMIN })).text()

const GONE = 'The group had been deleted on another node.'

describe('two gateways, of which one deletes a group while the other creates a policy for it', () => {
  let deleting: RunningGateway
  let creating: RunningGateway
  /** Where one of them exports the audit trail to. */
  let folder: string
  /** Of both gateways. */
  let user: TestUser
  /** Streams that the gateways write to only once they are told to. */
  let held = /^$/
  const isHeld = new AutoResetEvent()
  const released = new AutoResetEvent()

  before(async () => {
    const storage = createMemoryStorage()
    const open = async (): Promise<EventLog> => {
      const log = createMemoryLog({ storage })
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
        close: () => log.close(),
      }
    }
    folder = join(await makeFolder(), 'audit')
    const settings = await withSettings(`audit: { export: { folder: ${folder} } }\n`)
    deleting = await startGateway(settings, { log: open })
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

  /** Expects the same in the trail of both gateways, in its exports, and in the exported folder. */
  async function expectDeletions(groupId: number, reasons: readonly (string | undefined)[]) {
    const path = `/admin/audit?group=${groupId}`
    const isDeletion = ({ kind, event }: Entry) => kind === 'group' && event === 'deleted'
    const reasonsOf = (entries: readonly Entry[]) =>
      entries.filter(isDeletion).map(({ no_effect }) => no_effect)
    for (const gateway of [deleting, creating]) {
      expect(reasonsOf((await asAdmin(gateway, 'GET', path)).body.data)).to.deep.equal(reasons)
      const lines = await readText(gateway, `${path}&format=jsonl`)
      expect(reasonsOf(parseLines(lines)).toReversed()).to.deep.equal(reasons)
      const csv = await readText(gateway, `${path}&format=csv`)
      for (const reason of reasons) if (reason !== undefined) expect(csv).to.contain(`,"${reason}"`)
    }
    const exported = async () => {
      const files = await readdir(folder).catch(() => [])
      const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
      return texts.flatMap(parseLines).filter(({ id }) => id === groupId)
    }
    await waitUntil(async () => (await exported()).filter(isDeletion).length === reasons.length)
    expect(reasonsOf(await exported()).toReversed()).to.deep.equal(reasons)
  }

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
    const kept = `The group was kept, because policy ${id} had been applied to it on another node.`
    await expectDeletions(groupId, [undefined, kept])
  })

  it('says in the audit trail of a user that they were not added to a group that was gone', async () => {
    const groupId = await newGroup()
    const other = await newUser(creating)
    await waitUntil(async () => (await asAdmin(deleting, 'GET', `/admin/users/${other.id}`)).status === 200)
    const { first, second } = await interleave(
      /^user-/,
      () => asAdmin(creating, 'PUT', `/admin/groups/${groupId}/members/${other.id}`),
      () => remove(groupId),
    )
    expect(codeOf(second)).to.deep.equal([200, null])
    expect(codeOf(first)).to.deep.equal([404, 'not_found'])
    const authorization = { authorization: `Bearer ${other.key}` }
    for (const gateway of [deleting, creating]) {
      const newest = async () =>
        (await gateway.call('GET', '/v1/audit?limit=1', undefined, authorization)).body.data[0]
      // Shown once the node can tell whether it had an effect.
      await waitUntil(async () => (await newest()).event === 'added_to_group')
      const entry = await newest()
      expect(entry.no_effect).to.equal(GONE)
      expect(entry.after).to.deep.equal(entry.before)
      expect(entry.after.groups).to.deep.equal([])
    }
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
