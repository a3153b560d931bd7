import { expect } from 'chai'
import { ROOT_ACTOR } from '../../../../core/event-log/actor.ts'
import type { RuleKind } from '../../../../plugins/rules/rule-kind.ts'
import { type ApplyTerms, applyFile } from '../../../../plugins/rules-file/apply.ts'
import type { RulesFile } from '../../../../plugins/rules-file/schemas.ts'
import type { DomainEvent } from '../../../../projections/events/registry.ts'
import { type CommandNode, given } from '../../../support/given.ts'
import { firewallRule } from '../../../support/policies.ts'
import { TEST_KINDS } from '../../../support/rules.ts'

const POLICY = 10
const GROUP = 20
const USER = 30
const settings = { name: 'Guard', is_enabled: true, priority: 0 }
const content = {
  name: 'Guard',
  description: null,
  isEnabled: true,
  priority: 0,
  visibility: 'name',
} as const

const history: readonly DomainEvent[] = [
  { type: 'UserCreated', data: { userId: USER, name: 'Ada', plan: 'paid' } },
  { type: 'GroupCreated', data: { groupId: GROUP, name: 'Support', description: null } },
  { type: 'PolicyCreated', data: { policyId: POLICY, ...content, appliesTo: { everyone: true } } },
]

const created = (owner: object, ruleId: number, rule: object = firewallRule()) =>
  ({ type: 'FirewallRuleCreated', data: { ...owner, ruleId, content: rule } }) as DomainEvent
/** What the file of the policy adds. */
const ruleCreated = created({ policyId: POLICY }, 100, { ...firewallRule(), replacement: null })
const groupDeleted: DomainEvent = { type: 'GroupDeleted', data: { groupId: GROUP } }

const policyFile = (more: object = {}): RulesFile => ({
  policies: [
    { id: POLICY, ...settings, applies_to: { everyone: true }, firewall_rules: [firewallRule()], ...more },
  ],
})
const groupFile = policyFile({ applies_to: { groups: ['Support'] } })
const userFile: RulesFile = { users: [{ user: 'Ada', firewall_rules: [firewallRule()] }] }

interface Applied extends ApplyTerms {
  /** What another request changes while patterns of the file are compiled. */
  readonly meanwhile?: readonly DomainEvent[]
}

const apply =
  (file: RulesFile, { meanwhile = [], ...terms }: Applied = {}) =>
  (node: CommandNode) => {
    const waiting = [...meanwhile]
    const prepare: RuleKind['prepare'] = () => node.append(...waiting.splice(0))
    const services = {
      ...node,
      kinds: { ...TEST_KINDS, firewall: { ...TEST_KINDS.firewall, prepare } },
      ids: { reserve: async () => 100 },
    }
    return applyFile(file, terms, services as never, { actor: ROOT_ACTOR })
  }

describe('applying a rules file', () => {
  it('makes the changes if nothing else happens', async () => {
    const { policies } = await given(...history)
      .when(apply(policyFile()))
      .expect([ruleCreated])
    expect(policies.rulesOf(POLICY).firewall).to.have.length(1)
  })

  it('refuses if a policy is changed while patterns of the file are compiled', async () => {
    const meanwhile = [created({ policyId: POLICY }, 50, firewallRule({ name: 'Another', pattern: 'other' }))]
    await given(...history)
      .when(apply(policyFile(), { meanwhile }))
      .expect({ code: 'conflict', message: 'Something else changed the policy "Guard" meanwhile' })
  })

  it('refuses if the rules of a user are changed meanwhile', async () => {
    const meanwhile = [created({ userId: USER }, 50)]
    await given(...history)
      .when(apply(userFile, { meanwhile }))
      .expect({ code: 'conflict', message: 'Something else changed the rules of user "Ada" meanwhile' })
  })

  it('refuses if anything is changed after the position of the plan, while the file is compared', async () => {
    const meanwhile = [created({ userId: USER }, 50)]
    const users = [{ user: 'Ada', firewall_rules: [], routing_rules: [] }]
    await given(...history)
      .when(apply({ ...policyFile(), users }, { meanwhile, position: 3 }))
      .expect({ code: 'conflict', message: 'The event log is at position 4; the plan was made at 3' })
  })

  it('changes nothing if a user whose rules it has is deleted meanwhile', async () => {
    const meanwhile: DomainEvent[] = [{ type: 'UserDeleted', data: { userId: USER } }]
    await given(...history)
      .when(apply(userFile, { meanwhile }))
      .expect({ code: 'conflict', message: `User ${USER} was deleted meanwhile.` })
  })

  it('changes nothing if a group that a policy is to apply to is deleted meanwhile', async () => {
    await given(...history)
      .when(apply(groupFile, { meanwhile: [groupDeleted] }))
      .expect({ code: 'conflict', message: `Group ${GROUP} was deleted meanwhile.` })
  })

  it('says so if another node has deleted the group right before the append', async () => {
    const changes = { appliesTo: { groups: [GROUP], users: [] } }
    const changed: DomainEvent = { type: 'PolicyUpdated', data: { policyId: POLICY, changes } }
    const events = [changed, ruleCreated]
    await given(...history)
      .when(apply(groupFile), { beforeAppend: [groupDeleted] })
      .expect({ code: 'conflict', message: `Group ${GROUP} was deleted meanwhile.`, events })
  })

  it('refuses to say that a group is deleted that a policy was applied to meanwhile', async () => {
    const changes = { appliesTo: { groups: [GROUP], users: [] } }
    const { groups } = await given(...history)
      .when(apply({ groups: [{ name: 'Support', absent: true }] }), {
        beforeAppend: [{ type: 'PolicyUpdated', data: { policyId: POLICY, changes } }],
      })
      .expect({
        code: 'conflict',
        message: `Policy ${POLICY} ("Guard") was applied to group ${GROUP} meanwhile.`,
        events: [groupDeleted],
      })
    expect(groups.group(GROUP)).not.to.equal(undefined)
  })
})
