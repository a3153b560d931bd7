import { expect } from 'chai'
import { type Author, GatewayError } from '../../../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../../../core/event-log/actor.ts'
import { createOperatorRegistry } from '../../../../core/pipeline/registries.ts'
import { createFirewallRuleKind } from '../../../../plugins/firewall/rule-kind.ts'
import { createRoutingRuleKind } from '../../../../plugins/routing/rule-kind.ts'
import { type ApplyTerms, applyFile } from '../../../../plugins/rules-file/apply.ts'
import type { RulesFile } from '../../../../plugins/rules-file/schemas.ts'
import type { DomainEvent } from '../../../../projections/events/registry.ts'
import { createProjections, listProjections } from '../../../../projections/projections.ts'
import { firewallRule } from '../../../support/policies.ts'

const POLICY = 10
const GROUP = 20
const USER = 30
const author: Author = { actor: ROOT_ACTOR }
const settings = { name: 'Guard', is_enabled: true, priority: 0 }

describe('applying a rules file', () => {
  let projections: ReturnType<typeof createProjections>
  let position: number
  let revisions: Map<string, number>
  /** What another request changes while patterns of the file are compiled. */
  let meanwhile: DomainEvent[]
  /** What another node writes right before an append. */
  let before: DomainEvent[]

  beforeEach(() => {
    projections = createProjections()
    position = 0
    revisions = new Map()
    ;[meanwhile, before] = [[], []]
    const content = { name: 'Guard', description: null, isEnabled: true, priority: 0 }
    append(
      { type: 'UserCreated', data: { userId: USER, name: 'Ada', plan: 'paid' } },
      { type: 'GroupCreated', data: { groupId: GROUP, name: 'Support', description: null } },
      { type: 'PolicyCreated', data: { policyId: POLICY, ...content, appliesTo: { everyone: true } } },
    )
  })

  function append(...events: readonly DomainEvent[]): void {
    for (const event of events) {
      const stream = streamOf(event)
      const revision = (revisions.get(stream) ?? -1) + 1
      revisions.set(stream, revision)
      position += 1
      const metadata = { actor: ROOT_ACTOR, time: '2026-01-01T00:00:00.000000Z', schema: 1 }
      const record = { ...event, stream, revision, position, metadata }
      for (const projection of listProjections(projections)) projection.apply(event, record as never)
    }
  }

  async function apply(file: RulesFile, terms: ApplyTerms = {}): Promise<string> {
    const firewall = createFirewallRuleKind(false)
    const prepare: typeof firewall.prepare = async () => append(...meanwhile.splice(0))
    const services = {
      ...projections,
      kinds: { routing: createRoutingRuleKind(createOperatorRegistry()), firewall: { ...firewall, prepare } },
      ids: { reserve: async () => 100 },
      subscription: { position: () => position },
      writer: {
        checkAvailable: () => undefined,
        async write({ decide }: { decide(): readonly DomainEvent[] }) {
          const events = decide()
          append(...before.splice(0), ...events)
        },
      },
    }
    return applyFile(file, terms, services as never, author).then(
      ({ applied }) => `applied ${applied.map(({ stream }) => stream).join()}`,
      (error) => (GatewayError.isInstance(error) ? `${error.code}: ${error.message}` : String(error)),
    )
  }

  const policyFile = (more: object = {}): RulesFile => ({
    policies: [
      { id: POLICY, ...settings, applies_to: { everyone: true }, firewall_rules: [firewallRule()], ...more },
    ],
  })

  it('makes the changes if nothing else happens', async () => {
    expect(await apply(policyFile())).to.equal(`applied policy-${POLICY}`)
    expect(projections.policies.rulesOf(POLICY).firewall).to.have.length(1)
  })

  it('refuses if a policy is changed while patterns of the file are compiled', async () => {
    const rule = firewallRule({ name: 'Another', pattern: 'other' })
    const data = { policyId: POLICY, ruleId: 50, content: rule } as never
    meanwhile = [{ type: 'FirewallRuleCreated', data }]
    expect(await apply(policyFile())).to.match(
      /^conflict: Something else changed the policy "Guard" meanwhile/,
    )
  })

  it('refuses if the rules of a user are changed meanwhile', async () => {
    const data = { userId: USER, ruleId: 50, content: firewallRule({ name: 'Another' }) } as never
    meanwhile = [{ type: 'FirewallRuleCreated', data }]
    const file: RulesFile = { users: [{ user: 'Ada', firewall_rules: [firewallRule()] }] }
    expect(await apply(file)).to.match(/^conflict: Something else changed the rules of user "Ada" meanwhile/)
  })

  it('refuses if anything is changed after the position of the plan, while the file is compared', async () => {
    const data = { userId: USER, ruleId: 50, content: firewallRule({ name: 'Another' }) } as never
    const file: RulesFile = {
      ...policyFile(),
      users: [{ user: 'Ada', firewall_rules: [], routing_rules: [] }],
    }
    meanwhile = [{ type: 'FirewallRuleCreated', data }]
    expect(await apply(file, { position })).to.match(
      /^conflict: The event log is at position 4; the plan was made at 3/,
    )
    expect(projections.rules.of(USER).firewall).to.have.length(1)
    expect(projections.policies.rulesOf(POLICY).firewall).to.have.length(0)
  })

  it('changes nothing if a user whose rules it has is deleted meanwhile', async () => {
    meanwhile = [{ type: 'UserDeleted', data: { userId: USER } }]
    const file: RulesFile = { users: [{ user: 'Ada', firewall_rules: [firewallRule()] }] }
    expect(await apply(file)).to.equal(`conflict: User ${USER} was deleted meanwhile.`)
    expect(projections.rules.of(USER).firewall).to.have.length(0)
  })

  it('changes nothing if a group that a policy is to apply to is deleted meanwhile', async () => {
    meanwhile = [{ type: 'GroupDeleted', data: { groupId: GROUP } }]
    const file = policyFile({ applies_to: { groups: ['Support'] } })
    expect(await apply(file)).to.equal(`conflict: Group ${GROUP} was deleted meanwhile.`)
    expect(projections.policies.policy(POLICY)?.appliesTo).to.deep.equal({ everyone: true })
  })

  it('says so if another node has deleted the group right before the append', async () => {
    before = [{ type: 'GroupDeleted', data: { groupId: GROUP } }]
    const file = policyFile({ applies_to: { groups: ['Support'] } })
    expect(await apply(file)).to.equal(`conflict: Group ${GROUP} was deleted meanwhile.`)
  })

  it('refuses to say that a group is deleted that a policy was applied to meanwhile', async () => {
    const changes = { appliesTo: { groups: [GROUP], users: [] } }
    before = [{ type: 'PolicyUpdated', data: { policyId: POLICY, changes } }]
    expect(await apply({ groups: [{ name: 'Support', absent: true }] })).to.equal(
      `conflict: Policy ${POLICY} ("Guard") was applied to group ${GROUP} meanwhile.`,
    )
    expect(projections.groups.group(GROUP)).not.to.equal(undefined)
  })
})

function streamOf({ data }: DomainEvent): string {
  if ('policyId' in data) return `policy-${data.policyId}`
  if (!('userId' in data)) return `group-${(data as { groupId: number }).groupId}`
  return 'ruleId' in data ? `rules-${data.userId}` : `user-${data.userId}`
}
