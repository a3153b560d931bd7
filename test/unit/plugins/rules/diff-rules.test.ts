import { expect } from 'chai'
import { diffRules } from '../../../../plugins/rules/diff-rules.ts'
import { firewallRule, routingRule, ruleSet, TEST_KINDS } from '../../../support/rules.ts'

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
    expect(diffRules(before, after, TEST_KINDS)).to.deep.equal({
      routing: noChanges,
      firewall: noChanges,
      tool: noChanges,
    })
  })

  it('shows added and removed rules as the API does', () => {
    const [old, fresh] = [firewallRule({ id: 2 }), firewallRule({ id: 3 })]
    expect(diffRules(ruleSet([old]), ruleSet([fresh]), TEST_KINDS)).to.deep.equal({
      routing: noChanges,
      firewall: {
        added: [TEST_KINDS.firewall.show(fresh)],
        changed: [],
        removed: [TEST_KINDS.firewall.show(old)],
      },
      tool: noChanges,
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
    expect(diffRules(ruleSet([], [before]), ruleSet([], [after]), TEST_KINDS)).to.deep.equal({
      routing: { added: [], changed: [{ id: 2, name: 'New', changes }], removed: [] },
      firewall: noChanges,
      tool: noChanges,
    })
  })
})
