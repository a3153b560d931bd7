import { expect } from 'chai'
import { createOperatorRegistry } from '../../../../core/pipeline/registries.ts'
import { createFirewallRuleKind } from '../../../../plugins/firewall/rule-kind.ts'
import { createRoutingRuleKind } from '../../../../plugins/routing/rule-kind.ts'
import { diffRules } from '../../../../plugins/rules/diff-rules.ts'
import { firewallRule, routingRule, ruleSet } from '../../../support/rules.ts'

const firewallRuleKind = createFirewallRuleKind(false)
const kinds = { routing: createRoutingRuleKind(createOperatorRegistry()), firewall: firewallRuleKind }
const noChanges = { added: [], changed: [], removed: [] }

describe('diffRules', () => {
  it('ignores fields that the server sets', () => {
    const before = ruleSet(
      [firewallRule({ id: 2 })],
      [routingRule({ id: 3, match_json: { task: 'a', mode: 'cost' } })],
    )
    const after = ruleSet(
      [firewallRule({ id: 2, revision: 5, updated_at: 'later' })],
      [routingRule({ id: 3, match_json: { mode: 'cost', task: 'a' }, revision: 2 })],
    )
    expect(diffRules(before, after, kinds)).to.deep.equal({ routing: noChanges, firewall: noChanges })
  })

  it('shows added and removed rules as the API does', () => {
    const [old, fresh] = [firewallRule({ id: 2 }), firewallRule({ id: 3 })]
    expect(diffRules(ruleSet([old]), ruleSet([fresh]), kinds)).to.deep.equal({
      routing: noChanges,
      firewall: { added: [firewallRuleKind.show(fresh)], changed: [], removed: [firewallRuleKind.show(old)] },
    })
  })

  it('shows changes by field, with the later name of the rule', () => {
    const before = routingRule({ id: 2, name: 'Old', match_json: { contains: ['a'] } })
    const after = routingRule({ id: 2, name: 'New', match_json: { contains: ['a', 'b'] }, is_enabled: false })
    const changes = {
      name: { from: 'Old', to: 'New' },
      is_enabled: { from: true, to: false },
      match_json: { from: { contains: ['a'] }, to: { contains: ['a', 'b'] } },
    }
    expect(diffRules(ruleSet([], [before]), ruleSet([], [after]), kinds)).to.deep.equal({
      routing: { added: [], changed: [{ id: 2, name: 'New', changes }], removed: [] },
      firewall: noChanges,
    })
  })
})
