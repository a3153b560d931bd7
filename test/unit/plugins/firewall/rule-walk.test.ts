import { expect } from 'chai'
import { compileFirewall } from '../../../../plugins/firewall/compile.ts'
import { RuleWalk } from '../../../../plugins/firewall/rule-walk.ts'
import { EVALUATION } from '../../../support/pattern-run.ts'
import { firewallRule, ruleSet } from '../../../support/rules.ts'

describe('the walk of a request over rules', () => {
  it('ends as soon as masks have undone each other, and not after all looks', async () => {
    const origin = { type: 'policy', id: 1, name: 'P' } as const
    const policy = await compileFirewall({
      ...ruleSet([firewallRule({ pattern: 'falcon', replacement: 'bird' })]),
      origin,
    })
    const own = await compileFirewall(ruleSet([firewallRule({ pattern: 'bird', replacement: 'falcon' })]))
    let evaluations = 0
    const refusals: unknown[] = []
    const createRun = (length: number) => {
      evaluations++
      return EVALUATION.createRun(length)
    }
    const walk = new RuleWalk({ ...EVALUATION, shared: {}, createRun }, ({ refusal }) => {
      if (refusal === undefined) return
      refusals.push(refusal.reason)
      throw new Error('refused')
    })
    let request = await walk.visit(policy, { messages: [{ role: 'user', content: 'falcon' }] })
    request = await walk.visit(own, request)
    const error = await Promise.resolve(walk.settle(request)).catch((thrown: Error) => thrown.message)
    expect([error, refusals]).to.deep.equal(['refused', ['unsettled']])
    // Two sets, each of which looks twice.
    expect(evaluations).to.equal(4)
  })
})
