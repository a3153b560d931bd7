import { expect } from 'chai'
import { readSettings } from '../../../../config/settings/settings.ts'
import { writeSettings } from '../../../support/settings-file.ts'

describe('deprecated settings', () => {
  it('set the renamed settings and produce a warning each', async () => {
    const CONFIG = await writeSettings(
      `responses: { keep_days: 3 }
rate_limits: { without_redis: { free: open, paid: closed } }
timeouts: { stalled_ms: 1234 }
breaker: { failures: 9, open_ms: 10 }
limits: { failed_keys_per_minute: null, headers: 50 }
`,
    )
    const { responses, rate_limits, timeouts, breaker, limits, warnings } = readSettings({ CONFIG })

    expect(responses).to.include({ retention_days: 3 })
    expect(rate_limits.on_redis_failure).to.deep.equal({ free: 'allow', paid: 'refuse' })
    expect(timeouts).to.include({ write_timeout_ms: 1234, drain_ms: 30_000 })
    expect(breaker).to.include({ min_requests: 9, open_ms: 10, min_callers: 3 })
    expect(limits).to.include({ auth_failures_per_minute: null, headers: 50 })
    expect(warnings).to.deep.equal([
      'setting responses.keep_days is deprecated; use responses.retention_days',
      'setting rate_limits.without_redis is deprecated; use rate_limits.on_redis_failure',
      'setting timeouts.stalled_ms is deprecated; use timeouts.write_timeout_ms',
      'setting breaker.failures is deprecated; use breaker.min_requests',
      'setting limits.failed_keys_per_minute is deprecated; use limits.auth_failures_per_minute',
    ])
  })

  it('include the plugin trace, which is now ledger and has no options', async () => {
    const lists = [
      ['plugins: [auth, { use: trace, options: { kept_requests: 9 } }]', ['auth', 'ledger']],
      ['plugins: [auth, trace, { use: plan, options: { note: trace } }]', ['auth', 'ledger', 'plan']],
    ] as const
    for (const [yaml, names] of lists) {
      const { plugins, warnings } = readSettings({ CONFIG: await writeSettings(yaml) })
      expect(plugins.map(({ use }) => use)).to.deep.equal(names)
      expect(plugins[1]?.options).to.deep.equal({})
      expect(plugins[2]?.options ?? { note: 'trace' }).to.deep.equal({ note: 'trace' })
      expect(warnings).to.deep.equal(['plugin trace is deprecated; use ledger'])
    }
    const CONFIG = await writeSettings(
      'plugins: { remove: [trace], add: [{ use: ./a.js, before: plan }, { use: trace, after: plan }] }',
    )
    const names = readSettings({ CONFIG }).plugins.map(({ use }) => use)
    expect(names.slice(2, 5)).to.deep.equal(['./a.js', 'plan', 'ledger'])
    expect(names.filter((name) => name === 'ledger')).to.have.length(1)
  })

  it('are refused together with their new names', async () => {
    const CONFIG = await writeSettings('responses: { keep_days: 3, retention_days: 3 }\n')

    expect(() => readSettings({ CONFIG })).to.throw(
      'responses.keep_days and responses.retention_days are both set; remove responses.keep_days',
    )
  })

  it('are validated like the new ones', async () => {
    const CONFIG = await writeSettings('rate_limits: { without_redis: { free: perhaps } }\n')

    expect(() => readSettings({ CONFIG })).to.throw(
      'rate_limits.on_redis_failure.free must be one of allow, refuse',
    )
  })

  it('are not in the shipped settings', () => {
    expect(readSettings({}).warnings).to.deep.equal([])
  })
})
