import { expect } from 'chai'
import type { UsageGroup } from '../../../../plugins/ledger/store/queries.ts'
import { checkLog, checkPolicyRules } from '../../../../plugins/overview/attention.ts'
import { showFigures } from '../../../../plugins/overview/series.ts'
import type { Policy } from '../../../../projections/events/policies.ts'
import { firewallRule, routingRule, ruleSet, TEST_KINDS, toolRule } from '../../../support/rules.ts'

const NOW = Date.parse('2026-12-20T00:00:00Z')

describe('what needs attention', () => {
  const policy = (isEnabled: boolean): Policy => ({
    id: 9,
    name: 'P',
    description: null,
    isEnabled,
    priority: 0,
    appliesTo: { everyone: true },
    createdAt: '',
    updatedAt: '',
    revision: 1,
  })
  const rules = ruleSet(
    [
      firewallRule({ id: 11 }),
      firewallRule({ id: 12 }),
      firewallRule({ id: 13, is_enabled: false }),
      firewallRule({ id: 14, updated_at: '2026-12-19T00:00:00.000000Z' }),
    ],
    [routingRule({ id: 15 })],
    [toolRule({ id: 16 }), toolRule({ id: 17 })],
  )
  const used = [
    { rule: { kind: 'firewall', id: 11 }, requests: 3 } as UsageGroup,
    { rule: { kind: 'tool', id: 17 }, requests: 1 } as UsageGroup,
  ]
  const check = async (isEnabled: boolean) => {
    const policies = { policies: () => [policy(isEnabled)], rulesOf: () => rules }
    const found = await checkPolicyRules(policies, TEST_KINDS, used, NOW)
    return found.map(({ code, rule }) => [code, rule?.kind, rule?.id])
  }

  it('is an enabled rule of a policy in force that has done nothing for long', async () => {
    expect(await check(true)).to.deep.equal([
      ['rule_never_matched', 'firewall', 12],
      ['rule_never_matched', 'routing', 15],
      ['rule_never_matched', 'tool', 16],
    ])
    expect(await check(false)).to.deep.equal([])
  })

  it('is a rule of a policy that never matches: an error if it blocks or masks', async () => {
    const broken = (['block', 'mask', 'warn'] as const).map((action, index) =>
      firewallRule({
        id: 21 + index,
        action,
        type: 'regex',
        pattern: '(',
        updated_at: '2026-12-19T00:00:00Z',
      }),
    )
    const policies = { policies: () => [policy(true)], rulesOf: () => ruleSet(broken) }
    const found = await checkPolicyRules(policies, TEST_KINDS, [], NOW)
    expect(found.map(({ code, severity }) => [code, severity])).to.deep.equal([
      ['pattern_not_evaluable', 'error'],
      ['pattern_not_evaluable', 'error'],
      ['pattern_not_evaluable', 'warning'],
    ])
  })

  it('is an event log that is away, a damaged stream, and changes without a checkpoint', () => {
    const at = (time: string) => ({
      state: () => 'following' as const,
      newest: () => ({ metadata: { time } }) as never,
      position: () => 7,
      until: async () => undefined,
    })
    const streams = { damaged: () => [] }
    const codes = (...args: Parameters<typeof checkLog>) => checkLog(...args).map(({ code }) => code)
    const checkpoint = { time: '2026-12-20T00:00:00.000000Z' }
    expect(codes({ subscription: at('2026-12-20T01:00:00Z'), streams }, checkpoint)).to.deep.equal([])
    const late = at('2026-12-20T09:00:00Z')
    expect(codes({ subscription: late, streams }, checkpoint)).to.deep.equal(['checkpoint_late'])
    const away = { ...late, state: () => 'reconnecting' as never }
    const damaged = { damaged: () => [{ stream: 'rules-1' }] as never }
    expect(codes({ subscription: away, streams: damaged }, undefined)).to.deep.equal([
      'event_log_away',
      'stream_damaged',
    ])
  })
})

describe('figures of several steps', () => {
  it('weigh the latencies of a sample by the requests that it stands for', () => {
    const step = { time: 0, errors: 0, blocks: 0, masks: 0, cost: 0 }
    const figures = showFigures([
      { ...step, requests: 1000, latencies: [10, 20] },
      { ...step, requests: 4, latencies: [900, 900, 900, 900] },
    ])
    expect([figures.latency_p50_ms, figures.latency_p95_ms]).to.deep.equal([20, 20])
    expect(showFigures([])).to.include({ requests: 0, latency_p50_ms: null })
  })
})
