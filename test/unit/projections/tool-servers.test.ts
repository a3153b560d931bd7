import { expect } from 'chai'
import type { DomainEvent } from '../../../projections/events/registry.ts'
import { approvedRevision } from '../../../projections/events/tool-servers.ts'
import { createToolServers } from '../../../projections/tool-servers.ts'
import { recordAll } from '../../support/histories.ts'
import { createRandom, type Random } from '../../support/random.ts'
import { ROUNDS } from '../../support/rounds.ts'

const server = (serverId: number, name: string): DomainEvent => ({
  type: 'ToolServerCreated',
  data: {
    ...{ serverId, name, url: 'https://mcp.example.com', auth: { type: 'none' as const } },
    ...{ isEnabled: true, default: 'allow' as const, newTools: 'pending' as const },
    ...{ changedTools: 'block' as const, timeoutMs: null, maxConcurrent: null },
  },
})

/** What is expected of a tool: the status of each of its definitions, and whether it is listed. */
interface Model {
  readonly digests: string[]
  readonly statuses: string[]
  isListed: boolean
}

/** Random events of two servers, one of which may be deleted, with what must follow from them. */
function makeEvents(random: Random) {
  const events: DomainEvent[] = [server(1, 'one')]
  const models = new Map<string, Model>()
  for (let turn = 0; turn < 60; turn++) {
    const serverId = random.pick<number | string>([1, 'files'])
    const tool = random.pick(['a', 'b'])
    const key = `${serverId}/${tool}`
    const model = models.get(key) ?? { digests: [], statuses: [], isListed: true }
    const revision = 1 + random.integer(Math.max(1, model.digests.length))
    const digest = `digest ${random.integer(6)}`
    const action = random.pick(['seen', 'seen', 'approve', 'reject', 'remove', 'return'])
    if (action === 'seen') {
      const status = random.pick(['pending', 'approved'] as const)
      const data = { serverId, tool, revision: model.digests.length + 1, digest, status, findings: [] }
      events.push({ type: 'ToolRevisionSeen', data: { ...data, definition: { name: tool, digest } } })
      if (model.digests.includes(digest)) continue
      model.digests.push(digest)
      model.statuses.push(status)
      model.isListed = true
      models.set(key, model)
    } else if (action === 'approve' || action === 'reject') {
      const type = action === 'approve' ? 'ToolRevisionApproved' : 'ToolRevisionRejected'
      events.push({ type, data: { serverId, tool, revision } })
      if (revision <= model.statuses.length)
        model.statuses[revision - 1] = action === 'approve' ? 'approved' : 'rejected'
    } else {
      events.push({ type: action === 'remove' ? 'ToolRemoved' : 'ToolReturned', data: { serverId, tool } })
      model.isListed = action === 'return'
      if (model.digests.length === 0) model.isListed = true
    }
  }
  if (random.chance(0.3)) {
    events.push({ type: 'ToolServerDeleted', data: { serverId: 1 } })
    for (const key of models.keys()) if (key.startsWith('1/')) models.delete(key)
  }
  return { events, models }
}

describe('the projection of tool servers', () => {
  it('agrees with a model, also when it continues from a snapshot', () => {
    for (let seed = 1; seed <= ROUNDS.resourceChanges; seed++) {
      const random = createRandom(seed)
      const { events, models } = makeEvents(random)
      const records = recordAll(events)
      let state = createToolServers()
      const savedAt = random.integer(events.length)
      for (const [index, record] of records.entries()) {
        if (index === savedAt) {
          const lines = [...state.save()].map((line) => Buffer.from(line))
          state = createToolServers()
          state.load(lines)
        }
        state.apply(events[index] as DomainEvent, record)
      }
      for (const serverId of [1, 'files'])
        for (const name of ['a', 'b']) {
          const model = models.get(`${serverId}/${name}`)
          const tool = state.toolsOf(serverId).get(name)
          const context = `seed ${seed}, ${serverId}/${name}`
          expect(
            tool?.revisions.map(({ status }) => status),
            context,
          ).to.deep.equal(model?.statuses)
          expect(
            tool?.revisions.map(({ digest }) => digest),
            context,
          ).to.deep.equal(model?.digests)
          if (tool === undefined) continue
          expect(tool.removedAt === undefined, context).to.equal(model?.isListed)
          expect(tool.revisions.at(-1)?.definition, context).to.include({ name })
          const newest = tool.revisions.at(-1)
          const kept = tool.revisions.filter(({ definition }) => definition !== undefined)
          for (const revision of kept) expect([newest, approvedRevision(tool)], context).to.include(revision)
        }
      expect(state.revision(1), `seed ${seed}`).to.equal(
        records.findLast(({ stream }) => stream === 'tool-server-1')?.revision,
      )
    }
  })

  it('uses the first of servers with the same name', () => {
    const state = createToolServers()
    const events = [server(2, 'same'), server(1, 'same')]
    for (const [index, record] of recordAll(events).entries())
      state.apply(events[index] as DomainEvent, record)
    expect(state.named('same')?.id).to.equal(2)
    expect(state.servers().map(({ id }) => id)).to.deep.equal([1, 2])
  })
})
